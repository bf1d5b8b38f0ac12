"""Leaving raters and HITs out and taking them back: nothing is deleted, and no pair gets more ratings than wanted."""

from collections import defaultdict
from collections.abc import Callable
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db.models import QuerySet
from django.utils import timezone

from annotation.allocation.claims import claim_hit
from annotation.annotators.consent import withdraw
from annotation.core.errors import AnnotationError, AssignmentClosed, ClaimRefused, Unacceptable
from annotation.core.reasons import NO_REASON, reason
from annotation.hits.slots import release_expired
from annotation.models import Annotator, Assignment, Batch, Event, Rating, Slot, Study
from annotation.quality.exclusion import (
    accept_assignment,
    exclude_annotator,
    include_annotator,
    reject_assignment,
    release_claim,
    unblock_annotator,
)
from annotation.rating.votes import save_vote, submit_assignment
from annotation.studies.configurations import configuration
from annotation.studies.log import changes_of
from annotation.studies.outcomes import human_ratings, select
from tests.factories import NOON, claim, make_annotator, make_batch, make_study, make_user, rate

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def study() -> Study:
    study = make_study(instances=3)
    make_batch(study, raters=2)
    return study


@pytest.fixture
def admin(study: Study) -> User:
    return make_user("admin", "study-admin", study=study)


def exclude(annotator: Annotator, *, reopen: bool = True, by: User | None = None) -> Any:
    return exclude_annotator(annotator=annotator, reason="Clicks left.", reopen=reopen, by=by, at=NOON)


def include(annotator: Annotator) -> Any:
    return include_annotator(annotator=annotator, by=None, at=NOON)


def reject(assignment: Assignment, *, reopen: bool = True) -> Any:
    return reject_assignment(assignment=assignment, reason="In two seconds.", reopen=reopen, by=None, at=NOON)


def accept(assignment: Assignment) -> Any:
    return accept_assignment(assignment=assignment, by=None, at=NOON)


def decisions() -> QuerySet[Event]:
    return Event.objects.exclude(kind="launched")


def found_ratings(study: Study) -> int:
    return len(human_ratings(select(configuration(study, dataset="news", systems=("alpha", "beta")))).outcomes)


def counted(*assignments: Assignment) -> list[bool]:
    pks = set(Assignment.objects.counted().values_list("pk", flat=True))
    return [one.pk in pks for one in assignments]


@pytest.mark.engine
def test_an_exclusion_recomputes_findings_keeps_every_row_and_opens_the_slots(study: Study, admin: User) -> None:
    bad, good = make_annotator(study, "bad"), make_annotator(study, "good")
    for rater in (bad, good):
        rate(claim(rater))
    assert found_ratings(study) == 4

    effect = exclude(bad, by=admin)

    bad.refresh_from_db()
    assert (bad.excluded, bad.exclusion_reason) == (True, "Clicks left.")
    assert (effect.changed, effect.reopened, effect.ended) == (True, 1, 0)
    assert found_ratings(study) == 2
    assert Rating.objects.count() == 4
    assert Slot.objects.free().count() == 5
    event = decisions().get()
    assert (event.kind, event.annotator, event.by, event.reason) == ("excluded", bad, admin, "Clicks left.")
    assert event.changes["slots_reopened"] == 1
    with pytest.raises(ClaimRefused, match="Your work in this study has ended"):
        claim(bad)


def test_without_reopening_the_slots_stay_filled_until_that_is_asked_for(study: Study) -> None:
    bad = make_annotator(study, "bad")
    done = rate(claim(bad))

    assert exclude(bad, reopen=False).reopened == 0
    assert Slot.objects.free().count() == 5
    assert counted(done) == [False]

    assert exclude(bad, reopen=True).reopened == 1
    assert Slot.objects.free().count() == 6

    again = exclude_annotator(annotator=bad, reason="Another.", reopen=True, by=None, at=NOON)
    assert (again.changed, again.message) == (False, "This was done before; nothing was changed.")
    bad.refresh_from_db()
    assert bad.exclusion_reason == "Clicks left."


def test_an_exclusion_ends_the_open_claim_and_what_comes_in_after_it_is_refused(study: Study) -> None:
    bad = make_annotator(study, "bad")
    at_work = rate(claim(bad), submit=False)

    effect = exclude(bad, reopen=False)

    at_work.refresh_from_db()
    assert (effect.ended, at_work.state) == (1, "expired")
    assert Slot.objects.free().count() == 6
    assert Rating.objects.count() == 2
    with pytest.raises(AssignmentClosed, match="Your work in this study has ended"):
        submit_assignment(assignment=at_work, at=NOON)


