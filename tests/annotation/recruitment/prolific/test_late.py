"""Work that outlives Prolific's patience, and people with several submissions: what counts, which code, whose HITs."""

import re
from copy import deepcopy
from datetime import timedelta
from decimal import Decimal
from http.cookies import SimpleCookie

import pytest
from django.contrib.auth.models import User
from django.test import Client, override_settings
from django.utils import timezone

from annotation.annotators.consent import answer_consent
from annotation.annotators.payments import payments_of
from annotation.hits.slots import release_expired
from annotation.models import Annotator, Assignment, Batch, Channel, Slot, Study, Submission
from annotation.monitoring.reports import returned_submissions
from annotation.quality.exclusion import exclude_annotator, reject_assignment
from annotation.rating.next_hit_views import completion_message_of
from annotation.rating.votes import save_vote
from annotation.recruitment.base import CompletionMessage
from annotation.recruitment.prolific.submissions import apply_status
from tests.annotation.recruitment.prolific.server import ProlificServer
from tests.annotation.recruitment.prolific.setup import (
    OTHER_PID,
    OTHER_SESSION,
    PID,
    SESSION,
    come,
    rater,
    set_to,
    settings_for,
)
from tests.factories import claim, make_user, rate, signed_in
from tests.rows import undone_at_the_end

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def arrive(channel: Channel, pid: str = PID, session: str = SESSION, browser: Client | None = None) -> Client:
    """Have a participant open their link, who has agreed to take part."""
    answer, browser = come(channel, browser, pid=pid, session=session)
    assert answer.status_code == 302, answer.content.decode()
    answer_consent(annotator=rater(channel, pid), accepted=True, at=timezone.now())
    return browser


def submission(session: str = SESSION) -> Submission:
    return Submission.objects.get(external_id=session)


def told_by(status: str, session: str = SESSION) -> None:
    """Take over what a message, sent now, says."""
    now = timezone.now()
    apply_status(submission=submission(session), status=status, at=now, said_at=now.timestamp())


def end(channel: Channel, pid: str = PID) -> CompletionMessage:
    told = completion_message_of(annotator=rater(channel, pid), at=timezone.now())
    assert told is not None
    return told


def send_in(browser: Client, assignment: Assignment) -> str:
    """Vote on every pair of a HIT, on one by its page, and submit it as the page does; return the page that comes then."""
    here = f"/rate/hit/{assignment.key}/"
    first, *others = assignment.displays.select_related("pair")
    answer = browser.post(f"{here}vote/", {"pair_key": first.pair.key, "choice": "left"})
    assert answer.status_code == 302, answer.content.decode()
    for display in others:
        save_vote(assignment=assignment, pair_key=display.pair.key, choice="left", at=timezone.now())
    return browser.post(f"{here}submit/", follow=True).content.decode()


Working = tuple[Client, Assignment]


def with_cookies(cookies: SimpleCookie) -> Client:
    browser = Client()
    browser.cookies = deepcopy(cookies)
    return browser


@pytest.fixture(scope="module")
def stored_work(stored_channel: int) -> tuple[SimpleCookie, int]:
    """Have a participant come to the module's channel and claim a HIT; return their cookies and the claim's number."""
    with ProlificServer() as server, override_settings(**settings_for(server)):
        channel = set_to(server, stored_channel)
        return arrive(channel).cookies, claim(rater(channel), timezone.now()).pk


@pytest.fixture
def working(stored_work: tuple[SimpleCookie, int], channel: Channel) -> Working:
    """Return that participant's browser and claim."""
    return with_cookies(stored_work[0]), Assignment.objects.get(pk=stored_work[1])


def run_out(assignment: Assignment) -> None:
    """Let the time of a claim run out."""
    release_expired(at=timezone.now() + timedelta(days=1))
    assignment.refresh_from_db()
    assert assignment.state == "expired"


# Late work counts while its place is free


