"""The audit of judges and people: how consistent they are with themselves among several texts."""

import csv
import io
import json
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from analysis.logic.transitivity import transitivity
from annotation.models import Generation, Pair, Study
from judging.models import Judge, JudgeRun, Judgment
from reporting.core.estimates import IntervalSettings
from reporting.core.reasons import FEW_COMPLETE_SETS
from reporting.logic.audit import audit, cycles, preference_graphs
from reporting.logic.audits import audit_study, judges_audited
from reporting.logic.presentations import Presentations
from tests.reporting.builders import Built, judge, rate
from tests.reporting.refinement.test_repair import SYSTEMS, build_four_systems

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
Answers = dict[tuple[str, str], str]  # of two systems, the one that is preferred, whatever the order; "tie"; or "first"


def let_judge(
    study: Study,
    built: dict[tuple[str, str], Built],
    answers: Answers,
    *,
    negated: Answers | None = None,
    repeats: int = 1,
) -> None:
    """Store a judge's answers in both orders on every instance."""
    made = Judge.objects.create(name="fair", method="direct", order="both", repeats=repeats, params={"t": 0})
    run = JudgeRun.objects.create(study=study, judge=made, status="done")
    rows = [
        Judgment(
            run=run,
            pair=pair,
            order=order,
            repeat=repeat,
            negated=is_negated,
            status="parsed",
            verdict=_verdict(answer, a, b, order),
            rationale=f"{a} and {b}, {order}",
        )
        for said, is_negated in ((answers, False), (negated or {}, True))
        for (a, b), answer in said.items()
        for row in built[a, b].pairs
        for pair in row
        for order in ("ab", "ba")
        for repeat in range(repeats)
    ]
    Judgment.objects.bulk_create(rows)


def _verdict(answer: str, a: str, b: str, order: str) -> int:
    if answer == "first":
        return -1 if order == "ab" else 1
    return {a: -1, b: 1, "tie": 0}[answer]


def in_order() -> Answers:
    return {(a, b): a for a, b in combinations(SYSTEMS, 2)}


def audited(study: Study, capsys: pytest.CaptureFixture[str], **options: Any) -> dict[str, Any]:
    call_command("logic_audit", study.slug, format="json", **options)
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def transitivity_of(found: dict[str, Any], k: int, rater: str = "judge:fair") -> float | None:
    """Return the share on the first instance, which alone has too few sets for an estimate."""
    values: dict[str, float | None] = {
        row["rater"]: row["value"]
        for row in found["by_instance"]
        if (row["instance_id"], row["measure"]) == ("i0", f"transitivity_{k}")
    }
    return values[rater]


def test_a_judge_without_contradictions_has_1_everywhere(capsys: pytest.CaptureFixture[str]) -> None:
    study, built = build_four_systems(instances=6)
    let_judge(study, built, in_order(), negated=in_order(), repeats=2)
    (one,) = audited(study, capsys)["raters"]
    assert (one["texts"], one["instances"], one["answers"], one["unread"]) == (24, 6, 6 * 6 * 2 * 2 * 2, 0)
    for name in ("commutativity", "negation_invariance", "self_agreement"):
        assert one[name]["value"] == 1
        assert one[name]["n_instances"] == 6
        assert one[name]["low"] < 1  # six instances do not make it certain
    three, four = one["transitivity"]["3"], one["transitivity"]["4"]
    assert (three["value"], three["n"], three["of"], three["n_instances"]) == (1, 24, "complete sets", 6)
    assert three["coin"] == 0.75
    assert three["low"] < 1
    # Six sets of four are too few.
    assert (four["value"], four["low"], four["coin"], four["n"]) == (None, None, 0.375, 6)
    assert four["why"] == FEW_COMPLETE_SETS.with_values(least=20, k=4).text
    assert one["density"] == {"value": 1, "n": 36, "of": "pairs"}
    assert one["preferred_first"]["value"] == 0.5
    assert one["human_agreement"]["value"] is None
    assert one["contradictions"]["cycles"] == {"count": 0, "listed": []}


