"""Placebos: whose table is shown beside another pair, and that no arm's raters get fewer HITs for it."""

from collections import Counter
from typing import Any

import pytest
from django.db.models import F
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.core.errors import ClaimRefused
from annotation.models import (
    Annotator,
    ArmDraw,
    Assignment,
    ComparisonTable,
    Display,
    Generation,
    Pair,
    Rating,
    Study,
)
from annotation.rating.second_stage import reveal, save_second_vote
from annotation.rating.votes import lock_first_votes, submit_assignment
from tests.factories import NOON, add_instances, add_tables, claim, make_annotator, make_batch, make_study, rate

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

ARMS = ["none", "table:c8", "placebo:c8"]


def rows_of(rows: int, length: int) -> list[dict[str, str]]:
    """Return so many rows of a table, each of whose cells is so long."""
    cell = "x" * length
    return [{"aspect": f"aspect {n}", "only_a": cell, "both": cell, "only_b": cell} for n in range(rows)]


def pairs_of(study: Study, name: str) -> list[Pair]:
    named = Pair.objects.filter(matchup__instance__study=study, matchup__instance__instance_id=name)
    return list(named.order_by("matchup_id", "index"))


def placebo_study(*, tables: bool = True, **content: Any) -> Study:
    """Make a two-stage study whose only arm is a placebo's, with nothing published and a table for every pair."""
    study = make_study(protocol="two-stage", arms=["placebo:c8"], **content)
    if tables:
        add_tables(study, rows=rows_of(2, 10))
    return study


def second_stage(assignment: Assignment) -> list[Display]:
    """Rate a whole HIT in both stages and submit it; returns its displays with the tables that were shown."""
    lock_first_votes(assignment=rate(assignment, submit=False), at=NOON)
    for display in assignment.displays.select_related("pair").order_by("position"):
        reveal(assignment=Assignment.objects.get(pk=assignment.pk), at=NOON)
        save_second_vote(assignment=assignment, pair_key=display.pair.key, choice="left", reason="", at=NOON)
    submit_assignment(assignment=assignment, at=NOON)
    shown = assignment.displays.select_related("table__pair__matchup__instance", "pair__matchup__instance")
    return list(shown.order_by("position"))


def work_off(annotator: Annotator) -> list[list[Display]]:
    """Let a rater do every HIT that they get."""
    done = []
    while True:
        try:
            assignment = claim(annotator)
        except ClaimRefused:
            return done
        done.append(second_stage(assignment))


def shown_on(displays: list[Display]) -> list[ComparisonTable]:
    return [display.table for display in displays if display.table is not None]


# Of the same source


@pytest.mark.engine
def test_a_placebo_is_of_the_same_source_and_of_texts_that_are_not_on_the_hit() -> None:
    study = placebo_study(instances=3, k=5)
    make_batch(study, pairs=3)

    for displays in work_off(make_annotator(study)):
        on_hit = {display.pair_id for display in displays}
        tables = shown_on(displays)
        assert len(tables) == 3
        assert {table.pair.matchup_id for table in tables} == {displays[0].pair.matchup_id}
        assert not on_hit & {table.pair_id for table in tables}
        # Two pairs are off the HIT: neither table comes twice before the other has been shown.
        assert len({table.pk for table in tables[:2]}) == 2
    revised = Rating.objects.filter(stage="revised")
    assert set(revised.values_list("arm", flat=True)) == {"placebo:c8"}
    assert not revised.exclude(table=F("display__table")).exists()


def test_a_text_that_is_on_the_hit_as_well_makes_no_placebo() -> None:
    study = placebo_study(instances=2, k=3)
    batch = make_batch(study, pairs=2)
    [hit] = batch.hits.filter(matchup__instance__instance_id="news-1")
    on_hit = set(hit.pairs.values_list("pk", flat=True))
    [off] = [pair for pair in pairs_of(study, "news-1") if pair.pk not in on_hit]
    same = hit.pairs.first().generation_b.text
    Generation.objects.filter(pk=off.generation_b_id).update(text=same)

    done = {displays[0].pair.matchup_id: displays for displays in work_off(make_annotator(study))}

    assert off.pk not in {table.pair_id for table in shown_on(done[hit.matchup_id])}
    assert {table.pair.matchup.instance.instance_id for table in shown_on(done[hit.matchup_id])} == {"news-2"}


@pytest.mark.parametrize("coming", [False, True])
def test_other_systems_texts_on_the_same_source_do_unless_their_pair_is_still_to_come(coming: bool) -> None:
    study = placebo_study(instances=2, k=2, systems=("alpha", "beta", "gamma", "delta"))
    make_batch(study, name="first", pairs=2)
    if coming:
        make_batch(study, name="second", pairs=2, systems=("gamma", "delta"))

    displays = second_stage(claim(make_annotator(study)))

    # Of six pairs of systems, the other one without alpha and beta alone has no text of the HIT.
    pairs = [table.pair for table in shown_on(displays)]
    of_source = [pair.matchup.instance_id == displays[0].pair.matchup.instance_id for pair in pairs]
    assert of_source == [not coming] * 2
    assert not any(pair.hits.exists() for pair in pairs)


