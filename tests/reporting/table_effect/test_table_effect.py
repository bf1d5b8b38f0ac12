"""What comparison tables change: the numbers by arm, the page with its picture and reasons, command and API."""

import json
import re
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.bias.revision import Decisions
from annotation.core.errors import UnknownName
from annotation.core.reasons import Reason
from annotation.models import Annotator, Assignment, ComparisonTable, Hit, Instance, Pair, Rating, Slot, Study
from annotation.rating.second_stage import reveal, save_second_vote
from annotation.rating.votes import lock_first_votes, save_vote, submit_assignment
from judging.models import Judge, JudgeRun, Judgment, TableMaking
from reporting.core.charts import NO_DATA, to_svg
from reporting.core.reasons import TOO_FEW
from reporting.table_effect.arrays import SecondVotes, TableEffectFilters, arm_sort_key
from reporting.table_effect.effects import NO_CHANGE, NO_SECOND_VOTES, NO_TABLE, NO_VERDICT, ONE_STAGE, effect_of
from reporting.table_effect.reading import second_votes, table_effect
from reporting.table_effect.views import before_and_after
from tests.factories import NOON, api_of, claim, make_annotator, make_batch, make_study, make_user, signed_in
from tests.reporting.builders import Built, build_batch, build_configuration, build_study, rate

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
PAGE = "reporting:table-effect"
A, TIE, B = -1, 0, 1
EVIL = "<script>alert(1)</script> \x1b[31m =cmd()"


def decide(
    built: Built,
    place: int,
    code: str,
    arm: str,
    votes: Sequence[tuple[int | None, int | None]],
    *,
    reason: str = "",
    table: ComparisonTable | None = None,
    seconds: tuple[float | None, float | None] = (None, None),
    **settings: Any,
) -> Assignment:
    """Let a person vote on the pairs of a HIT twice: (before, after) each; None for no vote."""
    assignment = rate(built, place, code, [before for before, _ in votes], active_seconds=seconds[0], **settings)
    Assignment.objects.filter(pk=assignment.pk).update(arm=arm)
    displays = assignment.displays.order_by("position")
    Rating.objects.bulk_create(
        Rating(
            display=display,
            stage="revised",
            verdict=after,
            arm=arm,
            reason=reason,
            table=table,
            active_seconds=seconds[1],
            rated_at=timezone.now(),
        )
        for display, (_, after) in zip(displays, votes, strict=True)
        if after is not None
    )
    return assignment


def gold(built: Built, *better: str | None) -> None:
    """Say of each instance which system is better: `a`, `b`, `tie`, or nothing."""
    names = {"a": built.system_a.name, "b": built.system_b.name, "tie": "tie"}
    for matchup, known in zip(built.matchups, better, strict=True):
        told = {"better": names[known]} if known else None
        Instance.objects.filter(pk=matchup.instance_id).update(gold=told)


def store() -> Built:
    """Four instances of one pair each; A is better, B is better, neither is, unknown."""
    study = build_study()
    study.protocol, study.arms = "two-stage", ["none", "table:c1", "table:c8"]
    study.save()
    made = build_configuration(study, instances=4, pairs=1)
    gold(made, "a", "b", "tie", None)
    return made


@pytest.fixture
def decided(built: Built) -> Built:
    """Without a table Ann turns to wrong once; with one Bob turns to right three times."""
    ann, bob = "none", "table:c8"
    for place, votes in enumerate([(A, B), (B, B), (TIE, TIE), (A, TIE)]):
        decide(built, place, "ann", ann, [votes], seconds=(10, 4 + place))
    for place, votes in enumerate([(B, A), (TIE, B), (A, TIE), (B, A)]):
        decide(built, place, "bob", bob, [votes], reason=f"Because of {place}.", seconds=(None, 20))
    return built


def make_table(built: Built, place: int, *verdicts: int | str, variant: str = "c8") -> ComparisonTable:
    """Make a table with the judgments that its judge came to with it: verdicts, or the status of failed ones."""
    table = ComparisonTable.objects.create(
        study=built.study, table_id=f"{variant}-{place}", pair=built.pairs[place][0], variant=variant, rows=[]
    )
    for number, verdict in enumerate(verdicts):
        judging(built, place, table, verdict, number)
    return table


