"""Judges' verdicts as arrays of the same shape as people's, and as rows for exports."""

import numpy as np
import pytest

from analysis.types import Verdict
from annotation.models import Study
from annotation.tables import select
from judging.models import Judge, JudgeRun
from judging.tables import judges_of, judgment_rows, judgments, presentations, status_counts
from tests.fakes import ScriptedClient
from tests.judging.builders import (
    fill,
    judge_with,
    make_batch,
    make_judge,
    make_study,
    pairs_in,
    selection_of,
)

pytestmark = pytest.mark.django_db
A, TIE, B, NONE = Verdict.A, Verdict.TIE, Verdict.B, np.nan


def new_run(study: Study, judge: Judge, **settings: object) -> JudgeRun:
    return JudgeRun.objects.create(study=study, judge=judge, **settings)


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
def test_both_orders_become_one_verdict(ab: int | None, ba: int | None, verdict: float) -> None:
    study = make_study(instances=1, k=1)
    run = new_run(study, make_judge("coin", order="both"))
    [pair] = pairs_in(study)
    for order, found in (("ab", ab), ("ba", ba)):
        fill(run, pair, order, verdict=found, status="unparsed" if found is None else "parsed")
    judged = judgments(selection_of(study), run)
    np.testing.assert_array_equal(judged.rated.outcomes.verdict, [verdict])
    assert judged.counts["asked"] == 2
    assert judged.counts["unparsed"] == [ab, ba].count(None)


def test_half_finished_pair_has_no_verdict() -> None:
    study = make_study(instances=1, k=1)
    run = new_run(study, make_judge("coin", order="both"))
    fill(run, pairs_in(study)[0], "ab", verdict=A)
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


def test_every_presentation_counts_for_what_was_shown_first() -> None:
    study = make_study(instances=1, k=1)
    run = new_run(study, make_judge("coin", order="both"))
    [pair] = pairs_in(study)
    fill(run, pair, "ab", verdict=A)
    fill(run, pair, "ba", verdict=B)
    found = presentations(selection_of(study), run)
    assert found.outcomes.verdict.tolist() == [A, B]
    assert found.first_is_a.tolist() == [True, False]


def test_pending_is_not_asked() -> None:
    study = make_study(instances=1, k=2)
    run = new_run(study, make_judge("coin"))
    first, second = pairs_in(study)
    fill(run, first, "ab", status="pending")
    fill(run, second, "ab", status="error")
    assert status_counts(selection_of(study), run) == {
        "asked": 1,
        "parsed": 0,
        "unparsed": 0,
        "refused": 0,
        "errors": 1,
        "pending": 1,
    }
    assert len(presentations(selection_of(study), run).outcomes) == 1


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
        "prompt_version": "direct.summarization.v1",
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
