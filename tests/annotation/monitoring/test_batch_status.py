"""Counting a batch: slots, ratings per pair, raters; each number beside a slow plain count, in a fixed number of queries."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import timedelta
from statistics import median
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from annotation.annotators.consent import withdraw
from annotation.hits.slots import release_expired
from annotation.models import Annotator, Assignment, Batch, Display, Hit, HitPair, Rating, Slot, Study
from annotation.monitoring.batch_annotators import RaterRow, raters_of
from annotation.monitoring.batch_status import batch_status, figures_of, slots_of
from annotation.quality.exclusion import exclude_annotator, reject_assignment
from annotation.quality.hidden_checks import scores_of
from annotation.rating.flag_views import flag_pair
from annotation.rating.store_vote import ClientReport
from annotation.rating.votes import save_vote, submit_assignment
from tests.annotation.quality.test_hidden_checks import answer, known_annotator, studied
from tests.factories import NOON, claim, make_annotator, make_batch, make_study, make_user, queries_of, rate, signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.engine, pytest.mark.slow]


@pytest.fixture
def study() -> Study:
    return make_study(instances=4)


def numbers(batch: Batch, at: Any = NOON) -> tuple[int, ...]:
    slots = slots_of(batch, at)
    return slots.total, slots.filled, slots.claimed, slots.open, slots.lapsed


def timed_rate(assignment: Assignment, choices: Sequence[str], seconds: Sequence[float], at: Any = NOON) -> Assignment:
    """Rate a HIT pair by pair, each after so many active seconds."""
    for display, choice, active in zip(assignment.displays.order_by("position"), choices, seconds, strict=True):
        sent = ClientReport(active_seconds=active, wall_seconds=active)
        save_vote(assignment=assignment, pair_key=display.pair.key, choice=choice, at=at, report=sent)
    Rating.objects.filter(display__assignment=assignment).update(active_seconds=None)
    for display, active in zip(assignment.displays.order_by("position"), seconds, strict=True):
        Rating.objects.filter(display=display).update(active_seconds=active)
    return submit_assignment(assignment=assignment, at=at)


def row_of(batch: Batch, rater: Annotator, at: Any = NOON) -> RaterRow:
    [row] = [row for row in raters_of(batch, at) if row.annotator == rater]
    return row


# Slots


def test_slots_are_filled_claimed_or_open_and_a_claim_that_ran_out_is_open(study: Study) -> None:
    batch = make_batch(study, raters=2)
    assert numbers(batch) == (8, 0, 0, 8, 0)
    rate(claim(make_annotator(study, "done")))
    claim(make_annotator(study, "at-work"))
    assert numbers(batch) == (8, 1, 1, 6, 0)

    later = NOON + timedelta(minutes=61)
    assert numbers(batch, later) == (8, 1, 0, 7, 1)
    release_expired(at=later)
    assert numbers(batch, later) == (8, 1, 0, 7, 0)


def test_slots_of_another_batch_are_not_counted(study: Study) -> None:
    first = make_batch(study, select="ids", instance_ids=["news-1"])
    second = make_batch(study, name="b2", select="ids", instance_ids=["news-2"])
    for name in ("r1", "r2"):
        rate(claim(make_annotator(study, name)))

    assert numbers(first)[1] + numbers(second)[1] == 2
    assert numbers(first)[0] == numbers(second)[0] == 2


# Everything about a batch


def test_a_batch_is_counted_as_it_fills_and_excluded_work_is_not_counted(study: Study) -> None:
    batch = make_batch(study, raters=2)
    good, bad = make_annotator(study, "good"), make_annotator(study, "bad")
    for rater in (good, bad):
        for _ in range(4):
            rate(claim(rater))
    status = batch_status(batch, NOON)
    assert (status.hits, status.pairs, status.ratings_per_pair) == (4, 8, {0: 0, 1: 0, 2: 8})
    assert status.slots.complete

    exclude_annotator(annotator=bad, reason="x", reopen=False, by=None, at=NOON)
    kept = batch_status(batch, NOON)
    assert (kept.ratings_per_pair, kept.not_counted.excluded, kept.slots.filled) == ({0: 0, 1: 8, 2: 0}, 4, 8)

    exclude_annotator(annotator=bad, reason="x", reopen=True, by=None, at=NOON)
    reject_assignment(assignment=good.assignments.all()[0], reason="x", reopen=False, by=None, at=NOON)
    now = batch_status(batch, NOON)
    assert (now.slots.filled, now.slots.open, now.slots.complete) == (4, 4, False)
    assert (now.ratings_per_pair, now.not_counted.excluded) == ({0: 2, 1: 6, 2: 0}, 5)
    assert now.duplicates.total == 0


def test_late_work_without_a_place_is_surplus() -> None:
    study = make_study(instances=1)
    batch = make_batch(study, raters=1)
    slow = claim(make_annotator(study, "slow"))
    later = NOON + timedelta(hours=2)
    release_expired(at=later)
    rate(claim(make_annotator(study, "quick"), later), at=later)
    rate(slow, at=later)

    status = batch_status(batch, later)

    assert (status.not_counted.surplus, status.late, status.ratings_per_pair) == (1, 1, {0: 0, 1: 2})


def test_who_withdrew_leaves_nothing_that_counts(study: Study) -> None:
    batch = make_batch(study, raters=2)
    gone = make_annotator(study)
    rate(claim(gone))
    withdraw(annotator=gone, at=NOON)

    status = batch_status(batch, NOON)

    assert status.ratings_per_pair == {0: 8, 1: 0, 2: 0}
    assert (status.slots.filled, status.not_counted.total, status.late) == (0, 0, 0)
    assert raters_of(batch, NOON) == []


def test_duplicates_that_could_not_be_are_seen(study: Study) -> None:
    batch = make_batch(study, raters=1, pairs=1)
    rater = make_annotator(study)
    rate(claim(rater))
    done = Assignment.objects.get()
    # A second HIT with the very same pair, and a slot too many: as no service makes them.
    twin = Hit.objects.create(batch=batch, matchup=done.hit.matchup, position=99)
    pair = done.hit.pairs.get()
    HitPair.objects.create(hit=twin, pair=pair, position=0)
    again = Assignment.objects.create(hit=twin, annotator=rater, state="submitted", submitted_at=NOON)
    display = Display.objects.create(assignment=again, pair=pair, position=0, a_is_left=True)
    Rating.objects.create(display=display, verdict=1)
    Slot.objects.create(hit=twin, batch=batch, number=1, position=99, assignment=again)
    extra = Assignment.objects.create(
        hit=done.hit, annotator=make_annotator(study, "extra"), state="submitted", submitted_at=NOON
    )
    Slot.objects.create(hit=done.hit, batch=batch, number=2, position=done.hit.position, assignment=extra)

    found = batch_status(batch, NOON)

    assert (found.duplicates.pairs_twice, found.duplicates.hits_overfull, found.duplicates.assignments_twice) == (
        1,
        1,
        0,
    )
    assert found.ratings_per_pair[2] == 1
    assert found.as_json()["duplicates"] == 2


@pytest.mark.any_engine
def test_no_count_takes_more_queries_for_more_raters_and_hits() -> None:
    counts = []
    for raters, instances in ((2, 3), (5, 6)):
        study = make_study(f"study-{raters}", instances=instances)
        batch = make_batch(study, raters=30, gold_rate=0.0, repeat_rate=0.3)
        batch = Batch.objects.select_related("study").get(pk=batch.pk)
        for number in range(raters):
            rater = make_annotator(study, f"r{raters}-{number}")
            for _ in range(2):
                rate(claim(rater))
            claim(rater)
        slots, rows = slots_of(batch, NOON), raters_of(batch, NOON)
        assert len(rows) == raters
        acts: list[Callable[[], Any]] = [
            lambda batch=batch: slots_of(batch, NOON),  # type: ignore[misc]
            lambda batch=batch: batch_status(batch, NOON),  # type: ignore[misc]
            lambda batch=batch: raters_of(batch, NOON),  # type: ignore[misc]
            lambda batch=batch, slots=slots, rows=rows: figures_of(batch, slots, rows, NOON),  # type: ignore[misc]
        ]
        counts.append([queries_of(act) for act in acts])

    assert counts[0] == counts[1]
    assert counts[0][0] == 1
    assert counts[0][1] == 7
    assert counts[0][2] <= 10
    assert counts[0][3] == 1


# Raters


def expected_agreement(batch: Batch, rater: Annotator) -> tuple[int, int, float]:
    """Compare every counted vote with every other on its pair, one by one."""
    counted = Assignment.objects.counted().filter(hit__batch=batch)
    votes = list(
        Rating.objects.filter(stage="first", display__assignment__in=counted).values_list(
            "display__assignment__annotator", "display__pair", "verdict"
        )
    )
    mine = [(pair, verdict) for who, pair, verdict in votes if who == rater.pk]
    compared = [
        verdict == other
        for pair, verdict in mine
        for who, its_pair, other in votes
        if who != rater.pk and its_pair == pair
    ]
    return sum(compared), len(compared), sum(compared) / len(compared)


def test_speeds_and_agreement_equal_slow_plain_counts() -> None:
    study = make_study(instances=5, k=3)
    batch = make_batch(study, raters=3, pairs=3)
    raters = [make_annotator(study, f"r{n}") for n in range(4)]
    for number, rater in enumerate(raters):
        for turn in range(3):
            choices = [["left", "none", "right"][(number + turn + place) % 3] for place in range(3)]
            timed_rate(claim(rater), choices, [1.0 + number + 2.5 * place + turn for place in range(3)])
    exclude_annotator(annotator=raters[3], reason="x", reopen=False, by=None, at=NOON)
    held = claim(raters[0])
    flag_pair(
        assignment=held,
        pair_key=held.displays.select_related("pair")[0].pair.key,
        kind="other",
        comment="",
        at=NOON,
    )

    for rater in raters:
        row = row_of(batch, rater)
        own = Rating.objects.filter(display__assignment__annotator=rater)
        ties = own.filter(verdict=0).count()
        assert (row.flags, row.votes.votes, row.votes.ties) == (int(rater == raters[0]), 9, ties)
        assert row.votes.tie_share == ties / 9
        assert row.median_seconds == pytest.approx(median(own.values_list("active_seconds", flat=True)))
        sides = Counter(
            (rating.verdict == -1) == rating.display.a_is_left
            for rating in own.select_related("display").exclude(verdict=0)
        )
        assert (row.votes.left, row.votes.preferences) == (sides[True], sides.total())
        assert row.votes.left_share == sides[True] / sides.total()
        if rater == raters[3]:
            assert (row.agreement, row.counted, row.submitted) == (None, 0, 3)
        else:
            assert (row.agreeing, row.compared, row.agreement) == expected_agreement(batch, rater)


def test_an_idle_rater_is_seen_and_one_who_votes_is_not(study: Study) -> None:
    batch = make_batch(study)
    idle, busy = make_annotator(study, "idle"), make_annotator(study, "busy")
    claim(idle)
    held = claim(busy)
    at = NOON + timedelta(minutes=25)
    pair = held.displays.select_related("pair")[0].pair
    save_vote(assignment=held, pair_key=pair.key, choice="left", at=at - timedelta(minutes=3))

    quiet, active = row_of(batch, idle, at).claim, row_of(batch, busy, at).claim

    assert (quiet.idle_minutes, quiet.lapsed, quiet.since) == (25, False, NOON)
    assert active.idle_minutes is None
    done = rate(claim(make_annotator(study, "done"))).annotator
    assert raters_of(batch, at)[-1].annotator == done  # who is at a HIT comes first
    lapsed = row_of(batch, idle, NOON + timedelta(minutes=60)).claim
    assert lapsed.lapsed


def test_checks_in_bulk_equal_those_of_one_rater() -> None:
    study = studied(instances=8, gold=4, rates=(0.25, 0.25), seed=3)
    raters = [known_annotator(study, f"r{number}") for number in range(3)]
    for number, rater in enumerate(raters):
        for turn in range(6):
            answer(claim(rater), prefer_a=(turn + number) % 3 != 0)
    silent = make_annotator(study, "silent")

    found = scores_of([rater.pk for rater in (*raters, silent)])

    assert found == {rater.pk: scores_of([rater.pk])[rater.pk] for rater in (*raters, silent)}
    assert sum(scores.gold_asked for scores in found.values()) > 0
    assert sum(scores.repeat_asked for scores in found.values()) > 0
    assert len({(scores.gold_right, scores.repeat_same) for scores in found.values()}) > 1


# Time and money


def test_time_and_money_are_added_up_and_carried_forward() -> None:
    study = make_study(instances=4, pay_per_hit="0.50", currency="EUR", minutes_per_hit=6)
    batch = Batch.objects.select_related("study").get(pk=make_batch(study, raters=1, pairs=2).pk)
    before = figures_of(batch, slots_of(batch, NOON), raters_of(batch, NOON), NOON)
    assert (before.hours, before.hours_total, before.measured) == (0.0, pytest.approx(0.4), False)  # 4 × 6 min
    assert (before.pay, before.pay_total, before.finish) == (0, 2, None)

    rater = make_annotator(study)
    timed_rate(claim(rater), ["left", "left"], [90.0, 30.0])
    at = NOON + timedelta(minutes=30)
    figures = figures_of(batch, slots_of(batch, at), raters_of(batch, at), at)

    assert figures.hours == pytest.approx(120 / 3600)
    assert figures.hours_total == pytest.approx(4 * 120 / 3600)  # a minute a pair, two pairs, four slots
    assert figures.measured
    assert (str(figures.pay), str(figures.pay_total)) == ("0.50", "2.00")
    assert (figures.last_hour, figures.finish) == (1, at + timedelta(minutes=90))  # a HIT in half an hour, three left
    later = NOON + timedelta(minutes=61)
    quiet = figures_of(batch, slots_of(batch, later), raters_of(batch, later), later)
    assert (quiet.last_hour, quiet.finish) == (0, None)


@pytest.mark.parametrize(
    ("claimed", "submitted", "now", "minutes"),
    [
        ([0, 2, 4, 6], [1, 3, 5, 7], 14, 14 * 2 / 4),  # four took 14 minutes, two are left
        ([0, 50, 60, 70], [10, 59, 69, 79], 80, 60 * 2 / 3),  # later on, what came in the last hour
        ([0, 0, 0, 0], [0, 0, 0, 0], 0, 1 * 2 / 4),  # never less than a minute
    ],
)
def test_the_expected_end_is_by_the_pace_since_the_first_hit(
    claimed: list[int], submitted: list[int], now: int, minutes: float
) -> None:
    study = make_study(instances=6)
    batch = Batch.objects.select_related("study").get(pk=make_batch(study, raters=1).pk)
    for number, (began, ended) in enumerate(zip(claimed, submitted, strict=True)):
        hit = claim(make_annotator(study, f"r{number}"), NOON + timedelta(minutes=began))
        rate(hit, at=NOON + timedelta(minutes=ended))
    at = NOON + timedelta(minutes=now)
    finish = figures_of(batch, slots_of(batch, at), raters_of(batch, at), at).finish
    assert finish == at + timedelta(minutes=minutes)
    batch.status = Batch.Status.CLOSED
    assert figures_of(batch, slots_of(batch, at), raters_of(batch, at), at).finish is None


# The command and the API


@pytest.mark.any_engine
def test_the_command_prints_one_json_document(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    make_batch(study, raters=2)
    now = timezone.now()
    rate(claim(make_annotator(study, "done"), now), at=now)
    claim(make_annotator(study, "at-work"), now)

    call_command("batch_status", "study", "--batch", "batch", "--format", "json")

    found = json.loads(capsys.readouterr().out)
    assert (found["study"], found["batch"], found["status"]) == ("study", "batch", "open")
    assert (found["hits"], found["pairs"], found["pairs_per_hit"], found["raters_per_hit"]) == (4, 8, 2, 2)
    assert found["slots"] == {"total": 8, "filled": 1, "claimed": 1, "open": 6, "lapsed": 0}
    assert (found["filled"], found["claimed"], found["open"]) == (1, 1, 6)
    assert found["ratings_per_pair"] == {"0": 6, "1": 2, "2": 0}
    assert (found["duplicates"], found["not_counted"], found["complete"]) == (0, 0, False)


@pytest.mark.any_engine
def test_the_api_tells_readers_the_numbers_under_codes(study: Study) -> None:
    batch = make_batch(study)
    rater = make_annotator(study)
    rate(claim(rater))
    reader = signed_in(make_user("reader", "researcher", study=study))
    address = f"/api/v1/batches/{batch.pk}"

    progress = reader.get(f"{address}/progress/").json()
    [row] = reader.get(f"{address}/raters/").json()["raters"]

    assert (progress["filled"], progress["ratings_per_pair"]) == (1, {"0": 6, "1": 2, "2": 0})
    assert (row["rater"], row["submitted"], row["votes"], row["left_share"]) == (rater.code, 1, 2, 1.0)
    assert rater.user.username not in json.dumps(row).replace("rater", "")
