"""What is left of a rater of a platform who was deleted, what brings it back, and the command that deletes."""

from typing import Any

import pytest
from django.core.management import CommandError
from django.test import Client

from annotation.annotators.participants import join
from annotation.core.errors import ClaimRefused
from annotation.models import Annotator, Channel, Study, Submission, WebhookEvent
from annotation.privacy.erasing import erase_rater
from annotation.recruitment.prolific.updates import sync
from tests.annotation.privacy.database_text import left_of, stored
from tests.annotation.recruitment.prolific.setup import (
    NOON,
    OTHER_PID,
    OTHER_SESSION,
    PID,
    SESSION,
    client_of,
    come,
    join_and_rate,
    rater,
)
from tests.annotation.recruitment.prolific.setup import prolific as prolific
from tests.annotation.recruitment.prolific.setup import shared_channel as shared_channel
from tests.annotation.recruitment.prolific.setup import shared_study as shared_study
from tests.annotation.recruitment.prolific.setup import stored_channel as stored_channel
from tests.annotation.recruitment.prolific.setup import stored_study as stored_study
from tests.annotation.recruitment.prolific.test_webhook import body_of, post
from tests.factories import make_study, output_of

pytestmark = [pytest.mark.django_db, pytest.mark.engine, pytest.mark.slow]


# What a platform knows


def test_nothing_of_a_platforms_ids_is_left(channel: Channel) -> None:
    join_and_rate(channel)
    post(channel, body_of("AWAITING REVIEW"))
    submission = Submission.objects.get()
    submission.actions.create(
        channel=channel, kind="bonus", key=f"bonus:{SESSION}:75:", payload={"amount": "0.75"}, state="done"
    )
    assert left_of(PID)
    assert left_of(SESSION)
    erase_rater(annotator=rater(channel), by=None, at=NOON)
    assert left_of(PID, SESSION) == []
    assert not WebhookEvent.objects.exists()
    assert submission.actions.get().payload == {"amount": "0.75"}


@pytest.mark.parametrize("session", [SESSION, OTHER_SESSION], ids=["the same work", "further work"])
@pytest.mark.any_engine
def test_a_message_that_comes_later_brings_nothing_back(channel: Channel, session: str) -> None:
    join_and_rate(channel)
    erase_rater(annotator=rater(channel), by=None, at=NOON)
    before = stored()
    answer = post(channel, body_of("APPROVED", session=session))
    assert answer.json() == {"result": "erased"}
    assert stored() == before


@pytest.mark.any_engine
def test_asking_prolific_brings_nothing_back(channel: Channel, prolific: Any) -> None:
    join_and_rate(channel)
    join_and_rate(channel, pid=OTHER_PID, session=OTHER_SESSION)
    erase_rater(annotator=rater(channel), by=None, at=NOON)
    prolific.add(SESSION, PID, "AWAITING REVIEW")
    sync(channel=channel, client=client_of(channel), at=NOON)
    assert left_of(PID, SESSION) == []


def test_who_was_deleted_is_not_taken_for_a_new_rater(channel: Channel) -> None:
    join_and_rate(channel)
    erase_rater(annotator=rater(channel), by=None, at=NOON)
    refused, _browser = come(channel, session=OTHER_SESSION)
    assert refused.status_code == 403
    assert "have been deleted" in refused.content.decode()
    with pytest.raises(ClaimRefused):
        join(channel=channel, external_id=PID, at=NOON)
    assert Annotator.objects.count() == 1


@pytest.mark.any_engine
def test_the_channels_page_offers_nothing_for_a_deleted_rater(channel: Channel, admin_client: Client) -> None:
    join_and_rate(channel)
    erase_rater(annotator=rater(channel), by=None, at=NOON)
    page = admin_client.get(f"/studies/{channel.study.slug}/channels/{channel.key}/").content.decode()
    assert "erased-" not in page


# By command


def run(*arguments: str) -> str:
    return output_of("erase_rater", *arguments)


@pytest.mark.parametrize("by", ["code", "account", "platform"])
@pytest.mark.any_engine
def test_the_command_finds_a_rater_by_code_account_or_platform_id(channel: Channel, by: str) -> None:
    annotator = join_and_rate(channel)
    name = annotator.user.username  # type: ignore[union-attr]
    key = {"code": annotator.code, "account": name, "platform": PID}[by]
    assert "nothing was changed" in run(key, "--dry-run")
    assert left_of(PID)
    told = run(key)
    assert f"{channel.study.slug}: rater {annotator.code}: withdrawn, personal data and 2 votes deleted" in told
    assert "account deleted" in told
    assert left_of(PID, SESSION, name) == []
    if by != "account":
        assert "nothing left to delete" in run(key)


@pytest.mark.any_engine
def test_a_code_of_two_studies_asks_for_the_study(study: Study) -> None:
    other = make_study("other", instances=0)
    for one in (study, other):
        Annotator.objects.create(study=one, code="r-same", kind="imported")
    with pytest.raises(CommandError, match=r"other, study"):
        run("r-same")
    run("r-same", "--study", "other")
    assert Annotator.objects.get(study=study).code == "r-same"
    assert Annotator.objects.get(study=other).code != "r-same"  # a file's code may be a platform's id


@pytest.mark.any_engine
def test_an_unknown_key_is_refused() -> None:
    with pytest.raises(CommandError, match="No rater has this"):
        run("nobody")
