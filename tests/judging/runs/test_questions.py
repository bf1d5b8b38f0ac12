"""Runs that answer several questions of a study: cells, prompts, counts, costs, commands."""

import json
from collections import Counter
from io import StringIO
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from annotation.core.errors import SettingFixed
from annotation.core.tasks.stopping import StopFlag
from annotation.models import ComparisonTable, Study
from annotation.studies.services import save_settings
from judging.core.errors import BadSettings
from judging.models import Completion, JudgeRun, Judgment, TableMaking
from judging.outcomes.judgments import judgments
from judging.runs.cells import reparse_run
from judging.runs.estimates import estimate
from judging.runs.execution import execute
from judging.runs.figures import figures_of
from judging.runs.reopening import Reopened, retry_run
from judging.runs.services import run_again, start_run
from judging.tables.figures import table_figures
from tests.fakes import ScriptedClient
from tests.judging.builders import COHERENCE, judge_with, make_endpoint, make_judge, make_study, pairs_in, selection_of
from tests.judging.methods.procedures import asking
from tests.standin.process import StandInProcess

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
BREVITY = {**COHERENCE, "key": "brevity", "text": "Which summary is shorter?", "description": ""}
SENT = "Which summary hangs together better? (What is meant: Sentences follow from each other.\nIgnore spelling.)"


@pytest.fixture
def study() -> Study:
    return make_study(instances=2, k=1, criteria=[COHERENCE, BREVITY])


def cells(run: JudgeRun, *fields: str) -> list[tuple[Any, ...]]:
    return list(run.judgments.order_by("pk").values_list(*fields))


def asked_of(client: ScriptedClient) -> Counter[str]:
    """Count what was sent, by question."""
    sent = [str(body["messages"][0]["content"]) for body in client.bodies]
    known = {"coherence": SENT, "brevity": BREVITY["text"], "overall": "captures the main points"}
    return Counter(key for text in sent for key, words in known.items() if words in text)


def test_cells_are_those_of_each_question_in_the_same_order_of_the_texts() -> None:
    study = make_study(instances=20, k=1, criteria=[COHERENCE, BREVITY])
    judge = make_judge("coin", order="random", repeats=2, negated=True)
    run = start_run(study=study, judge=judge, questions=[2, 0])
    assert run.questions == [0, 2]
    found = cells(run, "pair", "repeat", "negated", "question")
    wanted = {
        (pair.pk, repeat, negated, question)
        for pair in pairs_in(study)
        for repeat in (0, 1)
        for negated in (False, True)
        for question in (0, 2)
    }
    assert (len(found), set(found)) == (160, wanted)
    orders: dict[int, set[str]] = {}
    for pair, order in cells(run, "pair", "order"):
        orders.setdefault(pair, set()).add(order)
    assert {len(one) for one in orders.values()} == {1}
    assert set().union(*orders.values()) == {"ab", "ba"}


def test_same_questions_are_the_same_run_and_others_another(study: Study) -> None:
    judge = make_judge("coin")
    run = start_run(study=study, judge=judge, questions=[1, 0])
    assert start_run(study=study, judge=judge, questions=[0, 1, 1]) == run
    assert run_again(run=run) == run
    assert start_run(study=study, judge=judge) != run
    assert [one.questions for one in JudgeRun.objects.order_by("pk")] == [[0, 1], [0]]


@pytest.mark.parametrize(
    ("questions", "reason"), [([], "at least one"), ([3], "asks 3 questions"), ([-1], "has no -1")]
)
def test_questions_that_the_study_does_not_ask_are_refused(study: Study, questions: list[int], reason: str) -> None:
    with pytest.raises(BadSettings, match=reason):
        start_run(study=study, judge=make_judge("coin"), questions=questions)
    assert not JudgeRun.objects.exists()


@pytest.mark.parametrize("criteria", [[], [BREVITY], [BREVITY, COHERENCE], [{**COHERENCE, "key": "flow"}, BREVITY]])
def test_a_question_with_judgments_keeps_its_key_and_its_place(study: Study, criteria: list[dict[str, Any]]) -> None:
    start_run(study=study, judge=make_judge("coin"), questions=[1])
    with pytest.raises(SettingFixed, match="there are answers to coherence, which keeps its key and place"):
        save_settings(study=study, criteria=criteria)
    kept = [{**COHERENCE, "text": "Which one flows better?"}, {**BREVITY, "key": "length"}]
    assert save_settings(study=study, criteria=kept).criteria == kept