# Matched


def test_without_one_of_the_same_source_it_is_of_the_same_data_set_and_like_the_pairs_own() -> None:
    study = placebo_study(instances=7, k=1, tables=False)
    add_instances(study, instances=1, k=1, dataset="mail")
    sizes = {"news-1": (3, 40), "news-2": (2, 40), "news-3": (3, 90), "news-4": (3, 45), "news-5": (9, 40)}
    for name, (rows, length) in {**sizes, "news-6": (3, 40), "mail-1": (3, 40)}.items():
        add_tables(study, rows=rows_of(rows, length), pairs=pairs_of(study, name))
    make_batch(study, pairs=1, select="ids", instance_ids=["news-1", "news-6", "news-7"])
    annotator = make_annotator(study)

    shown = {}
    for displays in work_off(annotator):
        shown[displays[0].pair.matchup.instance.instance_id] = displays[0].table.pair.matchup.instance.instance_id

    # Never another data set's; as many rows first, then as long; those that are on HITs to come are left alone.
    assert set(shown) == {"news-1", "news-6", "news-7"}
    assert shown["news-7"] in {f"news-{n}" for n in range(1, 7)}
    first, later = [name for name in shown if name != "news-7"]
    assert shown[first] == "news-4"
    assert shown[later] in {"news-3", first}


def test_another_data_sets_table_is_the_last_resort() -> None:
    study = placebo_study(instances=1, k=2, tables=False)
    add_instances(study, instances=1, k=2, dataset="mail")
    add_tables(study, rows=rows_of(2, 10), pairs=pairs_of(study, "mail-1"))
    make_batch(study, pairs=2)

    [displays] = work_off(make_annotator(study))

    assert {table.pair.matchup.instance.dataset for table in shown_on(displays)} == {"mail"}


def test_no_placebo_comes_twice_while_there_are_others() -> None:
    study = placebo_study(instances=6, k=2)
    make_batch(study, pairs=2, select="ids", instance_ids=["news-1", "news-2", "news-3"])

    shown = Counter(table.pk for displays in work_off(make_annotator(study)) for table in shown_on(displays))

    assert shown.total() == 6
    assert max(shown.values()) == 1


# First votes still to come


def test_a_rater_loses_no_hit_to_a_placebo_and_one_hit_at_most_is_coloured() -> None:
    study = placebo_study(instances=6, k=2)
    make_batch(study, pairs=2)

    done = work_off(make_annotator(study))

    assert len(done) == 6
    rated: set[int] = set()
    before: set[int] = set()
    for displays in done:
        rated.add(displays[0].pair.matchup_id)
        before |= {table.pair.matchup_id for table in shown_on(displays)} - rated
    assert len(before) == 1  # every pair is on a HIT: the first placebos had to come from one


def test_pairs_that_are_no_longer_rated_are_taken_before_those_still_to_come() -> None:
    study = placebo_study(instances=4, k=2)
    batch = make_batch(study, pairs=2, raters=1)
    full = set()
    for _ in range(2):  # places of these HITs are filled by now
        displays = second_stage(claim(make_annotator(study, "early")))
        full.add(displays[0].pair.matchup_id)

    displays = second_stage(claim(make_annotator(study, "late")))

    assert displays[0].pair.matchup_id not in full
    assert {table.pair.matchup_id for table in shown_on(displays)} <= full
    assert batch.hits.count() == 4


# The balance of arms


def test_every_arm_gets_as_many_hits_in_any_order_of_arrival() -> None:
    made = iter(range(1000))

    @settings(deadline=None, max_examples=3)
    @given(
        instances=st.integers(2, 3),
        k=st.integers(2, 3),
        arms=st.permutations(ARMS),
        turns=st.lists(st.integers(0, 2), min_size=1, max_size=8),
    )
    def check(instances: int, k: int, arms: list[str], turns: list[int]) -> None:
        study = make_study(f"s{next(made)}", instances=instances, k=k, protocol="two-stage", arms=ARMS)
        add_tables(study, rows=rows_of(2, 10))
        batch = make_batch(study, pairs=2, raters=3)
        raters = [make_annotator(study, f"{study.slug}-{arm}") for arm in arms]
        ArmDraw.objects.bulk_create(
            ArmDraw(study=study, number=number, annotator=rater, arm=arm)
            for number, (rater, arm) in enumerate(zip(raters, arms, strict=True))
        )
        for turn in turns:  # they come in any order, and then each does whatever there is
            if turn_has_work(raters[turn], instances):
                second_stage(claim(raters[turn]))
        for rater in raters:
            work_off(rater)

        assert [rater.assignments.count() for rater in raters] == [instances] * 3
        for hit in batch.hits.all():
            assert Counter(hit.slots.values_list("assignment__arm", flat=True)) == Counter(ARMS)

    check()


def turn_has_work(annotator: Annotator, hits: int) -> bool:
    return annotator.assignments.count() < hits