def test_a_cycle_lowers_transitivity_and_is_listed_with_texts_and_rationales(
    capsys: pytest.CaptureFixture[str],
) -> None:
    study, built = build_four_systems()
    let_judge(study, built, in_order() | {("one", "three"): "three"})
    found = audited(study, capsys)
    (one,) = found["raters"]
    # one > two > three > one is a cycle; the other three sets of three are none, and the set of four has it.
    assert (transitivity_of(found, 3), transitivity_of(found, 4)) == (0.75, 0)
    assert one["transitivity"]["3"] == one["transitivity"]["3"] | {"value": None, "n": 4}
    (cycle,) = one["contradictions"]["cycles"]["listed"]
    assert [text["system"] for text in cycle["texts"]] == ["one", "two", "three"]
    assert cycle["texts"][0]["text"] == "one 0"
    assert [(a["shown_first"], a["preferred"], a["rationale"]) for a in cycle["answers"]] == [
        ("one", "one", "one and two, ab"),
        ("two", "two", "two and three, ab"),
        ("one", "three", "one and three, ab"),
    ]


def test_a_judge_that_takes_the_first_is_transitive_and_does_not_commute(capsys: pytest.CaptureFixture[str]) -> None:
    study, built = build_four_systems()
    first = dict.fromkeys(combinations(SYSTEMS, 2), "first")
    let_judge(study, built, first, negated=first | {("one", "two"): "two"})
    found = audited(study, capsys, most=1)
    (one,) = found["raters"]
    assert transitivity_of(found, 4) == 1
    assert one["commutativity"]["value"] == 0
    assert one["preferred_first"]["value"] == 1
    assert one["contradictions"]["order_effects"]["count"] == 6
    (listed,) = one["contradictions"]["order_effects"]["listed"]
    assert [answer["preferred"] for answer in listed["answers"]] == ["one", "two"]
    # Of twelve presentations one differs: one and two in the order in which the plain question took one.
    assert one["negation_invariance"]["value"] == pytest.approx(11 / 12)


def test_ties_are_no_edge_and_agree_with_ties_only(capsys: pytest.CaptureFixture[str]) -> None:
    study, built = build_four_systems()
    ties = dict.fromkeys(combinations(SYSTEMS, 2), "tie")
    let_judge(study, built, ties, negated=ties | {("one", "two"): "one"})
    found = audited(study, capsys)
    (one,) = found["raters"]
    assert transitivity_of(found, 3) is None  # no set has a preference between each two
    assert one["density"]["value"] == 0
    assert one["commutativity"]["value"] == 1
    assert one["negation_invariance"]["value"] == pytest.approx(10 / 12)
    assert one["preferred_first"]["why_code"] == "all_ties"


def test_people_are_audited_on_their_partial_graph_and_judges_beside_them(capsys: pytest.CaptureFixture[str]) -> None:
    study, built = build_four_systems()
    for (a, b), verdict in {("one", "two"): -1, ("two", "three"): -1, ("one", "three"): 1, ("one", "four"): 0}.items():
        rate(built[a, b], 0, "p", [verdict])
    rate(built["one", "two"], 0, "q", [1], a_is_left=[False])
    rate(built["one", "two"], 0, "r", [-1], a_is_left=[False])
    rate(built["one", "two"], 0, "s", [-1], a_is_left=[False])
    rate(built["one", "two"], 0, "t", [1], a_is_left=[False])
    let_judge(study, built, in_order())
    found = audited(study, capsys, people=True)
    people, judge = found["raters"]
    assert people["rater"] == "people"
    # Three of five votes are for one over two, in whichever order: one > two > three > one.
    # The one set of three that was compared is a cycle; the others say nothing.
    assert transitivity_of(found, 3, "people") == 0
    assert people["density"] == {"value": 0.5, "n": 6, "of": "pairs"}
    assert people["commutativity"] == people["commutativity"] | {"value": 0, "n": 1}
    # One over two and two over three agree with the majorities, three over one does not; one and four is a tie.
    assert judge["human_agreement"] == judge["human_agreement"] | {"value": pytest.approx(4 / 6), "n": 6, "excluded": 2}


def test_a_judge_asked_in_one_order_of_its_choice_has_the_whole_graph(capsys: pytest.CaptureFixture[str]) -> None:
    study, built = build_four_systems()
    let_judge(study, built, in_order() | {("one", "three"): "three"})
    Judgment.objects.for_question(0).filter(order="ab", pair__in=built["one", "three"].pairs[0]).delete()
    Judgment.objects.for_question(0).filter(order="ba").exclude(pair__in=built["one", "three"].pairs[0]).delete()
    found = audited(study, capsys)
    (one,) = found["raters"]
    assert transitivity_of(found, 3) == 0.75
    assert one["commutativity"]["excluded"] == 6
    (cycle,) = one["contradictions"]["cycles"]["listed"]
    assert [answer["preferred"] for answer in cycle["answers"]] == ["one", "two", "three"]