def test_questions_without_answers_are_chosen_freely(study: Study) -> None:
    start_run(study=study, judge=make_judge("coin"))
    assert save_settings(study=study, criteria=[]).criteria == []


def test_each_question_is_a_call_of_its_own_and_parsed_again_with_its_words_and_version(study: Study) -> None:
    client, judge = ScriptedClient(), make_judge()
    judge_with(client, study, judge, questions=[0, 1, 2])
    assert asked_of(client) == {"overall": 2, "coherence": 2, "brevity": 2}
    run = JudgeRun.objects.get()
    versions = dict(cells(run, "question", "prompt_version"))
    assert versions[0] == "direct.v2+summarization.v1"
    assert versions[1].startswith("direct.v2+criterion.v1+question-")
    assert versions[1] != versions[2]
    run.judgments.update(parser_version="older", status="unparsed", verdict=None)
    assert reparse_run(run, asking("direct")) == 6
    assert set(cells(run, "status", "verdict")) == {("parsed", -1)}
    assert dict(cells(run, "question", "prompt_version")) == versions


def test_further_questions_change_nothing_that_is_sent_for_the_main_one(study: Study) -> None:
    plain, client = ScriptedClient(), ScriptedClient()
    judge = make_judge(repeats=2)
    judge_with(plain, make_study("other", instances=2, k=1), judge)
    keys = set(Completion.objects.values_list("cache_key", flat=True))
    judge_with(client, study, judge, questions=[0, 1, 2])
    assert asked_of(client) == {"coherence": 4, "brevity": 4}  # the main question's answers are in the cache
    main = study.judge_runs.get().judgments.for_question(0)
    assert set(main.values_list("completions__cache_key", flat=True)) == keys
    assert set(main.values_list("calls", "cached")) == {(1, 1)}


def test_random_choices_are_independent_of_those_for_the_main_question() -> None:
    study = make_study(instances=20, criteria=[COHERENCE])
    judge_with(ScriptedClient(), study, make_judge("coin"), questions=[0, 1])
    verdicts: dict[int, list[int]] = {}
    for pair, verdict in cells(JudgeRun.objects.get(), "pair", "verdict"):
        verdicts.setdefault(pair, []).append(verdict)
    assert {len(set(found)) for found in verdicts.values()} == {1, 2}


def test_answers_to_a_further_question_change_no_number_of_the_main_one(study: Study) -> None:
    judge = make_judge("longer", order="both")
    judge_with(ScriptedClient(), study, judge)
    selection, main = selection_of(study), JudgeRun.objects.get()
    before = judgments(selection, judge), figures_of(main)
    judge_with(ScriptedClient(), study, judge, questions=[0, 1])
    judge_with(ScriptedClient(), study, judge, questions=[1])
    Judgment.objects.for_question(1).update(verdict=0)
    found = judgments(selection, judge)
    assert (found.counts, figures_of(main)) == (before[0].counts, before[1])
    np.testing.assert_array_equal(found.rated.outcomes.verdict, before[0].rated.outcomes.verdict)
    assert judgments(selection, judge, question=1).rated.outcomes.verdict.tolist() == [0, 0]


def test_prompt_of_ones_own_must_hold_a_further_question(study: Study) -> None:
    from judging.models import PromptFile

    own = PromptFile.objects.create(name="own", text="$fence $source $first $second\n$letters", parser="letter")
    judge = make_judge(prompt_file=own)
    start_run(study=study, judge=judge)
    with pytest.raises(BadSettings, match=r"neither \$criterion nor \$question"):
        start_run(study=study, judge=judge, questions=[0, 1])
    with pytest.raises(BadSettings, match=r"neither \$criterion nor \$question"):
        estimate(study=study, judge=judge, questions=[1])


def test_estimate_counts_each_question_and_what_is_left_of_this_run(study: Study) -> None:
    judge = make_judge(order="both")
    assert estimate(study=study, judge=judge).calls == 4
    whole = estimate(study=study, judge=judge, questions=[0, 1, 2])
    assert (whole.presentations, whole.pending, whole.calls, whole.is_exact) == (12, 12, 12, True)
    judge_with(ScriptedClient(), study, judge, questions=[1])
    other = estimate(study=study, judge=judge, questions=[0, 1])
    assert (other.pending, other.calls, other.cached) == (8, 4, 4)
    assert estimate(study=study, judge=judge, questions=[1]).pending == 0