def judging(
    built: Built, place: int, table: ComparisonTable, verdict: int | str, number: int = 0, **more: Any
) -> Judgment:
    judge, _ = Judge.objects.get_or_create(name=f"judge-{number}", defaults={"method": "sc2"})
    run, _ = JudgeRun.objects.get_or_create(study=built.study, judge=judge)
    status = verdict if isinstance(verdict, str) else "parsed"
    said = None if isinstance(verdict, str) else verdict
    judgment = Judgment.objects.create(
        run=run, pair=built.pairs[place][0], order="ab", status=status, verdict=said, **more
    )
    TableMaking.objects.create(judgment=judgment, table=table, record={})
    return judgment


def arm(found: dict[str, Any], name: str) -> dict[str, Any]:
    (one,) = (one for one in found["arms"] if one["arm"] == name)
    return dict(one)


def value(estimate: dict[str, Any]) -> tuple[float | None, int]:
    return estimate["value"], estimate["n"]


def counts(shares: dict[str, Any]) -> dict[str, int]:
    return {kind: one["count"] for kind, one in shares.items() if one["count"]}


# Numbers


def test_scores_and_flips_by_hand(decided: Built) -> None:
    found = table_effect(decided.study)
    none, table = arm(found, "none"), arm(found, "table:c8")
    # Ann: right, right, right (the gold is a tie) before; wrong, right, right after. The fourth pair has no gold.
    assert value(none["score_before"]) == (1.0, 3)
    assert value(none["score_after"]) == (pytest.approx(1 / 3), 3)
    assert value(none["score_change"]) == (pytest.approx(-2 / 3), 3)
    assert counts(none["changes"]) == {"right_to_wrong": 1, "unchanged": 2}
    assert counts(none["moves"]) == {"reversed": 1, "kept": 2, "to_tie": 1}
    # Bob: wrong, tie, wrong before; right three times after.
    assert value(table["score_before"]) == (pytest.approx(-2 / 3), 3)
    assert value(table["score_after"]) == (1.0, 3)
    assert counts(table["changes"]) == {"wrong_to_right": 2, "tie_to_right": 1}
    assert counts(table["moves"]) == {"reversed": 2, "to_tie": 1, "from_tie": 1}
    assert (table["revised"]["value"], table["revised"]["count"], table["revised"]["n"]) == (1.0, 4, 4)
    assert (table["decisions"], table["with_gold"], table["without_gold"], table["with_reason"]) == (4, 3, 1, 4)
    assert table["score_change"]["excluded"] == 1
    (one,) = found["differences"]
    assert (one["arm"], one["control"]) == ("table:c8", "none")
    change = one["score_change"]
    assert value(change) == (pytest.approx(5 / 3 + 2 / 3), 6)
    assert (change["low"], change["n_instances"], change["why_code"]) == (None, 3, "too_few")
    assert one["wrong_to_right"]["value"] == pytest.approx(2 / 3)
    assert one["right_to_wrong"]["value"] == pytest.approx(-1 / 3)
    assert one["revised"]["value"] == pytest.approx(1 - 2 / 4)


def test_neither_another_arm_nor_a_draw_moves_the_numbers_of_an_arm(decided: Built) -> None:
    first, other = (table_effect(decided.study, TableEffectFilters(seed=seed, rounds=5)) for seed in (3, 4))
    assert {**other, "filters": first["filters"]} == first
    before = arm(table_effect(decided.study), "table:c8")
    decide(decided, 0, "cid", "table:c1", [(A, B)])
    after = arm(table_effect(decided.study), "table:c8")
    same = ("score_before", "score_after", "score_change", "changes", "moves", "second_seconds")
    assert {key: before[key] for key in same} == {key: after[key] for key in same}


