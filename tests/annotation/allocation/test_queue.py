"""Which slot comes next: caps, batches beside each other, channels, the archive, and the balance of arms."""

from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from annotation.allocation import queue
from annotation.allocation.claims import claim_at_once, claim_hit, draw_arm, has_work, return_hit
from annotation.allocation.no_work import no_work_reason
from annotation.allocation.queue import open_batches
from annotation.core.errors import ClaimRefused
from annotation.hits.slots import make_slots, release_expired, reopen_slots, reserve_slots, reserved_arms
from annotation.models import (
    Annotator,
    ArmDraw,
    Assignment,
    Channel,
    Participant,
    Slot,
    Study,
)
from annotation.studies.services import save_settings
from tests.factories import NOON, add_instances, add_tables, claim, make_annotator, make_batch, make_study, rate

pytestmark = [pytest.mark.django_db, pytest.mark.engine, pytest.mark.slow]


def claims_until_refused(annotator: Annotator) -> list[Assignment]:
    """Let an annotator rate HIT after HIT, until there is none."""
    done = []
    while True:
        try:
            done.append(rate(claim(annotator)))
        except ClaimRefused:
            return done


# Caps


def test_a_study_gives_one_annotator_no_more_hits_than_its_cap() -> None:
    study = make_study(instances=5, most_hits_per_rater=2)
    make_batch(study)
    annotator = make_annotator(study)

    assert len(claims_until_refused(annotator)) == 2
    assert not has_work(annotator)
    assert len(claims_until_refused(make_annotator(study, "other"))) == 2


def test_a_batch_gives_one_annotator_no_more_hits_than_its_cap() -> None:
    study = make_study(instances=4)
    add_instances(study, instances=2, dataset="mail")
    capped = make_batch(study, most_hits_per_rater=1)
    other = make_batch(study, name="other", dataset="mail")
    annotator = make_annotator(study)

    done = claims_until_refused(annotator)

    assert Counter(assignment.hit.batch_id for assignment in done) == {capped.pk: 1, other.pk: 2}


def test_what_was_given_back_or_ran_out_does_not_count_towards_a_cap() -> None:
    study = make_study(instances=4, most_hits_per_rater=1)
    make_batch(study)
    annotator = make_annotator(study)
    return_hit(assignment=claim(annotator), reason="unclear", comment="", at=NOON)

    assert len(claims_until_refused(annotator)) == 1


def test_a_claim_under_the_cap_is_gone_on_with() -> None:
    study = make_study(instances=4, most_hits_per_rater=1)
    make_batch(study)
    annotator = make_annotator(study)
    begun = claim(annotator)
    release_expired(at=NOON + timedelta(minutes=61))

    assert claim(annotator, NOON + timedelta(minutes=62)).pk == begun.pk


def test_a_channel_limits_its_people_and_their_batch() -> None:
    study = make_study(instances=3)
    add_instances(study, instances=3, dataset="mail")
    make_batch(study)
    mail = make_batch(study, name="mail", dataset="mail")
    annotator = make_annotator(study)
    Annotator.objects.filter(pk=annotator.pk).update(kind="anonymous")
    channel = Channel.objects.create(
        study=study, kind="anonymous", name="link", batch=mail, is_open=True, options={"most_hits": 2}
    )
    Participant.objects.create(channel=channel, annotator=annotator, external_id="x")

    done = claims_until_refused(annotator)

    assert [assignment.hit.batch_id for assignment in done] == [mail.pk, mail.pk]


# Batches, the archive


def test_the_hit_with_fewer_claims_comes_first_across_batches() -> None:
    study = make_study(instances=2)
    add_instances(study, instances=1, dataset="mail")
    make_batch(study)
    for name in ("a", "b"):
        claim(make_annotator(study, name))  # each HIT of the first batch has one
    late = make_batch(study, name="mail", dataset="mail")

    assert claim(make_annotator(study, "c")).hit.batch_id == late.pk


def test_a_claim_takes_as_many_queries_in_a_large_batch_as_in_a_small_one(django_assert_max_num_queries: Any) -> None:
    small, large = make_study("small", instances=2), make_study("large", instances=20)
    make_batch(small)
    make_batch(large)
    claim(make_annotator(small, "warm"))  # queries are prepared once in a process

    for study in (small, large):
        annotator = make_annotator(study, f"{study.slug}-rater")
        for _ in range(2 if study is small else 10):
            with django_assert_max_num_queries(13):
                assignment = claim(annotator)
            rate(assignment)


def rows_read(read: Callable[[], Any]) -> int:
    """Count what the database does for the queries of a call: SQLite's steps, or the rows that PostgreSQL reads."""
    if connection.vendor == "sqlite":
        steps: list[None] = []
        connection.connection.set_progress_handler(lambda: steps.append(None), 1)
        read()
        connection.connection.set_progress_handler(None, 0)
        return len(steps)
    with connection.cursor() as cursor:
        for way in ("seqscan", "bitmapscan", "hashjoin", "mergejoin", "material", "sort"):  # as in a large table
            cursor.execute(f"SET LOCAL enable_{way} = off")

    def explained(execute: Any, sql: str, parameters: Any, many: bool, context: Any) -> Any:
        execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", parameters, many, context)
        plans.append(context["cursor"].fetchone()[0][0]["Plan"])
        return execute(sql, parameters, many, context)

    plans: list[dict[str, Any]] = []
    with connection.execute_wrapper(explained):
        read()
    return sum(_rows_of(plan) for plan in plans)