def test_repeats_that_contradict_count_by_their_majority_and_an_even_split_as_a_tie(
    capsys: pytest.CaptureFixture[str],
) -> None:
    study, built = build_four_systems()
    let_judge(study, built, in_order(), repeats=3)
    answers = Judgment.objects.for_question(0)
    outvoted = answers.filter(pair=built["one", "three"].pairs[0][0], order="ab", repeat=2)
    outvoted.update(verdict=1)  # as a majority it would make a cycle of one, two and three
    found = audited(study, capsys)
    (one,) = found["raters"]
    assert transitivity_of(found, 3) == one["commutativity"]["value"] == 1
    # Twelve presentations, asked three times each: of 36 answers one is not its majority's.
    assert one["self_agreement"]["value"] == pytest.approx(35 / 36)

    answers.filter(repeat=0).delete()
    found = audited(study, capsys)
    (split,) = found["raters"]
    assert transitivity_of(found, 3) == 1  # no preference between one and three is no edge
    assert split["commutativity"]["value"] == pytest.approx(5 / 6)  # a tie in one order, a preference in the other
    assert split["contradictions"]["order_effects"]["count"] == 1


def asked_about(first: Any, second: Any, verdict: Any) -> Presentations:
    """Return verdicts on pairs of texts of one instance, each shown once."""
    n, alone = len(first), np.zeros(1, dtype=np.int64)
    texts = int(max(np.max(first), np.max(second))) + 1
    return Presentations(
        generation=np.arange(texts),
        instance=np.zeros(texts, dtype=np.int64),
        instances=alone,
        dataset=alone,
        datasets=("news",),
        first=first,
        second=second,
        repeat=np.zeros(n, dtype=np.int64),
        negated=np.zeros(n, dtype=bool),
        verdict=verdict,
        probability=np.full(n, np.nan),
        target=np.full(n, np.nan),
        pooled=False,
        sided=np.ones(n, dtype=bool),
    )


def test_transitivity_of_three_counts_every_cycle_that_is_listed() -> None:
    """Among 60 texts there are 34,220 sets of three, more than are looked at for other numbers of texts."""
    n = 60
    chain = np.array([*combinations(range(n), 2)])
    verdict = np.full(len(chain), -1.0)
    verdict[chain.tolist().index([0, 2])] = 1  # 0 > 1 > 2 > 0
    asked = asked_about(chain[:, 0], chain[:, 1], verdict)
    assert len(cycles(preference_graphs(asked))) == 1
    found = audit(asked, IntervalSettings(), sizes=(3, 4))
    assert found["transitivity"]["3"]["value"] == 1 - 1 / comb(n, 3)


def test_a_coin_on_sparse_comparisons_looks_like_a_coin(capsys: pytest.CaptureFixture[str]) -> None:
    """A coin compares 15 % of the pairs of 40 texts; over all sets of three .99 have no cycle."""
    rng = np.random.default_rng(7)
    first, second = np.triu_indices(40, 1)
    compared = rng.random(len(first)) < 0.15
    n = int(compared.sum())
    asked = asked_about(first[compared], second[compared], np.where(rng.random(n) < 0.5, -1.0, 1.0))
    assert len(asked.generation) == 40
    ((_, prefers),) = preference_graphs(asked)
    assert transitivity(prefers, 3) > 0.99
    found = audit(asked, IntervalSettings(), sizes=(3,))
    assert found["density"]["value"] == n / len(first)
    assert 20 <= found["transitivity"]["3"]["n"] < 60
    assert found["transitivity"]["3"]["value"] == pytest.approx(0.75, abs=0.15)
    assert found["transitivity"]["3"]["coin"] == 0.75