def test_arms_differ_in_how_many_changed_votes_went_with_the_table(built: Built) -> None:
    tables = {place: make_table(built, place, B) for place in range(3)}
    # With c8 three votes change, two of them towards B; with c1 two, one of them.
    for place, votes in enumerate([(A, TIE), (A, B), (B, A)]):
        decide(built, place, "bob", "table:c8", [votes], table=tables[place])
    for place, votes in enumerate([(A, B), (B, A), (B, B)]):
        decide(built, place, "cid", "table:c1", [votes], table=tables[place])
    decide(built, 3, "cid", "table:c1", [(A, B)], table=make_table(built, 3))  # its verdict is unknown
    (one,) = table_effect(built.study)["differences"]
    assert (one["arm"], one["control"]) == ("table:c8", "table:c1")
    towards = one["towards_table"]
    assert value(towards) == (pytest.approx(2 / 3 - 1 / 2), 5)
    assert (towards["of"], towards["excluded"]) == ("changed votes", 1)
    assert (towards["low"], towards["n_instances"]) == (None, 2)  # of the arm with fewer


@pytest.mark.parametrize(
    ("control", "verdicts", "votes", "why"),
    [
        pytest.param("none", None, (A, B), NO_TABLE, id="without-a-table"),
        pytest.param("table:c1", (), (A, B), NO_VERDICT, id="nobody-knows-its-verdict"),
        pytest.param("table:c1", (B,), (A, A), NO_CHANGE, id="nobody-changed"),
    ],
)
def test_an_arm_whose_changes_no_table_implies_has_no_such_difference(
    built: Built, control: str, verdicts: Any, votes: Any, why: Reason
) -> None:
    decide(built, 0, "bob", "table:c8", [(A, B)], table=make_table(built, 0, B))
    table = None if verdicts is None else make_table(built, 1, *verdicts, variant="c1")
    decide(built, 1, "ann", control, [votes], table=table)
    found = table_effect(built.study)
    (one,) = found["differences"]
    towards = one["towards_table"]
    assert (towards["value"], towards["low"], towards["why_code"]) == (None, None, why.code)
    assert arm(found, control)["table_verdict"]["towards_table"]["why_code"] == why.code
    assert arm(found, "table:c8")["table_verdict"]["towards_table"]["value"] == 1


def test_an_instance_in_both_arms_is_compared_with_itself() -> None:
    # On each instance both arms change alike, whatever the instance: only other instances could differ.
    built = build_configuration(build_study("alike"), instances=5, pairs=1)
    for place, votes in enumerate([(B, A), (A, A), (A, TIE), (B, A), (A, B)]):
        decide(built, place, "ann", "none", [votes])
        decide(built, place, "bob", "table:c8", [votes])
    (one,) = table_effect(built.study)["differences"]
    revised = one["revised"]
    alike = 1 - 0.025 ** (1 / 5)
    assert (revised["low"], revised["high"]) == (pytest.approx(-alike), pytest.approx(alike))


def test_choice_by_separability_is_said_beside_the_effect(decided: Built) -> None:
    made = {"asked": {"spec": "top:2"}, "similarity": "rouge1", "separability": {"measure": "rouge1"}, "pool": 9}
    decided.study.batches.update(selection=made)
    found = table_effect(decided.study)
    assert [row["spec"] for row in found["chosen"]] == ["top:2"]
    other = build_configuration(decided.study, instances=1, dataset="chat")
    assert table_effect(decided.study, TableEffectFilters(dataset=other.dataset))["chosen"] == []


def test_agreement_is_with_the_others_first_votes(built: Built) -> None:
    gold(built, None, None, None, None)
    decide(built, 0, "ann", "none", [(A, B)])
    decide(built, 0, "bob", "table:c8", [(B, B)])
    decide(built, 0, "cid", "table:c8", [(B, A)])
    decide(built, 1, "dan", "table:c8", [(B, A)])  # no other rater voted there
    found = table_effect(built.study)
    none, table = arm(found, "none"), arm(found, "table:c8")
    assert [value(none[f"agreement_{when}"]) for when in ("before", "after", "change")] == [(0, 1), (1, 1), (1, 1)]
    # Bob: the others' A and B, half before and after. Cid: half (Bob) before, and half (Ann) after.
    assert [value(table[f"agreement_{when}"]) for when in ("before", "after", "change")] == [(0.5, 2), (0.5, 2), (0, 2)]
    assert table["agreement_before"]["excluded"] == 1
    assert (table["score_change"]["value"], table["score_change"]["why_code"]) == (None, "no_gold")
    rate(built, 2, "ann", [A])  # no second vote of hers, and one of the others' all the same
    decide(built, 2, "bob", "table:c1", [(A, B)])
    one = arm(table_effect(built.study), "table:c1")
    assert (one["decisions"], one["agreement_before"]["value"], one["agreement_after"]["value"]) == (1, 1, 0)


