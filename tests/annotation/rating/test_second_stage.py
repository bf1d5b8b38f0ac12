"""The two-stage protocol: arms, when a table may be seen, and second votes."""

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from annotation.allocation.claims import draw_arm, nth_arm
from annotation.core.arms import Arm, BadArm
from annotation.core.errors import (
    AssignmentClosed,
    FirstVotesLocked,
    SecondStageClosed,
    Unacceptable,
    UnknownName,
    VotesMissing,
)
from annotation.models import ArmDraw, Assignment, Pair, Rating, Study, VoteChange
from annotation.rating.second_stage import current_display, reveal, save_second_vote, shown_rows
from annotation.rating.votes import lock_first_votes, save_vote, submit_assignment
from tests.factories import NOON, add_tables, claim, keys_of, make_annotator, make_batch, make_study, rate

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

REASON = "The table shows that it leaves out the ferry."


def rows_of(pair: Pair) -> list[dict[str, str]]:
    """Return rows of a table whose cells name their pair and column."""
    return [
        {"aspect": f"aspect {n}", "only_a": f"a{n} of {pair.pk}", "both": f"both{n}", "only_b": f"b{n} of {pair.pk}"}
        for n in range(2)
    ]


def two_stage(
    *arms: str, instances: int = 3, raters: int = 3, variants: tuple[str, ...] = ("c8",), **settings: Any
) -> Study:
    study = make_study(instances=instances, protocol="two-stage", arms=list(arms), **settings)
    add_tables(study, *variants, rows=rows_of)
    make_batch(study, raters=raters)
    return study


def locked(study: Study, name: str = "rater", choice: str = "left") -> Assignment:
    assignment = rate(claim(make_annotator(study, name)), choice, submit=False)
    return lock_first_votes(assignment=assignment, at=NOON)


def second(assignment: Assignment, place: int, choice: str, reason: str = "") -> Rating:
    return save_second_vote(
        assignment=assignment, pair_key=keys_of(assignment)[place], choice=choice, reason=reason, at=NOON
    )


# Arms


@pytest.mark.parametrize(
    ("name", "kind", "variant", "shows"),
    [("none", "none", "", False), ("table:c8", "table", "c8", True), ("placebo:a:b", "placebo", "a:b", True)],
)
def test_an_arm_is_read_from_its_name_and_written_back(name: str, kind: str, variant: str, shows: bool) -> None:
    arm = Arm.parse(name)
    assert (arm.kind, arm.variant, arm.shows_table, arm.name) == (kind, variant, shows, name)


@pytest.mark.parametrize("name", ["", "None", "table", "table:", "none:c8", "table: c8", "table:" + "x" * 41, 8, None])
def test_what_is_no_arm_is_refused_with_what_one_looks_like(name: object) -> None:
    with pytest.raises(BadArm, match="write none, table:VARIANT or placebo:VARIANT"):
        Arm.parse(name)


@pytest.mark.engine
def test_raters_are_drawn_into_arms_by_permuted_blocks_from_the_seed() -> None:
    study = two_stage("none", "table:c8", "placebo:c8", seed=5)
    drawn = [draw_arm(study=study, annotator=make_annotator(study, f"r{n}")) for n in range(12)]

    blocks = [drawn[start : start + 3] for start in range(0, 12, 3)]
    assert all(Counter(block) == Counter(study.arms) for block in blocks)
    assert len({tuple(block) for block in blocks}) > 1  # the order within a block is not always the same
    assert drawn == [nth_arm(study, number) for number in range(12)]
    other = Study(seed=6, arms=study.arms)
    assert [nth_arm(other, number) for number in range(12)] != drawn


@pytest.mark.engine
def test_a_rater_stays_in_one_arm_and_an_instance_in_one_for_all_raters() -> None:
    by_rater = two_stage("none", "table:c8", slug="by-rater")
    annotator = make_annotator(by_rater)
    first = claim(annotator)
    lock_first_votes(assignment=rate(first, submit=False), at=NOON)
    for place in range(2):
        reveal(assignment=Assignment.objects.get(pk=first.pk), at=NOON)
        second(first, place, "left")
    submit_assignment(assignment=first, at=NOON)
    assert claim(annotator).arm == first.arm
    assert ArmDraw.objects.filter(study=by_rater).count() == 1

    by_instance = two_stage("none", "table:c8", slug="by-instance", arm_unit="instance", instances=2, raters=2)
    claims = [claim(make_annotator(by_instance, f"r{n}")) for n in range(4)]
    arms: dict[str, set[str]] = {}
    for assignment in claims:
        arms.setdefault(assignment.hit.matchup.instance.instance_id, set()).add(assignment.arm)
    assert sorted(len(found) for found in arms.values()) == [1, 1]
    assert set.union(*arms.values()) == {"none", "table:c8"}


def test_a_one_stage_study_has_no_arms() -> None:
    study = make_study(arms=["none"])
    make_batch(study)
    assignment = rate(claim(make_annotator(study)), submit=False)

    assert (assignment.arm, ArmDraw.objects.count()) == ("", 0)
    with pytest.raises(Unacceptable, match="no second part"):
        lock_first_votes(assignment=assignment, at=NOON)


# Before the table


