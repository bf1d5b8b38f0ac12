"""What raters of platforms read at their end: one thing to do, and nothing that isn't so."""

import re

import pytest
from django.test import Client
from django.utils import timezone

from annotation.allocation.claims import claim_hit
from annotation.allocation.no_work import no_work_reason
from annotation.annotators.consent import answer_consent
from annotation.core.errors import ClaimRefused
from annotation.models import Annotator, Assignment, Batch, Channel, Slot, Study
from annotation.rating.votes import save_vote, submit_assignment
from annotation.recruitment.channels import make_channel
from tests.annotation.recruitment.mturk.setup import make_mturk, open_frame
from tests.annotation.recruitment.prolific.setup import OTHER_PID, OTHER_SESSION, come, rater
from tests.annotation.recruitment.prolific.setup import channel as channel
from tests.annotation.recruitment.prolific.setup import prolific as prolific
from tests.annotation.recruitment.prolific.setup import study as study
from tests.factories import claim, make_annotator, make_batch, make_study, make_user, rate, signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def end_page(browser: Client) -> str:
    """Return the words of the page for those who get no HIT."""
    answer = browser.get("/rate/")
    assert answer.status_code == 200, answer.headers
    main = answer.content.decode().split("<main", 1)[1].split("</main>", 1)[0]
    return " ".join(re.sub(r"<[^>]+>", " ", main).split())


# Prolific


def come_and_agree(channel: Channel, **ids: str) -> Client:
    _answer, browser = come(channel, **ids)
    answer_consent(annotator=rater(channel, *filter(None, [ids.get("pid")])), accepted=True, at=timezone.now())
    return browser


@pytest.mark.parametrize("is_paused", [False, True], ids=["taken", "paused"])
def test_who_finds_no_hit_is_told_to_return_and_not_to_wait(channel: Channel, is_paused: bool) -> None:
    if is_paused:
        Batch.objects.update(status="paused")
    else:
        Slot.objects.exclude(pk=Slot.objects.first().pk).delete()  # type: ignore[union-attr]
        come_and_agree(channel, pid=OTHER_PID, session=OTHER_SESSION)
        claim(rater(channel, OTHER_PID), timezone.now())

    page = end_page(come_and_agree(channel))

    assert "return your submission" in page
    assert "ook again" not in page


def test_declining_participant_may_still_read_the_question_again(channel: Channel) -> None:
    _answer, browser = come(channel)
    answer_consent(annotator=rater(channel), accepted=False, at=timezone.now())

    page = end_page(browser)

    assert "You declined the consent question" in page
    assert "Read it again" in page
    assert "NOCON1" in page


# Mechanical Turk


def do_a_hit(channel: Channel) -> Client:
    """Accept an assignment on MTurk and do its HIT."""
    framed = open_frame(channel).content.decode()
    found = re.search(rf'href="(/mturk/{channel.key}/task/[^"]*)"', framed)
    browser = Client()
    browser.get(found[1])
    annotator = channel.participants.get().annotator
    answer_consent(annotator=annotator, accepted=True, at=timezone.now())
    assignment = claim(annotator, timezone.now())
    for display in assignment.displays.select_related("pair"):
        save_vote(assignment=assignment, pair_key=display.pair.key, choice="left", at=timezone.now())
    submit_assignment(assignment=assignment, at=timezone.now())
    return browser


def test_worker_with_hits_open_is_not_told_that_everything_is_rated() -> None:
    study = make_study(instances=11)
    make_batch(study, raters=1)
    channel = make_mturk(study=study)

    page = end_page(do_a_hit(channel))

    assert Slot.objects.free().count() == 10
    assert "press Submit" in page
    assert "everything" not in page
    assert "ook again" not in page


def test_mturks_page_shows_which_hits_count_and_names_a_second_bonus() -> None:
    channel = make_mturk()
    end_page(do_a_hit(channel))
    Assignment.objects.update(excluded=True, exclusion_reason="Too fast.")
    manager = signed_in(make_user("manager", "study-admin", study=channel.study))

    page = manager.get(f"/studies/{channel.study.slug}/channels/{channel.key}/").content.decode()

    assert "1 × rejected here" in page
    assert re.search(
        r'<label for="(decision-label)">Name of the bonus</label>\s*<div id="\1_problems"></div>\s*'
        r'<input [^>]*name="label"[^>]*id="\1"',
        page,
    )


# Any channel


def test_limit_of_a_study_or_a_batch_is_said_where_it_is_why() -> None:
    study = make_study(instances=5)
    make_batch(study)
    annotator = make_annotator(study)
    rate(claim(annotator))
    Batch.objects.update(most_hits_per_rater=1)
    assert no_work_reason(annotator, timezone.now()).startswith("You have done as many HITs")

    Batch.objects.update(most_hits_per_rater=None)
    Study.objects.update(most_hits_per_rater=1)
    annotator = Annotator.objects.get()
    with pytest.raises(ClaimRefused, match="as many HITs as you may do"):
        claim_hit(annotator=annotator, at=timezone.now())


def test_channel_of_links_shows_what_counts() -> None:
    study: Study = make_study(instances=3)
    make_batch(study)
    channel = make_channel(study=study, kind="anonymous", name="Poster", options={}, is_open=True)
    browser = Client()
    browser.post(f"/join/{channel.key}/")
    annotator = channel.participants.get().annotator
    answer_consent(annotator=annotator, accepted=True, at=timezone.now())
    for _hit in range(2):
        rate(claim(annotator, timezone.now()), at=timezone.now())
    Slot.objects.filter(assignment=Assignment.objects.first()).update(assignment=None)
    Slot.objects.free().delete()
    manager = signed_in(make_user("manager", "study-admin", study=study))

    page = manager.get(f"/studies/{study.slug}/channels/{channel.key}/").content.decode()

    row = " ".join(re.sub(r"<[^>]+>", " ", page.split("<tbody>", 1)[1].split("</tr>", 1)[0]).split())
    assert row.endswith("2 1 1 × came late: another rater has its place")