def test_texts_that_nothing_compares_are_sets_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    study, built = build_four_systems()
    for (a, b), one in built.items():  # each system's second text meets the other systems' second texts only
        (instance,) = study.instances.all()
        texts = [
            Generation.objects.get_or_create(instance=instance, system=system, index=1, defaults={"text": "more"})[0]
            for system in (one.system_a, one.system_b)
        ]
        one.pairs[0].append(
            Pair.objects.create(matchup=one.matchups[0], index=1, generation_a=texts[0], generation_b=texts[1])
        )
        assert (a, b) == (texts[0].system.name, texts[1].system.name)
    let_judge(study, built, in_order() | {("one", "three"): "three"})
    found = audited(study, capsys)
    (one,) = found["raters"]
    # Each set of four has one cycle in its four sets of three. Of all 56 sets of three of the eight texts, two would be it.
    assert transitivity_of(found, 3) == 0.75
    assert one["contradictions"]["cycles"]["count"] == 2
    assert one["transitivity"]["5"]["n"] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"judge": ["nobody"]}, "no judge nobody has run"),
        ({}, "no judge has run on study tried; let one"),
        ({"most": 2, "format": "csv"}, "text and json list contradictions"),
        ({"seed": 1}, "--seed: these need --run"),
        ({"estimate": True, "judge": ["a"], "format": "csv"}, "text or json"),
        ({"sample": 2}, "--sample: these need --run"),
        ({"run": True}, "one judge: name it with --judge, got 0"),
        ({"run": True, "judge": ["a", "b"]}, "one judge: name it with --judge, got 2"),
    ],
)
def test_what_cannot_be_audited_is_said(options: dict[str, Any], message: str) -> None:
    study, _ = build_four_systems()
    with pytest.raises(CommandError, match=message):
        call_command("logic_audit", study.slug, **options)


def test_a_run_asks_what_the_audit_needs_and_shows_it(capsys: pytest.CaptureFixture[str]) -> None:
    study, _ = build_four_systems(instances=6)
    Judge.objects.create(name="guess", method="coin", order="random", seed=3)
    expected = audited(study, capsys, judge=["guess"], estimate=True, sample=3, repeats=2)
    assert (expected["judge"], expected["presentations"]) == ("guess-audit2", 3 * 6 * 2 * 2 * 2)
    assert not JudgeRun.objects.exists()
    (one,) = audited(study, capsys, judge=["guess"], run=True, sample=3, repeats=2)["raters"]
    assert one["rater"] == "judge:guess-audit2"
    assert (one["instances"], one["texts"], one["answers"]) == (3, 12, 144)
    assert one["self_agreement"]["n"] == 72
    assert one["negation_invariance"]["n"] == 36
    again = audited(study, capsys, judge=["guess"], run=True, sample=3, repeats=2, people=True)["raters"]
    assert [rater["rater"] for rater in again] == ["people", "judge:guess-audit2"]
    assert again[1] == one
    assert JudgeRun.objects.count() == 1


def test_an_audit_that_is_stopped_shows_what_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    study, _ = build_four_systems(instances=2)
    Judge.objects.create(name="guess", method="coin", order="random", seed=3)
    call_command("logic_audit", study.slug, judge=["guess"], run=True, repeats=1, limit=7)
    said = capsys.readouterr()
    assert "    answers: 7" in said.out.splitlines()
    assert "41 are open" in said.err
    (one,) = audited(study, capsys, judge=["guess-audit1"])["raters"]
    assert one["answers"] == 7


def test_a_system_called_tie_is_preferred_and_a_tie_is_none() -> None:
    study, built = build_four_systems()
    study.systems.filter(name="one").update(name="tie")
    study.systems.filter(name="two").update(name="other")
    judge(built["one", "two"], "judy", [(0, 0, "ab", -1), (0, 0, "ba", 0)])
    [rater] = audit_study(study, list(judges_audited(study, 0).values()), limit=5)["raters"]
    [listed] = rater["contradictions"]["order_effects"]["listed"]

    assert [(answer["preferred"], answer["is_tie"]) for answer in listed["answers"]] == [("tie", False), (None, True)]


def test_measures_as_csv(capsys: pytest.CaptureFixture[str]) -> None:
    study, built = build_four_systems()
    let_judge(study, built, in_order())
    call_command("logic_audit", study.slug, format="csv")
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {row["measure"] for row in rows} >= {"transitivity_3", "transitivity_8", "commutativity", "human_agreement"}
    assert {row["dataset"] for row in rows} == {"", "news"}
    assert [row["value"] for row in rows if row["measure"] == "commutativity" and not row["dataset"]] == ["1.0"]