def test_no_second_vote_before_every_first_vote_is_given_and_closed() -> None:
    study = two_stage("table:c8")
    assignment = claim(make_annotator(study))
    save_vote(assignment=assignment, pair_key=keys_of(assignment)[0], choice="left", at=NOON)

    with pytest.raises(SecondStageClosed, match="close your first choices"):
        second(assignment, 0, "left")
    with pytest.raises(VotesMissing, match="still open: 2"):
        lock_first_votes(assignment=assignment, at=NOON)
    assert reveal(assignment=assignment, at=NOON) is None
    with pytest.raises(VotesMissing):
        submit_assignment(assignment=assignment, at=NOON)
    rate(assignment, submit=False)
    with pytest.raises(VotesMissing, match="a second time"):
        submit_assignment(assignment=assignment, at=NOON)

    assert not Rating.objects.filter(stage="revised").exists()


@pytest.mark.engine
def test_closed_first_votes_stay_and_closing_again_changes_nothing() -> None:
    assignment = locked(two_stage("table:c8"))

    with pytest.raises(FirstVotesLocked):
        save_vote(assignment=assignment, pair_key=keys_of(assignment)[0], choice="right", at=NOON)
    again = lock_first_votes(assignment=assignment, at=NOON + timedelta(minutes=5))

    assert again.locked_at == NOON
    assert VoteChange.objects.filter(stage="first").count() == 2


def test_tables_are_revealed_pair_by_pair() -> None:
    assignment = locked(two_stage("table:c8"))
    first = reveal(assignment=assignment, at=NOON)
    assert first.position == 0
    assert reveal(assignment=assignment, at=NOON + timedelta(minutes=1)).second_shown_at == NOON
    later = assignment.displays.get(position=1)
    assert (shown_rows(later), later.table) == ([], None)

    with pytest.raises(SecondStageClosed, match="turn comes after"):
        second(assignment, 1, "left")
    second(assignment, 0, "left")

    assert reveal(assignment=assignment, at=NOON).position == 1
    second(assignment, 1, "left")
    assert current_display(assignment) is None
    assert submit_assignment(assignment=assignment, at=NOON).state == "submitted"


# What is shown


def test_a_table_is_turned_to_the_sides_that_its_rater_sees() -> None:
    assignment = locked(two_stage("table:c8"))
    for a_is_left in (True, False):
        display = reveal(assignment=assignment, at=NOON)
        display.a_is_left = a_is_left
        row = shown_rows(display)[0]
        a, b = f"a0 of {display.pair_id}", f"b0 of {display.pair_id}"
        assert (row.left, row.both, row.right) == ((a, "both0", b) if a_is_left else (b, "both0", a))


def test_each_arm_shows_its_own_variant_and_one_shows_none() -> None:
    study = two_stage("none", "table:c1", "table:c8", variants=("c1", "c8"))
    for number in range(3):
        assignment = locked(study, f"r{number}")
        display = reveal(assignment=assignment, at=NOON)
        rating = second(assignment, 0, "left")
        _, _, variant = assignment.arm.partition(":")
        assert (display.table.variant if display.table else "") == variant
        assert bool(shown_rows(display)) == bool(variant)
        assert (rating.arm, rating.table) == (assignment.arm, display.table)
    assert ArmDraw.objects.values("arm").distinct().count() == 3


# Second votes


def test_keeping_needs_no_reason_and_revising_does() -> None:
    assignment = locked(two_stage("table:c8", reason_min_length=10))
    reveal(assignment=assignment, at=NOON)

    for reason in ("", "too short", "   short   "):
        with pytest.raises(Unacceptable, match="in 10 characters or more"):
            second(assignment, 0, "right", reason)
    assert not Rating.objects.filter(stage="revised").exists()
    kept = second(assignment, 0, "left")
    assert (kept.verdict, kept.reason) == (Rating.objects.get(display=kept.display, stage="first").verdict, "")
    revised = second(assignment, 0, "right", f"  {REASON}\r\n")

    assert (revised.verdict, revised.reason) == (-kept.verdict, REASON)
    assert Rating.objects.get(display=kept.display, stage="first").verdict == kept.verdict
    changes = VoteChange.objects.filter(display=kept.display, stage="revised").order_by("pk")
    assert list(changes.values_list("verdict", "reason")) == [(kept.verdict, ""), (-kept.verdict, REASON)]


@pytest.mark.engine
def test_a_reason_in_any_script_is_taken() -> None:
    study = two_stage("table:c8")
    assignment = locked(study)
    reveal(assignment=assignment, at=NOON)
    for least, reason in (
        (10, "Inconsistent."),
        (4, "更短更清楚"),
        (2, "更好"),
        (10, "यह पाठ छोटा और साफ़ है।"),
        (10, "ข้อความนี้ชัดเจนกว่า"),
        (10, "النص الثاني أوضح"),
        (10, "אין טעויות בטקסט"),
        (10, "左边的摘要漏掉了渡轮的时间。"),
        (1, "x"),
        (0, ""),
    ):
        Study.objects.update(reason_min_length=least)
        assert second(assignment, 0, "right", reason).reason == reason


def test_bad_second_votes_are_refused() -> None:
    study = two_stage("table:c8", ties_allowed=False)
    assignment = locked(study)
    other = locked(study, "other")
    reveal(assignment=assignment, at=NOON)

    with pytest.raises(Unacceptable, match="not one of the choices"):
        second(assignment, 0, "none", REASON)
    with pytest.raises(Unacceptable, match="longer than 5000"):
        second(assignment, 0, "right", "x" * 5001)
    with pytest.raises(UnknownName):
        save_second_vote(assignment=assignment, pair_key=keys_of(other)[0], choice="left", reason="", at=NOON)
    for place in range(2):
        reveal(assignment=assignment, at=NOON)
        second(assignment, place, "left")
    submit_assignment(assignment=assignment, at=NOON)
    with pytest.raises(AssignmentClosed):
        second(assignment, 0, "right", REASON)
    assert Rating.objects.filter(stage="revised").count() == 2