def _rows_of(plan: dict[str, Any]) -> int:
    read = plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)
    return round(plan["Actual Loops"] * read) + sum(map(_rows_of, plan.get("Plans", ())))


def test_finding_the_next_slot_reads_no_more_in_a_large_batch_nor_for_who_has_had_much() -> None:
    small, large = make_study("small", instances=4), make_study("large", instances=16)
    for study in (small, large):
        make_batch(study, raters=2)
    newcomer, regular = make_annotator(small, "newcomer"), make_annotator(large, "regular")
    for _ in range(12):
        rate(claim(regular))

    def read(annotator: Annotator) -> int:
        [batch] = open_batches(annotator)
        found = rows_read(lambda: queue._HEADS.all(study=batch.study_id, annotator=annotator.pk, arm=""))
        if connection.features.has_select_for_update_skip_locked:
            found += rows_read(lambda: queue._FOLLOWING.all(batch=batch.pk, annotator=annotator.pk, arm=""))
        return found

    assert 0 < read(regular) <= 1.5 * read(newcomer)


@pytest.mark.any_engine
def test_saying_why_there_is_no_hit_reads_no_more_in_a_large_batch() -> None:
    small, large = make_study("small", instances=3), make_study("large", instances=12)
    read: dict[str, list[int]] = defaultdict(list)
    for study in (small, large):
        make_batch(study, raters=1)
        done, last = make_annotator(study, f"{study.slug}-done"), make_annotator(study, f"{study.slug}-last")
        for _ in range(study.instances.count() - 1):
            rate(claim(done))
        for reason in ("You have rated everything", "Every HIT is being worked on"):
            assert no_work_reason(done, NOON).startswith(reason)  # queries are prepared once in a process
            read[reason].append(rows_read(lambda rater=done: no_work_reason(rater, NOON)))  # type: ignore[misc]
            claim(last)  # the HIT that was free

    for in_small, in_large in read.values():
        assert 0 < in_large <= 1.5 * in_small


def test_the_time_to_look_again_is_that_of_the_first_slot_that_another_rater_holds() -> None:
    study = make_study(instances=2)
    make_batch(study, raters=1)
    first, second, late = (make_annotator(study, name) for name in ("first", "second", "late"))
    claim(first)
    held = claim(second, NOON + timedelta(minutes=30))
    checked = make_annotator(study, "checked")  # holds no slot, as with a hidden check
    Assignment.objects.create(hit=held.hit, annotator=checked, purpose="gold", attempt=2, expires_at=NOON)

    now = NOON + timedelta(minutes=40)
    assert "in 20 min" in no_work_reason(late, now)
    assert "in 50 min" in no_work_reason(first, now)


def test_an_empty_claim_takes_no_more_queries_than_one_that_gets_a_hit() -> None:
    study = make_study(instances=3)
    make_batch(study, raters=1)
    taking, late = make_annotator(study, "taking"), make_annotator(study, "late")
    rate(claim(taking))  # queries are prepared once in a process
    with CaptureQueriesContext(connection) as full:
        assignment = claim(taking)
    rate(assignment)
    rate(claim(taking))
    with CaptureQueriesContext(connection) as empty, pytest.raises(ClaimRefused, match="Everything has been rated"):
        claim(late)

    assert len(empty) <= len(full)


def test_release_takes_a_bounded_number_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annotation.hits.slots._MOST_AT_ONCE", 2)
    study = make_study(instances=3)
    make_batch(study)
    for name in "abc":
        claim(make_annotator(study, name))
    later = NOON + timedelta(minutes=61)

    assert [release_expired(at=later) for _ in range(3)] == [2, 1, 0]
    assert not Slot.objects.exclude(assignment=None).exists()


# Arms


def armed(*, arms: int, raters: int, instances: int = 3, **settings: Any) -> Study:
    """Make a two-stage study whose raters are split into so many arms, with a table for every pair."""
    names = ["none", "table:c8", "table:c9", "placebo:c8"][:arms]
    study = make_study(instances=instances, protocol="two-stage", arms=names, **settings)
    add_tables(study, "c8", "c9")
    make_batch(study, raters=raters)
    return study


def rater_of(study: Study, arm: str, name: str) -> Annotator:
    """Make an annotator who has been drawn into an arm."""
    annotator = make_annotator(study, name)
    ArmDraw.objects.create(study=study, number=study.arm_draws.count(), annotator=annotator, arm=arm)
    return annotator