def test_estimate_leaves_out_the_cells_of_a_question_that_are_filled(study: Study) -> None:
    judge = make_judge()
    judge_with(ScriptedClient(), study, judge)
    run = start_run(study=study, judge=judge, questions=[0, 1])
    run.judgments.for_question(0).update(status="refused")
    left = estimate(study=study, judge=judge, questions=[0, 1])
    assert (left.pending, left.calls, left.cached) == (2, 2, 0)


def test_a_prepared_method_shares_no_call_between_questions(study: Study) -> None:
    judge = make_judge("prepair", endpoint=make_endpoint())
    found = estimate(study=study, judge=judge, questions=[0, 1])
    assert {kind.kind: kind.calls for kind in found.kinds} == {"critique": 8, "verdict": 4}


def test_unparsed_cells_are_reopened_while_their_question_has_the_same_words(study: Study) -> None:
    judge_with(ScriptedClient(), study, make_judge(), questions=[0, 1, 2])
    run = JudgeRun.objects.get()
    cut = run.judgments.filter(pair=pairs_in(study)[0])
    for one in cut:
        one.completions.clear()
    cut.update(status="unparsed", verdict=None)
    Study.objects.update(criteria=[COHERENCE, {**BREVITY, "text": "Which one has fewer words?"}])
    assert retry_run(run=JudgeRun.objects.get(), unparsed=True) == Reopened(unparsed=2)
    assert sorted(run.judgments.filter(status="pending").values_list("question", flat=True)) == [0, 1]


def test_tables_are_published_for_the_main_question_only(study: Study, standin: StandInProcess) -> None:
    judge = make_judge("sc2", endpoint=make_endpoint(standin.base_url), params={"samples": 2})
    run = start_run(study=study, judge=judge, questions=[0, 1], tables_as="c2")
    assert execute(run.pk, stop=StopFlag()).status == "done"
    shown = TableMaking.objects.exclude(table=None).values_list("judgment__question", flat=True)
    assert (list(shown), TableMaking.objects.count(), ComparisonTable.objects.count()) == ([0, 0], 4, 2)
    assert {one.made_by["prompt_version"] for one in ComparisonTable.objects.all()} == {
        "sc2-table.v2+sc2-comparator.v2+sc2.v2+summarization.v1"
    }
    found = table_figures(run)
    assert (found.pairs, found.tables, found.calls) == (2, 2, {"table": 4, "comparator": 2, "verdict": 2})
    TableMaking.objects.filter(judgment__question=1).delete()
    assert table_figures(run).marked == 0


def command(name: str, *options: str) -> str:
    out = StringIO()
    call_command(name, "tea", "--judge", "judy", *options, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_command_answers_the_named_questions(study: Study) -> None:
    make_judge("longer")
    assert command("run_judge").splitlines() == [
        "overall: asked 2 = a 2 + tie 0 + b 0 + unparsed 0 + refused 0 + errors 0",
        "cached 0, calls 0",
    ]
    told = command("run_judge", "--question", "brevity", "--question", "overall").splitlines()
    assert [line.partition(":")[0] for line in told[:-1]] == ["overall", "brevity"]
    command("run_judge", "--all-questions")
    assert [run.questions for run in JudgeRun.objects.order_by("pk")] == [[0], [0, 2], [0, 1, 2]]


def test_command_refuses_a_question_that_is_not_asked_and_names_those_that_are(study: Study) -> None:
    make_judge("longer")
    for name in ("run_judge", "estimate_run"):
        with pytest.raises(CommandError, match="asks no question length; it asks: overall, coherence, brevity"):
            command(name, "--question", "length")
    with pytest.raises(CommandError, match="not allowed with"):
        command("run_judge", "--question", "brevity", "--all-questions")
    assert not JudgeRun.objects.exists()


def test_status_counts_verdicts_question_by_question(study: Study) -> None:
    judge_with(ScriptedClient(), study, make_judge("longer"), questions=[0, 1])
    Judgment.objects.for_question(1).update(verdict=1)
    for told in (
        json.loads(command("run_status", "--format", "json")),
        status_of_all()["runs"][0],
        status_of_all()["procedures"][0],
    ):
        assert told["asked"] == told["parsed"] == 4
        assert "a" not in told
        assert [(one["question"], one["a"], one["b"]) for one in told["questions"]] == [
            ("overall", 2, 0),
            ("coherence", 0, 2),
        ]


def status_of_all() -> Any:
    out = StringIO()
    call_command("run_status", "tea", "--format", "json", stdout=out)
    return json.loads(out.getvalue())