def test_changes_towards_the_verdict_of_the_table(built: Built) -> None:
    says_b = make_table(built, 0, B)
    for place, votes in enumerate([(A, TIE), (A, B), (B, A), (B, B)]):
        decide(built, place, "bob", "table:c8", [votes], table=says_b)
    decide(built, 0, "cid", "table:c8", [(A, B)], table=make_table(built, 1))  # its verdict is unknown
    verdict = arm(table_effect(built.study), "table:c8")["table_verdict"]
    assert verdict["known"] == 4
    # Three of Bob's votes changed: half-way to B, to B, and away from it.
    assert (value(verdict["towards_table"]), verdict["towards_table"]["count"]) == ((pytest.approx(2 / 3), 3), 2)
    assert value(verdict["away_from_table"]) == (pytest.approx(1 / 3), 3)
    assert verdict["towards_table"]["excluded"] == 1
    # Two of the four were not at B before; one of them came to it.
    assert value(verdict["reached_table"]) == (0.5, 2)


@pytest.mark.parametrize(
    ("verdicts", "known"),
    [
        pytest.param((B,), 1, id="one"),
        pytest.param((B, B), 1, id="the-same-twice"),
        pytest.param((A, B), 0, id="divided"),
        pytest.param((TIE,), 1, id="tie"),
        pytest.param(("unparsed",), 0, id="unread"),
        pytest.param((B, "error"), 1, id="one-of-two"),
        pytest.param((), 0, id="imported"),
    ],
)
def test_what_a_table_implies_is_what_its_judges_agree_on(built: Built, verdicts: Any, known: int) -> None:
    decide(built, 0, "bob", "table:c8", [(A, TIE)], table=make_table(built, 0, *verdicts))
    found = arm(table_effect(built.study), "table:c8")["table_verdict"]
    assert found["known"] == known
    if not known:
        assert (found["towards_table"]["value"], found["towards_table"]["why_code"]) == (None, "no_verdict")


def test_repeats_and_negated_questions_say_nothing_of_a_table(built: Built) -> None:
    table = make_table(built, 0, B)
    judging(built, 0, table, A, repeat=1)
    judging(built, 0, table, A, negated=True)
    decide(built, 0, "bob", "table:c8", [(A, B)], table=table)
    assert arm(table_effect(built.study), "table:c8")["table_verdict"]["towards_table"]["value"] == 1


def test_time_is_a_median_and_missing_time_is_not_0(decided: Built) -> None:
    found = table_effect(decided.study)
    none, table = arm(found, "none"), arm(found, "table:c8")
    assert value(none["first_seconds"]) == (10, 4)
    assert value(none["second_seconds"]) == (5.5, 4)
    assert none["second_seconds"]["low"] is None
    assert (table["first_seconds"]["value"], table["first_seconds"]["excluded"]) == (None, 4)
    assert table["first_seconds"]["why_code"] == "no_time"
    assert value(table["second_seconds"]) == (20, 4)
    seconds = found["differences"][0]["second_seconds"]
    assert value(seconds) == (20 - 5.5, 8)
    assert (seconds["of"], seconds["low"]) == ("votes with a time", None)
    assert seconds["why"] == TOO_FEW.with_values(of="instances", least=30).text


def test_only_what_findings_count_is_counted(built: Built) -> None:
    decide(built, 0, "ann", "none", [(A, A)])
    decide(built, 0, "open", "none", [(A, B)], state="claimed")
    decide(built, 0, "late", "none", [(A, B)], fills_slot=False)
    hand = decide(built, 0, "hand", "none", [(A, B)])
    Assignment.objects.filter(pk=hand.pk).update(excluded=True)
    for code, change in (("out", {"excluded": True}), ("gone", {"withdrawn_at": timezone.now()})):
        decide(built, 0, code, "none", [(A, B)], reason="Secret of who has gone.")
        Annotator.objects.filter(code=code).update(**change)
    decide(built, 1, "half", "none", [(None, B)])
    found = table_effect(built.study)
    assert found["decisions"] == 1
    assert found["excluded"] == {
        "withdrawn": 1,
        "check": 0,
        "excluded": 2,
        "not_submitted": 1,
        "surplus": 1,
        "without_first_vote": 1,
        "repeated": 0,
    }
    assert "Secret" not in page_of(built.study)


