"""What is learnt of Prolific's submissions, over real HTTP."""

import pytest

from annotation.models import Channel
from annotation.recruitment.prolific.client import ProlificUnreachable
from annotation.recruitment.prolific.updates import sync
from tests.annotation.recruitment.prolific.server import ProlificServer
from tests.annotation.recruitment.prolific.setup import NOON, OTHER_PID, OTHER_SESSION, PID, SESSION, client_of, come

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def short_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annotation.recruitment.prolific.client.PAGE", 10)


@pytest.mark.usefixtures("short_pages")
def test_sync_takes_over_all_pages(channel: Channel, prolific: ProlificServer) -> None:
    come(channel)
    for number in range(25):
        prolific.add(f"{number:024x}", f"{number:023x}a", "AWAITING REVIEW")
    prolific.add(SESSION, PID, "APPROVED")
    prolific.add(OTHER_SESSION, OTHER_PID, "ACTIVE", study="elsewhere")

    found = sync(channel=channel, client=client_of(channel), at=NOON)

    assert (found.seen, found.new, found.changed) == (26, 25, 1)
    assert channel.submissions.get(external_id=SESSION).state == "approved"
    assert not channel.submissions.filter(external_id=OTHER_SESSION).exists()
    assert len(prolific.requests) == 3
    again = sync(channel=channel, client=client_of(channel), at=NOON)
    assert (again.seen, again.new, again.changed) == (26, 0, 0)


@pytest.mark.usefixtures("short_pages")
@pytest.mark.parametrize(("number", "most_pages"), [(10, 1000), (25, 1)], ids=["no further page", "its limit"])
def test_sync_ends_after_the_last_page_or_at_its_limit(
    channel: Channel, prolific: ProlificServer, number: int, most_pages: int
) -> None:
    for place in range(number):
        prolific.add(f"{place:024x}", PID, "ACTIVE")

    assert sync(channel=channel, client=client_of(channel), at=NOON, most_pages=most_pages).seen == 10


def test_sync_leaves_out_what_it_cannot_read(channel: Channel, prolific: ProlificServer) -> None:
    prolific.add("../x", PID, "ACTIVE")
    prolific.add(OTHER_SESSION, PID, "BRAND NEW STATUS")

    found = sync(channel=channel, client=client_of(channel), at=NOON)

    assert (found.seen, found.unreadable) == (0, 2)
    assert not channel.submissions.exists()


def test_sync_tells_a_submission_that_is_another_participants(channel: Channel, prolific: ProlificServer) -> None:
    come(channel)
    prolific.add(SESSION, OTHER_PID, "ACTIVE")

    sync(channel=channel, client=client_of(channel), at=NOON)

    assert channel.submissions.get().details["problem"] == "other-participant"


def test_sync_moves_back_what_prolific_has_taken_back(channel: Channel, prolific: ProlificServer) -> None:
    come(channel)
    prolific.add(SESSION, PID, "REJECTED")
    sync(channel=channel, client=client_of(channel), at=NOON)
    assert channel.submissions.get().state == "rejected"

    prolific.submissions[SESSION]["status"] = "AWAITING REVIEW"
    sync(channel=channel, client=client_of(channel), at=NOON)

    assert channel.submissions.get().state == "completed"


def test_answer_that_is_no_json_is_trouble(
    channel: Channel, prolific: ProlificServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ProlificServer, "_answer", lambda self, handler, body: (200, ["no object"]))

    with pytest.raises(ProlificUnreachable):
        sync(channel=channel, client=client_of(channel), at=NOON)
