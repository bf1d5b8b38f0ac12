"""Judges' verdicts as arrays of the same shape as people's, and as rows for exports."""

import json
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from analysis.types import Verdict
from annotation.models import Pair, Study
from annotation.studies.outcomes import select
from judging.models import Judge, JudgeRun, Judgment
from judging.outcomes.judgment_rows import judgment_rows
from judging.outcomes.judgments import cells_of, judges_of, judgments, verdicts_by_pair
from tests.fakes import ScriptedClient
from tests.judging.builders import (
    COHERENCE,
    fill,
    judge_with,
    make_batch,
    make_judge,
    make_study,
    pairs_in,
    selection_of,
)

pytestmark = [pytest.mark.django_db, pytest.mark.engine]
A, TIE, B, NONE = Verdict.A, Verdict.TIE, Verdict.B, np.nan


def new_run(study: Study, judge: Judge, **settings: object) -> JudgeRun:
    return JudgeRun.objects.create(study=study, judge=judge, **settings)


def one_pair(**settings: Any) -> tuple[Study, JudgeRun, Pair]:
    """Make a study of one pair and a run of a judge with these settings."""
    study = make_study(instances=1, k=1)
    return study, new_run(study, make_judge("coin", **settings)), pairs_in(study)[0]


@pytest.mark.parametrize(
    ("ab", "ba", "verdict"),
    [
        pytest.param(A, A, A, id="agree"),
        pytest.param(A, B, TIE, id="disagree"),
        pytest.param(TIE, TIE, TIE, id="two ties"),
        pytest.param(A, TIE, TIE, id="a tie and a preference"),
        pytest.param(A, None, NONE, id="one is missing"),
        pytest.param(None, None, NONE, id="both are missing"),
    ],
)
@pytest.mark.any_engine
def test_both_orders_become_one_verdict(ab: int | None, ba: int | None, verdict: float) -> None:
    study, run, pair = one_pair(order="both")
    for order, found in (("ab", ab), ("ba", ba)):
        fill(run, pair, order, verdict=found, status="unparsed" if found is None else "parsed")
    judged = judgments(selection_of(study), run)
    np.testing.assert_array_equal(judged.rated.outcomes.verdict, [verdict])
    assert judged.counts["asked"] == 2
    assert judged.counts["unparsed"] == [ab, ba].count(None)


@pytest.mark.parametrize(
    ("ab", "ba", "verdict"),
    [
        pytest.param((A, 0.1), (B, 0.7), A, id="mean below a half"),
        pytest.param((A, 0.4), (B, 0.9), B, id="mean above a half, whatever the verdicts"),
        pytest.param((A, 0.25), (B, 0.75), TIE, id="exactly a half"),
        pytest.param((A, None), (A, 0.1), NONE, id="one probability is missing"),
        pytest.param((A, 0.1), (None, 0.2), NONE, id="one is unparsed"),
        pytest.param((A, 0.1), None, NONE, id="one order was not asked"),
    ],
)
@pytest.mark.any_engine
def test_probabilities_of_both_orders_are_averaged_on_request(
    ab: tuple[int | None, float | None], ba: tuple[int | None, float | None] | None, verdict: float
) -> None:
    study, run, pair = one_pair(order="both", combine="probability")
    for order, found in (("ab", ab), ("ba", ba)):
        if found is not None:
            made = fill(run, pair, order, verdict=found[0], status="unparsed" if found[0] is None else "parsed")
            made.p_b = found[1]
            made.save()
    np.testing.assert_array_equal(judgments(selection_of(study), run).rated.outcomes.verdict, [verdict])
    stored = verdicts_by_pair(study, run.judge)[pair.pk]
    assert stored == (None if np.isnan(verdict) else verdict)


def test_repeats_and_negated_questions_are_no_part_of_findings() -> None:
    study, run, pair = one_pair(repeats=3, negated=True)
    fill(run, pair, "ab", verdict=A)
    for repeat, negated in ((1, False), (2, False), (0, True)):
        Judgment.objects.create(
            run=run, pair=pair, order="ab", repeat=repeat, negated=negated, status="parsed", verdict=B
        )
    assert judgments(selection_of(study), run).rated.outcomes.verdict.tolist() == [A]
    assert judgments(selection_of(study), run).counts["asked"] == 1
    assert verdicts_by_pair(study, run.judge) == {pair.pk: A}
    asked = sorted((row["repeat"], row["negated"], row["verdict"]) for row in judgment_rows(study))
    assert asked == [(0, False, A), (0, True, B), (1, False, B), (2, False, B)]