def test_of_two_decisions_of_a_person_on_a_pair_the_first_counts(built: Built) -> None:
    decide(built, 0, "ann", "none", [(A, B)])
    systems = (built.system_a, built.system_b)
    again = build_batch(built.study, built.dataset, *systems, built.matchups, built.pairs, name="again")
    decide(again, 0, "ann", "none", [(B, B)])
    found = table_effect(built.study)
    assert (found["decisions"], found["excluded"]["repeated"]) == (1, 1)
    assert arm(found, "none")["revised"]["value"] == 1


def test_data_sets_systems_and_batches_choose_the_decisions(decided: Built) -> None:
    other = build_configuration(
        decided.study, instances=2, pairs=1, dataset="chat", systems=("second-system", "third-system")
    )
    decide(other, 0, "ann", "none", [(A, B)])

    def n(**filters: Any) -> int:
        return int(table_effect(decided.study, TableEffectFilters(**filters))["decisions"])

    assert n() == 9
    assert n(dataset="chat") == n(systems=("third-system",)) == n(batches=(other.batch.name,)) == 1
    assert n(systems=("second-system",)) == 9
    assert n(systems=("second-system", "first-system")) == n(dataset="news", systems=("first-system",)) == 8
    for filters in ({"dataset": "nope"}, {"systems": ("third-system", "first-system")}, {"dataset": "\x00"}):
        with pytest.raises(UnknownName, match="it has chat: second-system / third-system; news"):
            n(**filters)


def test_complete_only_keeps_the_pairs_that_all_their_raters_have_decided_in_every_arm(
    built: Built, capsys: pytest.CaptureFixture[str]
) -> None:
    for code, arm_name, places in (("ann", "none", (0, 1, 2)), ("bob", "table:c8", (1, 2, 3)), ("cy", "none", (1,))):
        for place in places:
            decide(built, place, code, arm_name, [(A, B)])
    found = table_effect(built.study, TableEffectFilters(complete_only=True))
    assert [(one["arm"], one["pairs"], one["decisions"]) for one in found["arms"]] == [
        ("none", 2, 3),
        ("table:c8", 2, 2),
    ]
    assert found["excluded"]["pair_incomplete"] == 2
    Slot.objects.create(hit=Hit.objects.get(pairs=built.pairs[2][0]), batch=built.batch, number=9, position=0)
    found = table_effect(built.study, TableEffectFilters(complete_only=True))  # a rater of the third pair is missing
    assert [(one["pairs"], one["decisions"]) for one in found["arms"]] == [(1, 2), (1, 1)]
    assert found["excluded"]["pair_incomplete"] == 4
    Slot.objects.filter(number=9).delete()
    assert "pair_incomplete" not in table_effect(built.study)["excluded"]
    call_command("table_effect", built.study.slug, "--complete-only")
    assert "pair incomplete 2" in capsys.readouterr().out


def test_arms_stand_in_an_order_with_controls_first() -> None:
    arms = ["odd", "table:c16", "placebo:c8", "table:hand", "table:c8", "none", "", "table:c1", "placebo:c1"]
    ordered = ["none", "placebo:c1", "placebo:c8", "table:c1", "table:c8", "table:c16", "table:hand", "", "odd"]
    assert sorted(arms, key=arm_sort_key) == ordered


def test_votes_given_on_the_pages_are_read() -> None:
    study = make_study("real", instances=1, k=1, protocol="two-stage", arms=["table:c8"])
    (pair,) = Pair.objects.filter(matchup__instance__study=study)
    ComparisonTable.objects.create(study=study, table_id="t", pair=pair, variant="c8", rows=[])
    make_batch(study, pairs=1, raters=1)
    assignment = claim(make_annotator(study))
    save_vote(assignment=assignment, pair_key=pair.key, choice="left", at=NOON)
    assignment = lock_first_votes(assignment=assignment, at=NOON)
    reveal(assignment=assignment, at=NOON)
    reason = "The table says that it is the right one."
    save_second_vote(assignment=assignment, pair_key=pair.key, choice="right", reason=reason, at=NOON)
    assert table_effect(study)["decisions"] == 0  # the HIT isn't submitted
    submit_assignment(assignment=Assignment.objects.get(pk=assignment.pk), at=NOON)
    (found,) = table_effect(study)["arms"]
    assert (found["arm"], found["kind"], found["variant"], found["with_table"]) == ("table:c8", "table", "c8", 1)
    assert counts(found["moves"]) == {"reversed": 1}
    votes = second_votes(study, TableEffectFilters())
    assert (votes.votes.before * votes.votes.after).tolist() == [-1]


