"""What is learnt from MTurk of the work done there, over HTTP."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from annotation.models import Annotator, Channel, Submission
from annotation.privacy.erasing import erase_rater
from annotation.recruitment.mturk import actions
from annotation.recruitment.mturk.client import MturkUnreachable
from annotation.recruitment.mturk.sync import answers, sync
from annotation.recruitment.mturk.work import MturkArrival, arrive
from tests.annotation.recruitment.mturk.server import FAULT, MturkServer
from tests.annotation.recruitment.mturk.setup import do_work, offer

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def test_sync_learns_once_what_was_submitted_over_all_pages(mturk: MturkServer, channel: Channel) -> None:
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


@pytest.mark.parametrize("problem", ["no-work", "other-worker", "other-code"])
def test_work_of_which_mturk_says_otherwise_is_not_approved(mturk: MturkServer, channel: Channel, problem: str) -> None:
    offer(channel)
    good = do_work(mturk, channel, "3HIT00001", "AGOOD")
    if problem == "no-work":
        odd = mturk.accept("3HIT00001", "ALAZY")
        mturk.submit(odd, code="I did it")
    else:
        odd = do_work(mturk, channel, "3HIT00002", "AODD")
    if problem == "other-worker":
        mturk.assignments[odd]["WorkerId"] = "AOTHER"
    elif problem == "other-code":
        mturk.submit(odd, code="another")
    sync(channel=channel, at=timezone.now())

    actions.approve(channel=channel, assignment_ids=None, at=timezone.now())

    assert mturk.assignments[good]["AssignmentStatus"] == "Approved"
    assert mturk.assignments[odd]["AssignmentStatus"] == "Submitted"
    assert Submission.objects.get(external_id=odd).details["problem"] == problem
    assert actions.awaiting(channel) == []


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