@pytest.mark.parametrize("status", ["TIMED-OUT", "AWAITING REVIEW", "SCREENED OUT", "APPROVED"])
def test_hit_finished_after_a_message_counts_while_its_place_is_free(working: Working, status: str) -> None:
    browser, assignment = working
    told_by(status)
    run_out(assignment)

    page = send_in(browser, assignment)

    assert Slot.objects.filter(assignment=assignment).exists()
    assert "not counted" not in page
    assert Assignment.objects.counted().get() == assignment


def test_begun_hit_is_given_back_to_who_timed_out_at_prolific_and_no_other(channel: Channel, working: Working) -> None:
    channel.options["most_hits"] = 3
    channel.save()
    browser, assignment = working
    told_by("TIMED-OUT")

    assert browser.get("/rate/").headers["Location"] == f"/rate/hit/{assignment.key}/"
    assert "complete?cc=DONE1" in send_in(browser, assignment)
    assert Assignment.objects.count() == 1
    assert (submission().state, submission().details["status"]) == ("completed", "TIMED-OUT")


def test_rejected_submission_gets_no_place_back(working: Working) -> None:
    browser, assignment = working
    told_by("TIMED-OUT")
    told_by("REJECTED")

    send_in(browser, assignment)

    assert not Assignment.objects.counted().exists()


def lost_to_another(channel: Channel, working: Working) -> tuple[Client, Assignment]:
    """Have a participant at a HIT time out, and another take its only place."""
    browser, assignment = working
    told_by("TIMED-OUT")
    arrive(channel, OTHER_PID, OTHER_SESSION)
    assert claim(rater(channel, OTHER_PID), timezone.now()).hit_id == assignment.hit_id
    return browser, assignment


def test_late_hit_whose_place_is_taken_gets_no_code_for_completion(channel: Channel, working: Working) -> None:
    browser, assignment = lost_to_another(channel, working)

    page = send_in(browser, assignment)

    assert "another rater has taken this HIT" in page
    assert "not counted" in page
    assert "DONE1" not in page
    assert "complete?cc=LATE1" in page
    assert submission().state == "timed-out"
    assert rows_of(channel)[SESSION] == ["1", "0 1 × came late: another rater has its place"]


def test_late_hit_that_is_paid_gets_the_code_for_completion(channel: Channel, working: Working, study: Study) -> None:
    Study.objects.update(pay_late=True)
    browser, assignment = lost_to_another(channel, working)

    page = send_in(browser, assignment)

    assert "not counted" in page
    assert "complete?cc=DONE1" in page


def test_time_out_after_the_end_leaves_the_work_to_be_decided_on(channel: Channel, working: Working) -> None:
    browser, assignment = working
    send_in(browser, assignment)

    told_by("TIMED-OUT")

    assert (submission().state, submission().code) == ("completed", "DONE1")
    assert end(channel).code == "DONE1"


# A code that was shown stays


def test_code_that_was_shown_stays_whatever_prolific_says_then(channel: Channel, working: Working) -> None:
    browser, assignment = working
    assert "DONE1" in send_in(browser, assignment)

    for status in ("AWAITING REVIEW", "TIMED-OUT", "APPROVED", "REJECTED", "RETURNED", "SCREENED OUT"):
        with undone_at_the_end():
            same = with_cookies(browser.cookies)
            told_by(status)
            assert "DONE1" in same.get("/rate/").content.decode(), status
            assert come(channel, same)[0].status_code == 302
            assert "DONE1" in same.get("/rate/").content.decode(), status


@pytest.mark.parametrize("is_over", [False, True], ids=["afterwards", "with the last HIT"])
def test_code_is_given_and_stays_when_the_batch_ends(working: Working, is_over: bool) -> None:
    browser, assignment = working
    if is_over:
        Batch.objects.update(status="closed")
    assert "DONE1" in send_in(browser, assignment)

    for status in ("paused", "closed"):
        Batch.objects.update(status=status)
        assert "DONE1" in browser.get("/rate/").content.decode(), status