def test_taking_an_exclusion_back_counts_what_still_has_a_place() -> None:
    study = make_study(instances=2)
    make_batch(study, raters=1)
    bad, other = make_annotator(study, "bad"), make_annotator(study, "other")
    first, second = rate(claim(bad)), rate(claim(bad))
    exclude(bad)
    taken = rate(claim(other))
    kept, lost = (first, second) if taken.hit_id == second.hit_id else (second, first)

    effect = include(bad)

    assert (effect.counted, effect.surplus) == (1, 1)
    assert "1 HIT counts again." in effect.message
    assert "1 HIT stays uncounted: others have its place." in effect.message
    assert counted(kept, lost, taken) == [True, False, True]
    assert decisions().get(kind="included").changes == {"hits_counted_again": 1, "hits_left_uncounted": 1}
    assert not include(bad).changed


@pytest.mark.engine
def test_what_never_had_a_slot_gets_none_by_an_exclusion_that_is_taken_back() -> None:
    study = make_study(instances=1)
    make_batch(study, raters=1)
    late, quick = make_annotator(study, "late"), make_annotator(study, "quick")
    slow = claim(late)
    release_expired(at=NOON + timedelta(hours=2))
    rate(claim(quick, NOON + timedelta(hours=2)), at=NOON + timedelta(hours=2))
    surplus = rate(slow, at=NOON + timedelta(hours=3))
    exclude(quick)
    exclude(late)

    include(late)

    assert counted(surplus) == [False]
    assert Slot.objects.free().count() == 1


def test_a_rejected_hit_is_left_out_and_its_pay_stays_what_was_settled() -> None:
    study = make_study(instances=2, pay_per_hit="0.50", currency="EUR")
    make_batch(study, raters=1)
    rater, other = make_annotator(study), make_annotator(study, "other")
    done = rate(claim(rater))

    assert reject(done).reopened == 1
    assert not reject(done).changed

    done.refresh_from_db()
    assert (done.excluded, done.exclusion_reason, str(done.pay_due)) == (True, "In two seconds.", "0.50")
    assert counted(done) == [False]
    assert accept(done).counted == 1
    assert counted(done) == [True]
    reject(done)
    while claim(other).hit_id != done.hit_id:
        rate(claim(other))
    rate(claim(other))
    effect = accept(done)
    assert (effect.counted, effect.surplus, counted(done)) == (0, 1, [False])
    assert list(decisions().order_by("pk").values_list("kind", flat=True)) == [
        *("rejected", "accepted", "rejected", "accepted")
    ]


def test_a_rejected_hit_of_an_excluded_rater_counts_when_both_are_taken_back(study: Study) -> None:
    rater = make_annotator(study)
    done = rate(claim(rater))
    reject(done)
    exclude(rater)
    include(rater)
    assert counted(done) == [False]
    assert Slot.objects.free().count() == 6
    exclude(rater)

    assert (accept(done).counted, counted(done)) == (0, [False])
    assert include(rater).counted == 1
    assert counted(done) == [True]


@pytest.mark.engine
def test_a_released_claim_is_free_for_others_and_continues_if_not_taken() -> None:
    study = make_study(instances=1)
    make_batch(study, raters=1)
    idle, other = make_annotator(study, "idle"), make_annotator(study, "other")
    held = rate(claim(idle), submit=False)

    assert release_claim(assignment=held, by=None, at=NOON).ended == 1

    held.refresh_from_db()
    assert (held.state, held.expires_at) == ("expired", NOON)
    assert Slot.objects.free().count() == 1
    with pytest.raises(AssignmentClosed, match="no longer claimed"):
        release_claim(assignment=held, by=None, at=NOON)
    done = submit_assignment(assignment=held, at=NOON + timedelta(minutes=1))
    assert (done.late, counted(done)) == (True, [True])
    with pytest.raises(ClaimRefused):
        claim(other)
    assert decisions().get().kind == "released"


def test_only_submitted_work_of_raters_who_have_not_withdrawn_is_rejected(study: Study) -> None:
    rater = make_annotator(study)
    at_work = claim(rater)
    with pytest.raises(AssignmentClosed, match="a claim can be released"):
        reject(at_work)
    withdraw(annotator=rater, at=NOON)

    for decide in (lambda: exclude(rater), lambda: include(rater), lambda: reject(at_work), lambda: accept(at_work)):
        with pytest.raises(Unacceptable, match="has withdrawn"):
            decide()
    assert decisions().count() == 0