# Properties

Row = tuple[int, int, int, int | None, float | None]  # instance, before, after, what the table implies, seconds
verdicts = st.sampled_from([A, TIE, B])
some_rows = st.lists(
    st.tuples(st.integers(0, 3), verdicts, verdicts, st.none() | verdicts, st.none() | st.floats(0, 600)),
    min_size=1,
    max_size=7,
)


def made_votes(table: list[Row], control: list[Row]) -> SecondVotes:
    rows = control + table
    n = len(rows)
    columns = np.array([row[1:] for row in rows], dtype=float).T  # None becomes NaN
    before, after, implied, seconds = columns
    return SecondVotes(
        arms=("table:c1", "table:c8"),
        arm=np.repeat([0, 1], [len(control), len(table)]),
        rating=np.arange(n),
        instance=np.array([row[0] for row in rows]),
        pair=np.arange(n),
        annotator=np.arange(n),
        votes=Decisions(before, after, implied=implied),
        first_seconds=np.full(n, np.nan),
        second_seconds=seconds,
        shown=np.ones(n, dtype=bool),
        reasoned=np.zeros(n, dtype=bool),
        others_before=np.full(n, np.nan),
        others_after=np.full(n, np.nan),
        excluded={},
        scripted=frozenset(),
    )


def difference_of(table: list[Row], control: list[Row]) -> dict[str, Any]:
    votes, filters = made_votes(table, control), TableEffectFilters(rounds=20)
    (one,) = effect_of("made", votes, filters, is_two_stage=True)["differences"]
    return dict(one)


def towards_table(rows: list[Row]) -> list[bool]:
    """Say of each changed vote with a table that implies something whether it came nearer to it."""
    return [
        abs(after - implied) < abs(before - implied)
        for _, before, after, implied, _ in rows
        if implied is not None and before != after
    ]


@settings(max_examples=20, deadline=None)
@given(some_rows, some_rows)
def test_differences_are_those_of_the_shares_that_go_with_the_table_and_of_the_median_times(
    table: list[Row], control: list[Row]
) -> None:
    # Drawn together, an arm never differs from its like.
    found, turned, alike = (difference_of(*arms) for arms in ((table, control), (control, table), (table, table)))
    shares = [towards_table(rows) for rows in (table, control)]
    towards, away = found["towards_table"], turned["towards_table"]
    assert towards["n"] == away["n"] == sum(map(len, shares))
    if all(shares):
        assert towards["value"] == pytest.approx(np.mean(shares[0]) - np.mean(shares[1]), abs=1e-12)
        assert away["value"] == -towards["value"]
        assert -1 <= towards["value"] <= 1
    else:
        assert (towards["value"], towards["low"]) == (None, None)
        assert towards["why_code"] in ("no_verdict", "no_change")

    times = [[row[4] for row in rows if row[4] is not None] for rows in (table, control)]
    slower, faster = found["second_seconds"], turned["second_seconds"]
    assert slower["n"] == faster["n"] == sum(map(len, times))
    assert slower["n"] + slower["excluded"] == len(table) + len(control)
    if all(times):
        assert slower["value"] == pytest.approx(np.median(times[0]) - np.median(times[1]), abs=1e-9)
        assert faster["value"] == pytest.approx(-slower["value"])
    else:
        assert (slower["value"], slower["low"], slower["why_code"]) == (None, None, "no_time")

    for same in (alike["towards_table"], alike["second_seconds"]):
        assert same["low"] is None or same["low"] == -same["high"]


# States of a study