def give_out(study: Study, annotator: Annotator) -> int:
    """Let an annotator submit all HITs that they get; without a second stage, which is not what this is about."""
    count = 0
    while True:
        try:
            assignment = claim(annotator)
        except ClaimRefused:
            return count
        Assignment.objects.filter(pk=assignment.pk).update(state="submitted", submitted_at=NOON, expires_at=None)
        count += 1


def test_an_arm_gets_no_more_of_a_hit_than_its_share() -> None:
    study = armed(arms=2, raters=4)

    assert [give_out(study, rater_of(study, "none", f"n{n}")) for n in range(3)] == [3, 3, 0]
    assert [give_out(study, rater_of(study, "table:c8", f"t{n}")) for n in range(3)] == [3, 3, 0]
    for hit in study.batches.get().hits.all():
        assert Counter(hit.slots.values_list("assignment__arm", flat=True)) == {"none": 2, "table:c8": 2}


def test_places_that_no_arm_has_a_share_of_are_for_any_rater() -> None:
    study = armed(arms=2, raters=3)

    assert [give_out(study, rater_of(study, "none", f"n{n}")) for n in range(3)] == [3, 3, 0]
    assert give_out(study, rater_of(study, "table:c8", "t")) == 3
    assert not Slot.objects.free().exists()


def test_a_study_may_do_without_the_balance() -> None:
    study = armed(arms=2, raters=2, balance_arms=False)

    assert [give_out(study, rater_of(study, "none", f"n{n}")) for n in range(2)] == [3, 3]


def test_a_slot_that_comes_free_is_kept_for_the_arm_that_it_lacks() -> None:
    study = armed(arms=2, raters=2, instances=1)
    leaving = rater_of(study, "none", "leaving")
    claimed = claim(leaving)
    give_out(study, rater_of(study, "table:c8", "staying"))

    return_hit(assignment=claimed, reason="unclear", comment="", at=NOON)

    assert list(Slot.objects.free().values_list("arm", flat=True)) == ["none"]
    assert give_out(study, rater_of(study, "table:c8", "other")) == 0
    assert give_out(study, rater_of(study, "none", "next")) == 1


def test_an_annotator_without_a_hit_is_not_drawn_into_an_arm() -> None:
    study = armed(arms=2, raters=2, instances=1)
    for arm in ("none", "table:c8"):
        give_out(study, rater_of(study, arm, arm))
    late = make_annotator(study, "late")

    with pytest.raises(ClaimRefused):
        claim_hit(annotator=late, at=NOON)
    with transaction.atomic():
        assert claim_at_once(annotator=late, at=NOON) is None

    assert not ArmDraw.objects.filter(annotator=late).exists()
    assert draw_arm(study=study, annotator=late) in study.arms


def test_slots_are_kept_again_when_the_balance_is_given_up() -> None:
    study = armed(arms=2, raters=2)
    assert set(Slot.objects.values_list("arm", flat=True)) == {"none", "table:c8"}

    Study.objects.update(balance_arms=False)
    reserve_slots(Slot.objects.filter(batch__study=study))

    assert set(Slot.objects.values_list("arm", flat=True)) == {""}


@given(
    arms=st.integers(1, 4),
    places=st.integers(1, 12),
    held=st.lists(st.integers(0, 3), max_size=12),
    hit=st.integers(1, 10**6),
)
def test_shares_of_arms_never_exceed_what_a_hit_has(arms: int, places: int, held: list[int], hit: int) -> None:
    names = [f"arm{n}" for n in range(arms)]
    study = Study(arms=names, seed=5)
    have = [names[n % arms] for n in held][:places]

    labels = reserved_arms(study, hit, places, have)

    assert len(labels) == places - len(have)
    share, total = places // arms, Counter([*have, *labels])
    kept = Counter(label for label in labels if label)
    short = [total[name] for name in names if total[name] < share]
    for name in names:
        assert kept[name] <= max(share - have.count(name), 0)  # never more than its share
        if short and kept[name]:
            assert total[name] <= min(short) + 1  # too few places: the arm with the fewest comes first
    if sum(max(share - have.count(name), 0) for name in names) <= len(labels):
        assert not short


def test_slots_added_to_a_hit_are_kept_for_the_arms_as_well() -> None:
    study = armed(arms=2, raters=2, instances=1)
    batch = study.batches.get()
    give_out(study, rater_of(study, "none", "n"))

    make_slots(batch=batch, hits=batch.hits.all(), numbers=range(3, 5))

    assert Counter(Slot.objects.free().values_list("arm", flat=True)) == {"none": 1, "table:c8": 2}
    reopen_slots([], {batch.hits.get().pk})
    assert Slot.objects.count() == 4


def test_settings_that_change_the_arms_change_whom_slots_are_kept_for() -> None:
    study = armed(arms=2, raters=2)

    study = save_settings(study=study, arms=["none", "table:c9"])
    assert set(Slot.objects.values_list("arm", flat=True)) == {"none", "table:c9"}
    study = save_settings(study=study, arm_unit="instance")
    assert set(Slot.objects.values_list("arm", flat=True)) == {""}