def test_each_question_has_verdicts_of_its_own() -> None:
    study = make_study(instances=1, k=1, criteria=[COHERENCE])
    judge = make_judge("coin", order="both")
    main, further = new_run(study, judge), new_run(study, judge, questions=[1])
    [pair] = pairs_in(study)
    for order in ("ab", "ba"):
        fill(main, pair, order, verdict=A)
        fill(further, pair, order, verdict=B, question=1)
    selection = selection_of(study)
    for question, verdict in enumerate((A, B)):
        assert judgments(selection, judge, question=question).rated.outcomes.verdict.tolist() == [verdict]
        assert judgments(selection, judge, question=question).shown.outcomes.verdict.tolist() == [verdict, verdict]
        assert verdicts_by_pair(study, judge, question=question) == {pair.pk: verdict}
    assert (judges_of(study), judges_of(study, question=1), judges_of(study, question=2)) == ([main], [further], [])
    assert cells_of(further).verdict.tolist() == []
    assert cells_of(further, question=1).verdict.tolist() == [B, B]
    assert judgments(selection, judge).rated.outcomes.verdict.tolist() == [A]  # by default the main question


def test_verdicts_by_pair_are_of_one_data_set_on_request_and_lack_what_was_not_asked() -> None:
    study = make_study(instances=2, k=1)
    run = new_run(study, make_judge("coin"))
    first, second = pairs_in(study)
    study.instances.filter(instance_id="i1").update(dataset="other")
    fill(run, first, "ab", verdict=A)
    fill(run, second, "ab", status="refused")
    assert verdicts_by_pair(study, run.judge) == {first.pk: A, second.pk: None}
    assert verdicts_by_pair(study, run.judge, dataset="other") == {second.pk: None}
    Judgment.objects.filter(pair=second).update(status="pending")
    assert verdicts_by_pair(study, run.judge) == {first.pk: A}


def test_cells_of_a_run_hold_what_its_figures_are_made_of() -> None:
    study = make_study(instances=2, k=1)
    run = new_run(study, make_judge("coin", order="both"))
    first, second = pairs_in(study)
    fill(run, first, "ba", verdict=A)
    fill(run, second, "ab", status="error")
    fill(run, second, "ba", status="pending")
    cells = cells_of(run)
    by_pair = np.argsort(cells.pair)  # they come in the database's order
    assert cells.pair[by_pair].tolist() == [first.pk, second.pk]
    assert cells.instance[by_pair].tolist() == [first.matchup.instance_id, second.matchup.instance_id]
    assert cells.first_is_a[by_pair].tolist() == [False, True]
    np.testing.assert_array_equal(cells.verdict[by_pair], [A, NONE])
    assert cells.length_a[by_pair].tolist() == [len(pair.generation_a.text) for pair in (first, second)]
    assert cells.length_b[by_pair].tolist() == [len(pair.generation_b.text) for pair in (first, second)]


@pytest.mark.any_engine
def test_half_finished_pair_has_no_verdict() -> None:
    study, run, pair = one_pair(order="both")
    fill(run, pair, "ab", verdict=A)
    assert np.isnan(judgments(selection_of(study), run).rated.outcomes.verdict).all()


def test_rows_are_in_the_selections_order_with_what_was_shown_first() -> None:
    study = make_study(instances=2, k=2)
    run = new_run(study, make_judge("coin", order="random"))
    pairs = pairs_in(study)
    answers = [("ba", B, "parsed"), ("ab", None, "refused"), ("ba", TIE, "parsed"), ("ab", A, "parsed")]
    for pair, (order, verdict, status) in reversed(list(zip(pairs, answers, strict=True))):
        fill(run, pair, order, verdict=verdict, status=status)
    rated = judgments(selection_of(study), run).rated
    assert rated.raters == ("judge:judy",)
    assert rated.outcomes.instance.tolist() == [0, 0, 1, 1]
    assert rated.outcomes.pair.tolist() == [0, 1, 0, 1]
    np.testing.assert_array_equal(rated.outcomes.verdict, [B, NONE, TIE, A])
    assert rated.first_is_a.tolist() == [False, True, False, True]


@pytest.mark.any_engine
def test_pending_is_not_asked() -> None:
    study = make_study(instances=1, k=2)
    run = new_run(study, make_judge("coin"))
    first, second = pairs_in(study)
    fill(run, first, "ab", status="pending")
    fill(run, second, "ab", status="error")
    counts = judgments(selection_of(study), run).counts
    assert {name: number for name, number in counts.items() if number} == {"asked": 1, "errors": 1, "pending": 1}
    assert len(judgments(selection_of(study), run).shown.outcomes) == 1


@pytest.mark.any_engine
def test_pairs_outside_the_selection_are_left_out() -> None:
    study = make_study(instances=2, k=2)
    pairs = pairs_in(study)
    run = new_run(study, make_judge("coin"))
    for pair in pairs:
        fill(run, pair, "ab", verdict=A)
    batch = make_batch(study, [pairs[0], pairs[2]])
    selection = select(selection_of(study).configuration, [batch])
    judged = judgments(selection, run)
    assert judged.rated.outcomes.pair.tolist() == [0, 0]
    assert judged.counts["asked"] == 2