def test_a_study_without_second_votes_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    make_study("once")
    make_study("twice", protocol="two-stage", arms=["none"])
    for slug, reason in (("once", ONE_STAGE), ("twice", NO_SECOND_VOTES)):
        found = table_effect(Study.objects.get(slug=slug))
        assert found["why_code"] == reason.code
        assert reason.text[1:] in page_of(Study.objects.get(slug=slug))
        call_command("table_effect", slug)
        assert reason.text in capsys.readouterr().out
        assert NO_DATA in to_svg(before_and_after(found, "light"))


def test_one_arm_alone_shows_its_numbers_and_no_difference(built: Built) -> None:
    decide(built, 0, "ann", "table:c8", [(B, A)])
    found = table_effect(built.study)
    assert (found["differences"], found["why_code"]) == ([], "one_arm")
    one = arm(found, "table:c8")
    assert (one["score_change"]["value"], one["score_change"]["low"]) == (2, None)
    assert one["score_change"]["why_code"] == "too_few"
    assert one["agreement_before"]["why_code"] == "no_others"
    decide(built, 0, "robot", "table:c8", [(A, B)], kind="scripted")
    found = table_effect(built.study)
    assert (found["scripted_raters"], "scripted" in found["note"]) == (1, True)


def test_arms_without_any_gold_in_common_have_no_difference(built: Built) -> None:
    decide(built, 0, "ann", "none", [(B, A)])
    decide(built, 3, "bob", "table:c8", [(B, A)])
    (one,) = table_effect(built.study)["differences"]
    assert (one["score_change"]["value"], one["score_change"]["why_code"]) == (None, "no_gold")
    assert one["revised"]["value"] == 0


def test_ratings_read_in_without_an_arm_are_an_arm_of_their_own(built: Built) -> None:
    decide(built, 0, "ann", "", [(B, A)], reason="So it is.")
    found = table_effect(built.study)
    assert (found["arms"][0]["arm"], found["arms"][0]["kind"]) == ("", "")
    assert "no arm on record" in page_of(built.study)


# Page and picture


def page_of(study: Study) -> str:
    reader = signed_in(make_user(f"reader-{study.slug}", "researcher", study=study))
    return str(reader.get(reverse(PAGE, args=[study.slug])).content.decode())


def drawn(svg: str) -> tuple[ElementTree.Element, str]:
    root = ElementTree.fromstring(svg)
    return root, " ".join(part for element in root.iter() for part in element.itertext())


def test_the_picture_has_a_point_before_and_after_for_each_arm(decided: Built) -> None:
    root, text = drawn(to_svg(before_and_after(table_effect(decided.study), "dark")))
    points = [one for one in root.iter() if one.attrib.get("aria-roledescription") == "point"]
    assert len([one for one in points if "aria-label" in one.attrib]) == 4
    for expected in ("none", "table:c8", "before", "after", "95% intervals", "n = 3 instances"):
        assert expected in text


def test_the_picture_is_served(decided: Built) -> None:
    client = signed_in(make_user("reader", "researcher"))
    svg, spec, data = (
        client.get(f"/studies/tried/table-effect/scores.{form}?theme=dark") for form in ("svg", "json", "csv")
    )
    assert svg["Content-Security-Policy"] == "default-src 'none'; sandbox"
    rows = data.content.decode().splitlines()
    assert len(rows) == 1 + len(spec.json()["data"]["values"])
    assert rows[0].startswith("name,series,value,low,high,n")
    assert client.get("/studies/tried/table-effect/scores.svg?theme=pink").status_code == 404


def test_names_of_arms_are_text_and_nothing_else(built: Built) -> None:
    decide(built, 0, "ann", EVIL[:50], [(B, A)])
    svg = to_svg(before_and_after(table_effect(built.study), "light"))
    assert "<script" not in svg
    assert "<script>alert" in drawn(svg)[1]


def test_the_page_shows_numbers_flips_and_reasons(decided: Built) -> None:
    table = make_table(decided, 3, B, variant="c1")
    decide(decided, 3, "eve", "table:c1", [(A, B)], table=table, reason="It names the ferry.")
    page = page_of(decided.study)
    for expected in ("table:c8 less none", "Because of 3.", "−0.667", "2.333"):
        assert expected in page
    differences = page[page.index('id="differences"') : page.index('id="verdicts"')]
    assert NO_TABLE.text in differences
    assert "14.500" in differences
    assert re.search(r"B → A\s*<small>wrong → right</small>", page)
    assert f'href="/studies/tried/instances/{decided.matchups[0].instance_id}/"' in page
    assert re.search(rf'<a href="/studies/tried/tables/{table.pk}/">c1-3</a>\s*<small>B</small>', page)
    make_study("once")
    client = signed_in(make_user("reader", "researcher"))
    for slug, is_linked in (("tried", True), ("once", False)):
        findings_page = client.get(reverse("reporting:findings", args=[slug])).content.decode()
        assert (reverse(PAGE, args=[slug]) in findings_page) == is_linked