def test_a_blocked_rater_is_let_go_on_and_that_is_logged(study: Study, admin: User) -> None:
    rater = make_annotator(study)
    why = reason("gold_below", share=0.2, number=5, limit=0.5)
    rater.blocked_at, rater.block_reason = NOON, why
    rater.save()

    assert unblock_annotator(annotator=rater, by=admin, at=NOON).changed

    rater.refresh_from_db()
    assert (rater.blocked_at, rater.block_reason) == (None, NO_REASON)
    event = decisions().get()
    assert (event.kind, event.by) == ("unblocked", admin)
    assert event.changes == {"block_reason": [why.stored(), ""]}
    assert changes_of(event) == [("block_reason", "0.20 of 5 known answers, below 0.5", "nothing")]
    assert not unblock_annotator(annotator=rater, by=admin, at=NOON).changed


# Any order of operations


def slots_are_sound(batch: Batch) -> None:
    wanted = batch.raters_per_hit
    slots = defaultdict(list)
    for hit, *slot in batch.slots.order_by("number").values_list("hit", "number", "assignment", "assignment__state"):
        slots[hit].append(slot)
    assert len(slots) == batch.hits.count()
    for of_hit in slots.values():
        assert [number for number, *_ in of_hit] == list(range(1, wanted + 1))
        holders = [assignment for _, assignment, _ in of_hit]
        held = [one for one in holders if one]
        assert len(set(held)) == len(held)
        assert [one is None for one in holders] == sorted(one is None for one in holders)
        assert {state for *_, state in of_hit} <= {"claimed", "submitted", None}
    voted = Rating.objects.filter(stage="first", display__assignment__in=Assignment.objects.counted())
    raters = defaultdict(list)
    for pair, rater in voted.values_list("display__pair", "display__assignment__annotator"):
        raters[pair].append(rater)
    for of_pair in raters.values():
        assert len(of_pair) <= wanted
        assert len(set(of_pair)) == len(of_pair)


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(0, marks=pytest.mark.engine),
        1,
        *(pytest.param(seed, marks=pytest.mark.weekly) for seed in range(2, 12)),
    ],
)
def test_in_any_order_of_operations_no_pair_gets_more_ratings_than_wanted(seed: int) -> None:
    draw, now = Random(seed), NOON
    study = make_study(instances=3, k=1)
    batch = make_batch(study, pairs=1, raters=2)
    raters = [make_annotator(study, f"r{n}") for n in range(4)]
    done = 0

    def work() -> None:
        rate(claim_hit(annotator=draw.choice(raters), at=now), draw.choice(["left", "right"]), at=now)

    def begin() -> None:
        one = claim_hit(annotator=draw.choice(raters), at=now)
        save_vote(assignment=one, pair_key=one.displays.get().pair.key, choice="left", at=now)

    def finish() -> None:
        begun = list(Assignment.objects.filter(state__in=["claimed", "expired"]).order_by("pk"))
        rate(draw.choice(begun), at=now)

    def decide(of: str, service: Callable[..., Any], *, leaves_out: bool) -> None:
        among: list[Any] = raters if of == "annotator" else list(Assignment.objects.order_by("pk"))
        more = {"reason": "Drawn.", "reopen": draw.random() < 0.7} if leaves_out else {}
        service(**{of: draw.choice(among)}, by=None, at=now, **more)

    steps: list[Callable[[], Any]] = [
        *(work, work, begin, finish, finish),
        lambda: release_expired(at=now),
        lambda: decide("annotator", exclude_annotator, leaves_out=True),
        lambda: decide("annotator", include_annotator, leaves_out=False),
        lambda: decide("assignment", reject_assignment, leaves_out=True),
        lambda: decide("assignment", accept_assignment, leaves_out=False),
        lambda: decide("assignment", release_claim, leaves_out=False),
    ]
    for _ in range(60):
        now += timedelta(minutes=draw.choice([1, 1, 5, 70]))
        try:
            draw.choice(steps)()
            done += 1
        except (AnnotationError, IndexError):  # there is nothing to claim, or nothing to decide about
            continue
        slots_are_sound(batch)
    assert done > 10


# Commands


def test_the_commands_leave_out_and_take_back(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    rater = make_annotator(study)
    done = rate(claim(rater, timezone.now()), at=timezone.now())

    call_command("exclude", "study", "--rater", rater.code, "--reason", "Clicks left.", "--reopen")
    assert capsys.readouterr().out == "Done. 1 slot is open again.\n"
    call_command("include", "study", "--rater", rater.code)
    assert capsys.readouterr().out == "Done. 1 HIT counts again.\n"
    call_command("exclude", "study", "--assignment", done.key, "--reason", "Too quick.")
    assert counted(done) == [False]
    call_command("include", "study", "--assignment", done.key, "--reason", "A mistake.")
    assert counted(done) == [True]
    with pytest.raises(CommandError, match="study study has no rater 'nobody'"):
        call_command("exclude", "study", "--rater", "nobody", "--reason", "x")
