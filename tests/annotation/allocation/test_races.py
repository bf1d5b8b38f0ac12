"""Many people at once, in threads with connections of their own, on the real database."""

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from threading import Barrier
from typing import Any

import pytest
from django.db import connection

from annotation.allocation.claims import claim_hit, draw_arm
from annotation.annotators.consent import withdraw
from annotation.core.errors import AnnotationError, AssignmentClosed, BadFields, ClaimRefused, FirstVotesLocked
from annotation.hits.slots import release_expired
from annotation.models import Annotator, ArmDraw, Assignment, Channel, Display, Rating, Slot, VoteChange
from annotation.rating.votes import is_counted, lock_first_votes, save_vote, submit_assignment
from annotation.recruitment.channels import make_channel
from annotation.studies.services import ensure_study
from tests.factories import NOON, claim, make_annotator, make_batch, make_study, rate

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.engine, pytest.mark.slow]

THREADS = 8
LATER = NOON + timedelta(minutes=61)


def together(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """Start all calls at the same moment; returns what each gave: a value, or the domain error that it raised."""
    barrier = Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        try:
            barrier.wait(timeout=30)
            return call()
        except AnnotationError as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def work_through(annotator: Annotator) -> int:
    """Claim and rate until there is nothing left; returns how many HITs that were."""
    done = 0
    while True:
        try:
            rate(claim_hit(annotator=annotator, at=NOON))
        except ClaimRefused:
            return done
        done += 1


def test_the_last_slot_goes_to_one_of_many() -> None:
    study = make_study(instances=1)
    make_batch(study, raters=1)
    annotators = [make_annotator(study, f"r{n}") for n in range(THREADS)]

    results = together([lambda one=one: claim(one) for one in annotators])  # type: ignore[misc]

    winners = [result for result in results if isinstance(result, Assignment)]
    assert len(winners) == 1
    assert sum(isinstance(result, ClaimRefused) for result in results) == THREADS - 1
    assert Slot.objects.get().assignment_id == winners[0].pk
    assert Assignment.objects.count() == 1


def test_no_slot_is_held_twice_and_no_rater_gets_a_hit_twice() -> None:
    study = make_study(instances=6, k=2)
    make_batch(study, raters=4)
    annotators = [make_annotator(study, f"r{n}") for n in range(THREADS)]

    done = together([lambda one=one: work_through(one) for one in annotators])  # type: ignore[misc]

    # 6 HITs × 4 slots; 8 people who may rate each HIT once can fill them all, and no more.
    assert sum(done) == 24
    held = list(Slot.objects.values_list("assignment", flat=True))
    assert None not in held
    assert len(set(held)) == 24
    assert set(Counter(Assignment.objects.values_list("hit", "annotator")).values()) == {1}
    assert set(Counter(Assignment.objects.values_list("hit", flat=True)).values()) == {4}
    assert set(Assignment.objects.values_list("state", flat=True)) == {"submitted"}
    assert Rating.objects.count() == Display.objects.count() == 48


def test_claims_at_one_moment_spread_over_the_hits() -> None:
    study = make_study(instances=THREADS)
    make_batch(study, raters=2)
    annotators = [make_annotator(study, f"r{n}") for n in range(THREADS)]

    results = together([lambda one=one: claim(one) for one in annotators])  # type: ignore[misc]

    assert len({result.hit_id for result in results}) == THREADS


def test_many_tabs_of_one_person_get_one_hit() -> None:
    study = make_study(instances=4)
    make_batch(study)
    annotator = make_annotator(study)

    results = together([lambda: claim(annotator)] * THREADS)

    assert len({result.pk for result in results}) == 1
    assert Slot.objects.exclude(assignment=None).count() == 1
    assert Display.objects.count() == 2


def test_a_slot_that_runs_out_goes_either_back_or_on_but_not_both() -> None:
    study = make_study(instances=1)
    make_batch(study, raters=1)
    late = claim(make_annotator(study, "late"))
    key = late.displays.select_related("pair")[0].pair.key
    others = [make_annotator(study, f"r{n}") for n in range(THREADS - 2)]

    back, _, *on = together(
        [
            lambda: save_vote(assignment=late, pair_key=key, choice="left", at=LATER),
            lambda: release_expired(at=LATER),
            *(lambda one=one: claim(one, LATER) for one in others),
        ]
    )

    holder = Slot.objects.get().assignment
    winners = [result for result in on if isinstance(result, Assignment)]
    assert isinstance(back, Rating)
    assert back.late
    assert [holder] == (winners or [late])
    assert Assignment.objects.filter(state="claimed").count() == 1


def test_leases_run_out_once_however_many_look() -> None:
    study = make_study(instances=2)
    make_batch(study, raters=4)
    claims = [claim(make_annotator(study, f"r{n}")) for n in range(8)]
    rate(claims[0])
    rate(claims[1])

    freed = together([lambda: release_expired(at=LATER)] * THREADS)

    assert sum(freed) == 6
    assert sorted(Slot.objects.exclude(assignment=None).values_list("number", "assignment")) == sorted(
        [(1, claims[0].pk), (1, claims[1].pk)]
    )


def test_going_on_in_one_tab_while_voting_on_an_old_hit_in_another_ends_with_one_claim() -> None:
    study = make_study(instances=4)
    make_batch(study, raters=1)
    annotator = make_annotator(study)
    old = claim(annotator)
    key = old.displays.select_related("pair")[0].pair.key
    release_expired(at=LATER)

    results = together(
        [lambda: save_vote(assignment=old, pair_key=key, choice="left", at=LATER), lambda: claim(annotator, LATER)] * 4
    )

    assert all(isinstance(result, Rating | Assignment | AssignmentClosed) for result in results)
    open_claim = Assignment.objects.get(annotator=annotator, state="claimed")
    assert Slot.objects.get(assignment__isnull=False).assignment == open_claim


def test_submitting_twice_at_once_submits_once() -> None:
    study = make_study(instances=1)
    make_batch(study)
    assignment = rate(claim(make_annotator(study)), submit=False)

    results = together([lambda: submit_assignment(assignment=assignment, at=NOON)] * THREADS)

    assert sum(isinstance(result, Assignment) for result in results) == 1
    assert sum(isinstance(result, AssignmentClosed) for result in results) == THREADS - 1


def test_votes_on_one_pair_at_once_leave_one_rating() -> None:
    study = make_study(instances=1, k=1)
    make_batch(study, pairs=1)
    assignment = claim(make_annotator(study))
    key = assignment.displays.select_related("pair")[0].pair.key

    results = together(
        [
            lambda choice=choice: save_vote(assignment=assignment, pair_key=key, choice=choice, at=NOON)  # type: ignore[misc]
            for choice in ("left", "none", "right", "left", "none", "right", "left", "none")
        ]
    )

    assert all(isinstance(result, Rating) for result in results)
    assert Rating.objects.count() == 1


def test_a_study_is_found_while_others_look_for_it() -> None:
    make_study("there", instances=0)

    results = together([lambda: ensure_study(slug="there").pk] * THREADS)

    assert len(set(results)) == 1


def test_first_votes_that_are_closed_stay_as_they_were_closed() -> None:
    study = make_study(instances=1, protocol="two-stage", arms=["none"])
    make_batch(study, raters=1)
    assignment = rate(claim(make_annotator(study)), "left", submit=False)
    key = assignment.displays.select_related("pair")[0].pair.key

    closed, *votes = together(
        [
            lambda: lock_first_votes(assignment=assignment, at=LATER),
            *(
                lambda choice=choice: save_vote(assignment=assignment, pair_key=key, choice=choice, at=NOON)
                for choice in ("right", "none") * 3
            ),
        ]
    )

    assert isinstance(closed, Assignment)
    assert all(isinstance(vote, Rating | FirstVotesLocked) for vote in votes)
    last = VoteChange.objects.filter(display__pair__key=key).order_by("pk").last()
    assert last.verdict == Rating.objects.get(display__pair__key=key).verdict
    with pytest.raises(FirstVotesLocked):
        save_vote(assignment=assignment, pair_key=key, choice="none", at=NOON)


def test_late_work_and_a_new_claim_never_both_have_the_slot() -> None:
    study = make_study(instances=1)
    make_batch(study, raters=1)
    late = rate(claim(make_annotator(study, "late")), submit=False)
    release_expired(at=LATER)
    others = [make_annotator(study, f"r{n}") for n in range(THREADS - 1)]

    submitted, *claims = together(
        [lambda: submit_assignment(assignment=late, at=LATER), *(lambda one=one: claim(one, LATER) for one in others)]
    )

    winners = [result for result in claims if isinstance(result, Assignment)]
    assert (submitted.state, submitted.late) == ("submitted", True)
    assert is_counted(Assignment.objects.get(pk=late.pk)) is not bool(winners)
    assert [Slot.objects.get().assignment] == (winners or [late])


def test_raters_who_arrive_together_are_split_into_arms_evenly() -> None:
    study = make_study(instances=1, protocol="two-stage", arms=["none", "again", "third", "fourth"])
    annotators = [make_annotator(study, f"r{n}") for n in range(THREADS)]

    arms = together([lambda one=one: draw_arm(study=study, annotator=one) for one in annotators])

    assert Counter(arms) == {"none": 2, "again": 2, "third": 2, "fourth": 2}
    assert sorted(ArmDraw.objects.values_list("number", flat=True)) == list(range(THREADS))


def test_who_withdraws_while_submitting_has_no_counted_work() -> None:
    study = make_study(instances=1)
    make_batch(study, raters=1)
    annotator = make_annotator(study)
    assignment = rate(claim(annotator), submit=False)

    together(
        [lambda: withdraw(annotator=annotator, at=NOON), lambda: submit_assignment(assignment=assignment, at=NOON)]
    )

    assert not Assignment.objects.counted().exists()
    assert Slot.objects.get().assignment is None


@pytest.mark.parametrize("round_", range(2))
def test_the_last_hit_is_changed_before_the_next_is_submitted_or_not_at_all(round_: int) -> None:
    study = make_study(instances=2, k=2)
    make_batch(study, raters=1)
    annotator = make_annotator(study, f"r{round_}")
    first = rate(claim(annotator), "left")
    second = rate(claim(annotator), "left", submit=False)
    [key, _other] = first.displays.order_by("position").values_list("pair__key", flat=True)
    at = NOON + timedelta(seconds=30)

    changed, submitted = together(
        [
            lambda: save_vote(assignment=first, pair_key=key, choice="right", at=at, revises=True),
            lambda: submit_assignment(assignment=second, at=at),
        ]
    )

    assert isinstance(submitted, Assignment)
    assert isinstance(changed, Rating | AssignmentClosed)
    changes = VoteChange.objects.for_question(0).filter(display__assignment=first).count()
    assert changes == (3 if isinstance(changed, Rating) else 2)
    assert set(Slot.objects.values_list("assignment", flat=True)) == {first.pk, second.pk}
    with pytest.raises(AssignmentClosed):
        save_vote(assignment=first, pair_key=key, choice="none", at=at, revises=True)


def test_one_of_many_channels_gets_a_name() -> None:
    study = make_study(instances=0)
    make = partial(make_channel, study=study, kind="accounts", name="Links", options={})

    results = together([make] * THREADS)

    assert Counter(map(type, results)) == {Channel: 1, BadFields: THREADS - 1}
    assert study.channels.count() == 1
