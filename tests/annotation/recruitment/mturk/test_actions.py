"""Learning from MTurk what workers did, and deciding about it, over HTTP: nothing is done twice, whatever is lost."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.core.errors import Unacceptable, UnknownName
from annotation.models import Annotator, Channel, Participant, PlatformAction, Submission
from annotation.privacy.erasing import erase_rater
from annotation.recruitment.mturk import actions
from annotation.recruitment.mturk.client import MturkUnreachable
from annotation.recruitment.mturk.requests import RunSummary
from annotation.recruitment.mturk.sync import answers, sync
from annotation.recruitment.mturk.work import MturkArrival, arrive
from tests.annotation.recruitment.mturk.server import (
    FAULT,
    LOST,
    THROTTLED,
    MturkServer,
)
from tests.annotation.recruitment.mturk.setup import (
    AFTER_EFFECT,
    BEFORE_EFFECT,
    channel,
    do_work,
    make_mturk,
    mturk,
    offer,
    submitted,
)
from tests.factories import make_study, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
__all__ = ["channel", "mturk", "submitted"]


# Learning what workers did


def test_sync_learns_what_was_submitted_over_all_pages_and_changes_nothing_the_second_time(
    mturk: MturkServer, channel: Channel
) -> None:
    mturk.page_size = 1
    offer(channel)
    for number in (1, 2):
        do_work(mturk, channel, "3HIT00002", f"AWORKER{number}")

    first = sync(channel=channel, at=timezone.now())
    rows = list(Submission.objects.order_by("pk").values())
    second = sync(channel=channel, at=timezone.now())

    assert (first["hits"], first["assignments"]) == (3, 2)
    assert second == first
    assert list(Submission.objects.order_by("pk").values()) == rows
    assert [row["details"]["mturk"]["status"] for row in rows] == ["Submitted", "Submitted"]
    assert len(actions.awaiting(channel)) == 2


def test_sync_brings_nothing_back_of_a_worker_whose_data_were_deleted(mturk: MturkServer, channel: Channel) -> None:
    offer(channel)
    done = do_work(mturk, channel, "3HIT00001", "AWORKER1")
    erase_rater(annotator=Annotator.objects.get(), by=None, at=timezone.now())

    sync(channel=channel, at=timezone.now())

    assert not Submission.objects.filter(external_id=done).exists()
    assert Submission.objects.get().details == {}


def test_work_that_was_never_done_here_is_not_approved_with_the_rest(mturk: MturkServer, channel: Channel) -> None:
    offer(channel)
    good = do_work(mturk, channel, "3HIT00001", "AGOOD")
    lazy = mturk.accept("3HIT00001", "ALAZY")
    mturk.submit(lazy, code="I did it")
    sync(channel=channel, at=timezone.now())

    actions.approve(channel=channel, assignment_ids=None, at=timezone.now())

    assert mturk.assignments[good]["AssignmentStatus"] == "Approved"
    assert mturk.assignments[lazy]["AssignmentStatus"] == "Submitted"
    assert Submission.objects.get(external_id=lazy).details["problem"] == "no-work"


@pytest.mark.parametrize(("change", "problem"), [("worker", "other-worker"), ("code", "other-code")])
def test_work_of_another_worker_or_with_another_code_is_not_approved_with_the_rest(
    mturk: MturkServer, channel: Channel, change: str, problem: str
) -> None:
    offer(channel)
    assignment = do_work(mturk, channel, "3HIT00001", "AWORKER1")
    if change == "worker":
        mturk.assignments[assignment]["WorkerId"] = "AOTHER"
    else:
        mturk.submit(assignment, code="another")

    sync(channel=channel, at=timezone.now())

    assert Submission.objects.get().details["problem"] == problem
    assert actions.awaiting(channel) == []


def test_what_mturk_approved_by_itself_is_approved_here(mturk: MturkServer, channel: Channel, submitted: str) -> None:
    mturk.assignments[submitted]["AssignmentStatus"] = "Approved"

    sync(channel=channel, at=timezone.now())

    assert Submission.objects.get().state == "approved"


def test_an_assignment_that_was_left_behind_ends_with_its_time(mturk: MturkServer, channel: Channel) -> None:
    offer(channel)
    arrival = MturkArrival(worker_id="AWORKER1", assignment_id="3LEFT", hit_id="3HIT00001")
    arrive(channel=channel, arrival=arrival, verified="", at=timezone.now() - timedelta(hours=5))

    told = sync(channel=channel, at=timezone.now())

    assert told["timed_out"] == 1
    assert Submission.objects.get().state == "timed-out"


def test_sync_asks_a_page_at_a_time_those_first_that_waited_longest(mturk: MturkServer, channel: Channel) -> None:
    offer(channel)
    start = timezone.now()

    for minute in range(2):
        sync(channel=channel, at=start + timedelta(minutes=minute), limit=2)

    assert {body["HITId"] for body in mturk.asked("ListAssignmentsForHIT")} == set(mturk.hits)


def test_sync_that_is_cut_short_keeps_what_it_learnt_and_says_so(mturk: MturkServer, channel: Channel) -> None:
    offer(channel)
    do_work(mturk, channel, "3HIT00001", "AWORKER1")
    original = mturk._list_assignments

    def third_fails(body: dict[str, Any]) -> dict[str, Any]:
        if body["HITId"] == "3HIT00003":
            raise FAULT
        return original(body)

    mturk._list_assignments = third_fails  # type: ignore[method-assign]

    with pytest.raises(MturkUnreachable):
        sync(channel=channel, at=timezone.now())

    assert Submission.objects.get().details["mturk"]["status"] == "Submitted"


@pytest.mark.parametrize("document", ["", "<not", "<!DOCTYPE x [<!ENTITY a 'b'>]><x>&a;</x>", "<a><FreeText/></a>"])
def test_an_answer_that_cannot_be_read_holds_no_code(document: str) -> None:
    assert answers(document) <= {""}


# Deciding


@pytest.mark.parametrize("trouble", [*BEFORE_EFFECT, *AFTER_EFFECT])
def test_approving_again_after_any_failure_approves_once(
    mturk: MturkServer, channel: Channel, submitted: str, trouble: Any
) -> None:
    mturk.fail(trouble, on="ApproveAssignment")

    first = actions.approve(channel=channel, assignment_ids=None, at=timezone.now())
    assert (first.done, first.waiting) == ([], 1)
    second = actions.approve(channel=channel, assignment_ids=None, at=timezone.now())

    assert second.done == [f"approve:{submitted}"]
    assert mturk.assignments[submitted]["AssignmentStatus"] == "Approved"
    assert Submission.objects.get().state == "approved"
    assert actions.approve(channel=channel, assignment_ids=[submitted], at=timezone.now()).unchanged == 1


def test_rejecting_needs_words_for_the_worker(mturk: MturkServer, channel: Channel, submitted: str) -> None:
    for feedback in ("", "  ", "x" * 1025):
        with pytest.raises(Unacceptable):
            actions.reject(channel=channel, assignment_ids=[submitted], feedback=feedback, at=timezone.now())

    actions.reject(channel=channel, assignment_ids=[submitted], feedback="All left.", at=timezone.now())

    assert mturk.assignments[submitted]["AssignmentStatus"] == "Rejected"
    assert mturk.assignments[submitted]["RequesterFeedback"] == "All left."
    assert Submission.objects.get().state == "rejected"


def test_what_was_rejected_is_approved_only_on_purpose(mturk: MturkServer, channel: Channel, submitted: str) -> None:
    actions.reject(channel=channel, assignment_ids=[submitted], feedback="All left.", at=timezone.now())

    refused = actions.approve(channel=channel, assignment_ids=[submitted], at=timezone.now())
    assert "can be called with a status of" in str(refused.refused)
    actions.approve(channel=channel, assignment_ids=[submitted], override=True, at=timezone.now())

    assert mturk.assignments[submitted]["AssignmentStatus"] == "Approved"


def test_an_unknown_assignment_is_named(mturk: MturkServer, channel: Channel) -> None:
    with pytest.raises(UnknownName, match="3NOBODY"):
        actions.approve(channel=channel, assignment_ids=["3NOBODY"], at=timezone.now())


# Bonuses


def pay(channel: Channel, assignment: str, **more: str) -> RunSummary:
    given = {"amount": "1.5", "reason": "Careful work", **more}
    return actions.bonus(channel=channel, assignment_ids=[assignment], at=timezone.now(), **given)


@pytest.mark.parametrize("trouble", [*BEFORE_EFFECT, *AFTER_EFFECT])
@pytest.mark.parametrize("a_day_later", [False, True])
def test_a_bonus_is_paid_once_whatever_is_lost(
    mturk: MturkServer, channel: Channel, submitted: str, trouble: Any, a_day_later: bool
) -> None:
    mturk.fail(trouble, on="SendBonus")
    assert pay(channel, submitted).waiting == 1
    if a_day_later:
        mturk.forget_tokens()

    pay(channel, submitted)
    pay(channel, submitted)

    assert [(one["BonusAmount"], one["WorkerId"]) for one in mturk.bonuses] == [("1.50", "AWORKER1")]


def test_a_bonus_that_mturk_lists_late_is_held_back_by_its_token(
    mturk: MturkServer, channel: Channel, submitted: str, monkeypatch: Any
) -> None:
    mturk.fail(LOST, on="SendBonus")
    pay(channel, submitted)
    monkeypatch.setattr(actions, "_is_paid", lambda *args: False)

    tally = pay(channel, submitted)

    assert (len(tally.done), len(mturk.bonuses)) == (1, 1)


def test_a_second_bonus_needs_a_label_of_its_own(mturk: MturkServer, channel: Channel, submitted: str) -> None:
    pay(channel, submitted)

    with pytest.raises(Unacceptable, match="was asked for before"):
        pay(channel, submitted, amount="2.00")
    pay(channel, submitted, amount="2.00", label="second")

    assert [one["BonusAmount"] for one in mturk.bonuses] == ["1.50", "2.00"]


@pytest.mark.parametrize("amount", ["0", "0.00", "-1", "1.234", "a", "", "1e3", "5.01", "٥"])
def test_a_bonus_that_is_no_money_or_above_the_cap_is_refused(
    mturk: MturkServer, channel: Channel, submitted: str, amount: str
) -> None:
    with pytest.raises(Unacceptable):
        pay(channel, submitted, amount=amount)

    assert mturk.bonuses == []


def test_a_bonus_needs_a_reason(mturk: MturkServer, channel: Channel, submitted: str) -> None:
    with pytest.raises(Unacceptable, match="what the bonus is for"):
        pay(channel, submitted, reason=" ")


# Qualifications


@pytest.mark.parametrize("trouble", [*BEFORE_EFFECT, *AFTER_EFFECT])
def test_a_qualification_is_made_once_and_given_to_who_was_approved(
    mturk: MturkServer, channel: Channel, submitted: str, trouble: Any
) -> None:
    actions.approve(channel=channel, assignment_ids=None, at=timezone.now())
    given: dict[str, Any] = {"name": "Rated texts", "description": "Has rated.", "value": 1, "codes": None}
    mturk.fail(trouble, on="CreateQualificationType")

    actions.qualify(channel=channel, at=timezone.now(), **given)
    actions.qualify(channel=channel, at=timezone.now(), **given)
    actions.qualify(channel=channel, at=timezone.now(), **given)

    assert [one["Name"] for one in mturk.types.values()] == ["Rated texts"]
    assert [(one["WorkerId"], one["IntegerValue"]) for one in mturk.granted] == [("AWORKER1", 1)]


def test_a_rater_of_another_channel_gets_no_qualification(mturk: MturkServer, channel: Channel) -> None:
    with pytest.raises(UnknownName, match="r-nobody"):
        actions.qualify(channel=channel, name="x", description="y", value=1, codes=["r-nobody"], at=timezone.now())

    assert mturk.requests == []


# The command and the page


def run(*arguments: str, capsys: Any) -> Any:
    call_command("mturk", *arguments)
    return json.loads(capsys.readouterr().out)


def test_the_command_goes_all_the_way(mturk: MturkServer, channel: Channel, capsys: Any) -> None:
    assert len(run("publish", "study", capsys=capsys)["done"]) == 3
    assignment = do_work(mturk, channel, "3HIT00001", "AWORKER1")
    assert run("sync", "study", "--channel", "MTurk", capsys=capsys)["assignments"] == 1
    assert run("approve", "study", capsys=capsys)["done"] == [f"approve:{assignment}"]
    paid = run("bonus", "study", "--assignment", assignment, "--amount", "1", "--reason", "Thanks", capsys=capsys)
    assert paid["done"] == [f"bonus:{assignment}:1"]
    given = run("qualify", "study", "--name", "Rated", "--description", "Has rated.", capsys=capsys)
    assert len(given["done"]) == 1
    assert len(run("expire", "study", capsys=capsys)["done"]) == 3
    assert "AWORKER1" not in json.dumps([paid, given])


def test_the_command_fails_when_something_waits_and_still_prints_json(
    mturk: MturkServer, channel: Channel, capsys: Any
) -> None:
    mturk.fail(THROTTLED)

    with pytest.raises(CommandError, match="run this again later"):
        call_command("mturk", "publish", "study")

    assert json.loads(capsys.readouterr().out)["waiting"] == 3


def test_the_command_names_the_channels_when_none_is_meant(capsys: Any) -> None:
    make_mturk(study=make_study())

    with pytest.raises(CommandError, match="there are: MTurk"):
        call_command("mturk", "sync", "study", "--channel", "Other")


def page_of(channel: Channel, *roles: str) -> tuple[Client, str]:
    browser = Client()
    browser.force_login(make_user("admin", *roles, study=channel.study))
    return browser, reverse("annotation:channel", args=[channel.study.slug, channel.key])


def test_the_buttons_of_the_page_offer_learn_and_approve(mturk: MturkServer, channel: Channel) -> None:
    browser, page = page_of(channel, "study-admin")
    assert browser.post(page, {"act": "publish"}).status_code == 302
    assignment = do_work(mturk, channel, "3HIT00001", "AWORKER1")
    browser.post(page, {"act": "sync"})

    shown = browser.get(page).content.decode()
    assert assignment in shown
    assert "AWORKER1" not in shown
    browser.post(page, {"act": "reject", "assignment": [assignment], "feedback": "All left."})
    browser.post(page, {"act": "approve", "assignment": [assignment], "override": "yes"})
    browser.post(page, {"act": "bonus", "assignment": [assignment], "amount": "1", "feedback": "Sorry."})

    assert mturk.assignments[assignment]["AssignmentStatus"] == "Approved"
    assert len(mturk.bonuses) == 1


@pytest.mark.parametrize(
    ("sent", "status"),
    [({"act": "approve"}, 422), ({"act": "nonsense", "assignment": "x"}, 422), ({"act": "release", "rater": "x"}, 404)],
)
def test_a_button_that_cannot_be_pressed_says_why(
    mturk: MturkServer, channel: Channel, sent: dict[str, str], status: int
) -> None:
    browser, page = page_of(channel, "study-admin")

    assert browser.post(page, sent).status_code == status
    assert mturk.requests == []


def test_who_may_only_read_sees_the_panel_and_presses_nothing(mturk: MturkServer, channel: Channel) -> None:
    browser, page = page_of(channel, "researcher")

    shown = browser.get(page)

    assert shown.status_code == 200
    assert b'name="act"' not in shown.content
    assert browser.post(page, {"act": "publish"}).status_code == 403
    assert mturk.requests == []


def test_an_action_is_written_down_once_under_its_key(mturk: MturkServer, channel: Channel, submitted: str) -> None:
    pay(channel, submitted)
    pay(channel, submitted)

    assert PlatformAction.objects.filter(kind="bonus").count() == 1
    assert Participant.objects.count() == 1
