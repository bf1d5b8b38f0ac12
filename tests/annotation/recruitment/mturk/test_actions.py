"""Deciding and paying on MTurk, over HTTP: each once, whatever fails."""

from itertools import product
from typing import Any

import pytest
from django.utils import timezone

from annotation.core.errors import Unacceptable, UnknownName
from annotation.models import Channel, Participant, PlatformAction, Submission
from annotation.recruitment.mturk import actions
from annotation.recruitment.mturk.client import RunSummary
from annotation.recruitment.mturk.sync import sync
from tests.annotation.recruitment.mturk.server import LOST, MturkServer
from tests.annotation.recruitment.mturk.setup import AFTER_EFFECT, BEFORE_EFFECT, ONE_BEFORE_EFFECT

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


# Deciding


@pytest.mark.parametrize("trouble", ONE_BEFORE_EFFECT)
def test_a_failed_approval_is_made_once(mturk: MturkServer, channel: Channel, submitted: str, trouble: Any) -> None:
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


def test_what_mturk_approved_by_itself_is_approved_here(mturk: MturkServer, channel: Channel, submitted: str) -> None:
    mturk.assignments[submitted]["AssignmentStatus"] = "Approved"

    sync(channel=channel, at=timezone.now())

    assert Submission.objects.get().state == "approved"


def test_an_unknown_assignment_or_rater_is_named(mturk: MturkServer, channel: Channel) -> None:
    with pytest.raises(UnknownName, match="3NOBODY"):
        actions.approve(channel=channel, assignment_ids=["3NOBODY"], at=timezone.now())
    with pytest.raises(UnknownName, match="r-nobody"):
        actions.qualify(channel=channel, name="x", description="y", value=1, codes=["r-nobody"], at=timezone.now())

    assert mturk.requests == []


# Bonuses


def pay(channel: Channel, assignment: str, **more: str) -> RunSummary:
    given = {"amount": "1.5", "reason": "Careful work", **more}
    return actions.bonus(channel=channel, assignment_ids=[assignment], at=timezone.now(), **given)


@pytest.mark.parametrize(
    ("trouble", "a_day_later"),
    [
        pytest.param(*one.values, later, id=f"{one.id}{', a day later' * later}")
        for one, later in [*product(BEFORE_EFFECT[:1], (False, True)), *product(AFTER_EFFECT, (False, True))]
    ],
)
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
    assert PlatformAction.objects.filter(kind="bonus").count() == Participant.objects.count() == 1


def test_a_bonus_that_mturk_lists_late_is_held_back_by_its_token(
    mturk: MturkServer, channel: Channel, submitted: str, monkeypatch: Any
) -> None:
    mturk.fail(LOST, on="SendBonus")
    pay(channel, submitted)
    monkeypatch.setattr(MturkServer, "_list_bonuses", lambda self, body: {"BonusPayments": []})

    tally = pay(channel, submitted)

    assert (len(tally.done), len(mturk.bonuses)) == (1, 1)


def test_a_second_bonus_needs_a_label_of_its_own(mturk: MturkServer, channel: Channel, submitted: str) -> None:
    pay(channel, submitted)

    with pytest.raises(Unacceptable, match="was asked for before"):
        pay(channel, submitted, amount="2.00")
    pay(channel, submitted, amount="2.00", label="second")

    assert [one["BonusAmount"] for one in mturk.bonuses] == ["1.50", "2.00"]


def test_a_bonus_needs_a_reason_and_an_amount_to_the_cap(mturk: MturkServer, channel: Channel, submitted: str) -> None:
    for amount in ("0", "0.00", "-1", "1.234", "a", "", "1e3", "5.01", "٥"):
        with pytest.raises(Unacceptable):
            pay(channel, submitted, amount=amount)
    with pytest.raises(Unacceptable, match="what the bonus is for"):
        pay(channel, submitted, reason=" ")

    assert mturk.requests == mturk.bonuses == []


# Qualifications


@pytest.mark.parametrize("trouble", ONE_BEFORE_EFFECT)
def test_a_qualification_is_made_once(mturk: MturkServer, channel: Channel, submitted: str, trouble: Any) -> None:
    actions.approve(channel=channel, assignment_ids=None, at=timezone.now())
    given: dict[str, Any] = {"name": "Rated texts", "description": "Has rated.", "value": 1, "codes": None}
    mturk.fail(trouble, on="CreateQualificationType")

    actions.qualify(channel=channel, at=timezone.now(), **given)
    actions.qualify(channel=channel, at=timezone.now(), **given)
    actions.qualify(channel=channel, at=timezone.now(), **given)

    assert [one["Name"] for one in mturk.types.values()] == ["Rated texts"]
    assert [(one["WorkerId"], one["IntegerValue"]) for one in mturk.granted] == [("AWORKER1", 1)]