def test_reasons_are_escaped_chosen_by_arm_and_paged(built: Built) -> None:
    many = build_configuration(built.study, instances=1, pairs=51, dataset="many")
    decide(many, 0, "ann", "table:c8", [(A, B)] * 51, reason="Of the table.")
    decide(built, 0, "bob", "none", [(A, B)], reason=EVIL)
    decide(built, 1, "bob", "none", [(A, A)])
    client, address = signed_in(make_user("reader", "researcher")), reverse(PAGE, args=["tried"])
    everything = client.get(address).content.decode()
    assert "<script>alert" not in everything
    assert everything.count("Of the table.") == 50
    assert "Page 1 of 2" in everything
    assert "&lt;script&gt;alert(1)" in client.get(f"{address}?page=2").content.decode()
    of_none = client.get(f"{address}?arm=none").content.decode()
    assert (of_none.count("Of the table."), of_none.count("&lt;script&gt;alert(1)")) == (0, 1)
    second = client.get(f"{address}?arm=table%3Ac8&page=2").content.decode()
    assert second.count("Of the table.") == 1
    assert "arm=table%3Ac8" in second
    assert "None." in client.get(f"{address}?arm=nowhere").content.decode()


def test_the_page_takes_the_filters_of_its_address(decided: Built) -> None:
    client, address = signed_in(make_user("reader", "researcher")), reverse(PAGE, args=["tried"])
    chosen = f"?dataset=news&system=first-system&batch={decided.batch.name}"
    page = client.get(address + chosen).content.decode()
    assert "scores.svg?theme=light&amp;width=phone&amp;dataset=news&amp;system=first-system" in page
    sent = client.get(f"/studies/tried/table-effect.json{chosen}").json()
    assert sent["filters"]["systems"] == ["first-system"]
    assert client.get(f"{address}?dataset=nope").status_code == 404


def test_queries_do_not_grow_with_arms_votes_or_reasons(decided: Built, django_assert_max_num_queries: Any) -> None:
    client, address = signed_in(make_user("reader", "researcher")), reverse(PAGE, args=["tried"])
    with django_assert_max_num_queries(27) as few:
        client.get(address)
    more = build_configuration(decided.study, instances=6, pairs=2, dataset="more")
    for place in range(6):
        decide(more, place, f"rater-{place}", f"table:v{place}", [(A, B), (B, B)], reason="A reason of mine.")
    with django_assert_max_num_queries(len(few)):
        client.get(address)


# Command and API


def test_command_page_and_api_have_the_same_numbers(decided: Built, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(json.dumps(table_effect(decided.study)))
    call_command("table_effect", "tried", "--format", "json")
    assert json.loads(capsys.readouterr().out) == found
    user = make_user("reader", "researcher")
    assert signed_in(user).get("/studies/tried/table-effect.json").json() == found
    assert api_of(user).get("/api/v1/studies/tried/table-effect/?dataset=news").json()["decisions"] == 8


def test_the_command_lists_reasons(decided: Built, capsys: pytest.CaptureFixture[str]) -> None:
    decide(decided, 0, "eve", "table:c1", [(A, B)], reason=EVIL)
    call_command("table_effect", "tried", "--reasons", "--format", "json", "--dataset", "news")
    reasons = json.loads(capsys.readouterr().out)["reasons"]
    assert len(reasons) == 5
    assert reasons[0] == {
        "rater": "bob",
        "arm": "table:c8",
        "instance_id": "news-0",
        "pair_index": 0,
        "dataset": "news",
        "before": 1,
        "after": -1,
        "change": "wrong_to_right",
        "gold": -1,
        "table_id": None,
        "table_verdict": None,
        "reason": "Because of 0.",
    }