def test_code_that_was_shown_stays_when_further_hits_come_free(channel: Channel, working: Working) -> None:
    channel.options["most_hits"] = 9
    channel.save()
    browser, assignment = working
    Slot.objects.exclude(assignment=assignment).delete()
    assert "DONE1" in send_in(browser, assignment)
    hit = assignment.hit.batch.hits.exclude(pk=assignment.hit_id).first()
    Slot.objects.create(hit=hit, batch=hit.batch, number=1, position=hit.position)

    assert "DONE1" in browser.get("/rate/").content.decode()


def test_only_completion_takes_the_place_of_a_code_that_was_shown(channel: Channel, working: Working) -> None:
    _browser, assignment = working
    run_out(assignment)
    Batch.objects.update(status="paused")
    assert end(channel).code == "LATE1"

    Annotator.objects.update(blocked_at=timezone.now())

    assert end(channel).code == "LATE1"


# Several submissions of one person


def twice(channel: Channel, working: Working) -> tuple[Client, Annotator]:
    """Have a participant rate one HIT for a first submission and two for a second one."""
    channel.options["most_hits"] = 3
    channel.save()
    browser, assignment = working
    rate(assignment, at=timezone.now())
    apply_status(submission=submission(), status="AWAITING REVIEW", at=timezone.now())
    assert end(channel).code == "DONE1"
    channel.options["code_completed"] = "DONE2"
    channel.save()
    arrive(channel, session=OTHER_SESSION, browser=browser)
    for _hit in range(2):
        rate(claim(rater(channel), timezone.now()), at=timezone.now())
    return browser, rater(channel)


def test_each_link_shows_its_own_code(channel: Channel, working: Working) -> None:
    browser, _annotator = twice(channel, working)
    assert "DONE2" in browser.get("/rate/").content.decode()

    for session, code, other in ((SESSION, "DONE1", "DONE2"), (OTHER_SESSION, "DONE2", "DONE1")) * 2:
        assert come(channel, browser, session=session)[0].status_code == 302
        page = browser.get("/rate/").content.decode()
        assert code in page
        assert other not in page


def test_link_of_an_earlier_submission_takes_no_work_from_the_present_one(channel: Channel, working: Working) -> None:
    channel.options["most_hits"] = 3
    channel.save()
    browser, assignment = working
    rate(assignment, at=timezone.now())
    apply_status(submission=submission(), status="AWAITING REVIEW", at=timezone.now())
    arrive(channel, session=OTHER_SESSION, browser=browser)
    present = claim(rater(channel), timezone.now())

    come(channel, browser)
    rate(present, at=timezone.now())
    end(channel)

    assert rows_of(channel)[OTHER_SESSION][:1] == ["1"]
    assert submission(OTHER_SESSION).state == "completed"


def test_later_submission_without_work_gets_no_code_for_earlier_work(channel: Channel, working: Working) -> None:
    browser, assignment = working
    send_in(browser, assignment)
    arrive(channel, session=OTHER_SESSION, browser=browser)

    page = browser.get("/rate/").content.decode()

    assert "DONE1" not in page
    assert "return your submission" in page


def test_later_submission_whose_time_ran_out_gets_the_code_for_that(channel: Channel, working: Working) -> None:
    channel.options["most_hits"] = 3
    channel.save()
    browser, assignment = working
    send_in(browser, assignment)
    apply_status(submission=submission(), status="APPROVED", at=timezone.now())
    arrive(channel, session=OTHER_SESSION, browser=browser)
    run_out(claim(rater(channel), timezone.now()))
    Batch.objects.update(status="closed")

    assert end(channel).code == "LATE1"


# What the channel's page shows


def rows_of(channel: Channel) -> dict[str, list[str]]:
    """Read the page: submission → HITs done, HITs counted, and why the others aren't."""
    browser = signed_in(make_user(f"reader-{User.objects.count()}", "researcher", study=channel.study))
    page = browser.get(f"/studies/{channel.study.slug}/channels/{channel.key}/").content.decode()
    found = {}
    for row in re.findall(r"<tr>(.*?)</tr>", page.split("<tbody>", 1)[1], re.DOTALL):
        cells = [
            " ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in re.findall(r"<td.*?>(.*?)</td>", row, re.DOTALL)
        ]
        found[cells[0]] = cells[2:4]
    return found