def test_several_runs_of_a_judge_are_one_rater_and_the_latest_counts() -> None:
    study = make_study(instances=1, k=2)
    first, second = pairs_in(study)
    judge = make_judge("coin")
    older = new_run(study, judge, batch=make_batch(study, [first, second], "one"))
    newer = new_run(study, judge, batch=make_batch(study, [first], "two"))
    fill(older, first, "ab", verdict=A)
    fill(older, second, "ab", verdict=B)
    fill(newer, first, "ab", verdict=TIE)
    assert judges_of(study) == [newer]
    for entry in (newer, older, judge):
        assert judgments(selection_of(study), entry).rated.outcomes.verdict.tolist() == [TIE, B]


@pytest.mark.any_engine
def test_open_cell_of_a_later_run_does_not_hide_a_verdict() -> None:
    study = make_study(instances=1, k=1)
    [pair] = pairs_in(study)
    judge = make_judge("coin")
    fill(new_run(study, judge), pair, "ab", verdict=A)
    fill(new_run(study, judge, batch=make_batch(study, [pair])), pair, "ab", status="pending")
    assert judgments(selection_of(study), judge).rated.outcomes.verdict.tolist() == [A]


def test_judges_are_those_that_ran_on_the_batches_or_on_all() -> None:
    study = make_study(instances=1, k=1)
    pairs = pairs_in(study)
    one, two = make_batch(study, pairs, "one"), make_batch(study, pairs, "two")
    everywhere = new_run(study, make_judge("coin", name="everywhere"))
    on_one = new_run(study, make_judge("longer", name="on-one"), batch=one)
    assert judges_of(study) == judges_of(study, [one]) == [everywhere, on_one]
    assert judges_of(study, [two]) == [everywhere]


@pytest.mark.any_engine
def test_exported_row_says_all_that_is_known() -> None:
    study, judge = make_study(instances=1, k=1), make_judge(order="ba", params={"temperature": 0.5})
    judge_with(ScriptedClient(["Hm.", "Comparison: shorter.\nPreferred: A"]), study, judge)
    [row] = judgment_rows(study)
    keys = row.pop("completion_keys")
    assert len(keys) == len(set(keys)) == 2
    expected = {
        "study": "tea",
        "batch": None,
        "hit": None,
        "instance_id": "i0",
        "dataset": "talk",
        "pair_index": 0,
        "system_a": "heron",
        "system_b": "wren",
        "generation_a_index": 0,
        "rater": "judge:judy",
        "rater_kind": "judge",
        "stage": "first",
        "rating": 1,
        "shown_first": "b",
        "judge": "judy",
        "method": "direct",
        "model": "small",
        "params": {"temperature": 0.5},
        "prompt_version": "direct.v2+summarization.v1",
        "order": "ba",
        "repeat": 0,
        "negated": False,
        "status": "parsed",
        "verdict": 1,
        "p_b": None,
        "rationale": "shorter.",
        "calls": 2,
        "prompt_tokens": 22,
        "completion_tokens": 14,
        "cost": None,
    }
    assert {name: row[name] for name in expected} == expected


def test_exported_row_has_probability_scores_and_what_was_paid_for_it() -> None:
    study = make_study(instances=1, k=1)
    made = fill(new_run(study, make_judge()), pairs_in(study)[0], "ab", verdict=A)
    made.p_b, made.score_a, made.score_b, made.cost = 0.25, 4.5, 3.0, Decimal("0.00012345")
    made.prompt_tokens, made.completion_tokens = 40, 6
    made.save()
    [row] = judgment_rows(study)
    assert (row["p_b"], row["score_a"], row["score_b"], row["cost"]) == (0.25, 4.5, 3.0, 0.00012345)
    assert json.loads(json.dumps(row))["cost"] == 0.00012345
    # Read from a file: no answers behind it, so what it says of itself.
    assert (row["prompt_tokens"], row["completion_tokens"], row["latency_ms"]) == (40, 6, None)


def test_export_leaves_out_what_was_not_asked_and_keeps_its_order() -> None:
    study = make_study(instances=2, k=2)
    run = new_run(study, make_judge("coin", order="both"))
    pairs = pairs_in(study)
    for pair in reversed(pairs):
        fill(run, pair, "ba", status="error")
        fill(run, pair, "ab", verdict=A)
    fill(new_run(study, make_judge("longer", name="later")), pairs[0], "ab", status="pending")
    rows = [(row["instance_id"], row["pair_index"], row["order"]) for row in judgment_rows(study)]
    assert rows == sorted(rows)
    assert len(rows) == 8