def test_each_row_shows_its_own_hits_and_which_of_them_count(channel: Channel, working: Working) -> None:
    _browser, annotator = twice(channel, working)

    assert rows_of(channel) == {SESSION: ["1", "1"], OTHER_SESSION: ["2", "2"]}

    rejected = annotator.assignments.order_by("submitted_at").last()
    Assignment.objects.filter(pk=rejected.pk).update(excluded=True, exclusion_reason="Too fast.")
    assert rows_of(channel)[OTHER_SESSION] == ["2", "1 1 × rejected here"]


# Returned after the work


@pytest.fixture
def paid(study: Study) -> None:
    Study.objects.update(pay_per_hit="0.75", currency="GBP")


def due(study: Study) -> Decimal | None:
    [payment] = payments_of(study, platforms=True)
    assert payment["hits"] == study.annotators.get().assignments.filter(state="submitted").count()
    return None if payment["pay_due"] is None else Decimal(payment["pay_due"])


@pytest.mark.usefixtures("paid")
@pytest.mark.parametrize("status", ["RETURNED", "REJECTED"])
def test_nothing_is_due_unless_prolific_pays(channel: Channel, working: Working, study: Study, status: str) -> None:
    browser, assignment = working
    send_in(browser, assignment)
    assert due(study) == Decimal("0.75")

    for _again in range(2):
        told_by(status)
        assert due(study) == 0
    assert Assignment.objects.counted().get() == assignment  # whether it counts is for the researcher to decide

    apply_status(submission=submission(), status="APPROVED", at=timezone.now())
    assert due(study) == Decimal("0.75")
    assert "unpaid" not in submission().details


@pytest.mark.usefixtures("paid")
def test_a_return_takes_the_pay_of_its_own_hits(channel: Channel, working: Working, study: Study) -> None:
    twice(channel, working)
    assert due(study) == Decimal("2.25")
    told_by("RETURNED", OTHER_SESSION)
    assert due(study) == Decimal("0.75")
    told_by("RETURNED")
    assert due(study) == 0


@pytest.mark.usefixtures("paid")
def test_returned_work_is_to_be_decided_on(channel: Channel, working: Working, study: Study, manager: Client) -> None:
    browser, assignment = working
    batch, reports = assignment.hit.batch, f"/studies/{study.slug}/reports/"

    def listed() -> tuple[int, int, bool]:
        to_decide = [f"/studies/{study.slug}/", f"/studies/{study.slug}/batches/{batch.pk}/"]
        on_pages = ["returned after the work" in manager.get(page).text for page in to_decide]
        assert len(set(on_pages)) == 1
        in_reports = manager.get(reports).text.count('name="keep"')
        return len(returned_submissions(study)), in_reports, on_pages[0]

    with undone_at_the_end():
        told_by("RETURNED")  # without work there is nothing to decide on
        assert listed() == (0, 0, False)
    send_in(browser, assignment)
    assert listed() == (0, 0, False)
    told_by("RETURNED")
    assert listed() == (1, 1, True)
    with undone_at_the_end():
        reject_assignment(assignment=assignment, reason="x", reopen=True, by=None, at=timezone.now())
        assert listed() == (0, 0, False)
    with undone_at_the_end():
        exclude_annotator(annotator=rater(channel), reason="x", reopen=True, by=None, at=timezone.now())
        assert listed() == (0, 0, False)
    assert manager.post(reports, {"keep": "0"}).status_code == 404
    assert manager.post(reports, {"keep": submission().pk}).status_code == 302
    assert listed() == (0, 0, False)
    assert (due(study), Assignment.objects.counted().count()) == (0, 1)
