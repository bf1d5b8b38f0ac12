"""Judges that are asked all questions of a run in one call: charged once, each verdict stored under its question."""

import json
from decimal import Decimal
from typing import Any

import pytest

from annotation.models import Study
from judging.core.errors import BadSettings
from judging.jobs import leases
from judging.methods import find_method
from judging.models import Completion, JudgeRun, Judgment
from judging.review.replaying import replay
from judging.runs.cells import claim, load, reparse_run
from judging.runs.estimates import estimate
from judging.runs.judges import add_judge
from judging.runs.services import start_run
from tests.fakes import ScriptedClient, chat_completion
from tests.judging.builders import COHERENCE, judge_with, make_endpoint, make_judge, make_study

pytestmark = [pytest.mark.django_db, pytest.mark.engine, pytest.mark.slow]
BREVITY = {**COHERENCE, "key": "brevity", "text": "Which summary is shorter?", "description": ""}
ALL = (0, 1, 2)
FULL = "Comparison: Each has its merits.\nQuestion 1: A\nQuestion 2: B\nQuestion 3: A"
TOGETHER: dict[str, Any] = {"together": True}


@pytest.fixture
def study() -> Study:
    return make_study(instances=1, k=1, criteria=[COHERENCE, BREVITY])


def outcomes() -> list[tuple[Any, ...]]:
    fields = ("question", "status", "verdict", "calls", "cached")
    return list(Judgment.objects.order_by("question").values_list(*fields))


def test_one_call_asks_all_and_each_verdict_is_stored_under_its_question(study: Study) -> None:
    prices = {"price_prompt": 1000, "price_completion": 0}
    judge, client = make_judge(params=TOGETHER, endpoint=make_endpoint(**prices)), ScriptedClient(then=FULL)
    expected = estimate(study=study, judge=judge, questions=ALL)
    assert judge_with(client, study, judge, questions=ALL).status == "done"
    [body] = client.bodies
    sent = body["messages"][0]["content"]
    for words in (
        "1. Decide which one captures the main points of the text better.",
        f"2. Answer this question about them: {COHERENCE['text']} (What is meant: {COHERENCE['description']})",
        "3. Answer this question about them: Which summary is shorter?",
        "Question 1: <A or B>\nQuestion 2: <A or B>\nQuestion 3: <A or B>",
    ):
        assert words in sent
    assert outcomes() == [(0, "parsed", -1, 1, 0), (1, "parsed", 1, 1, 1), (2, "parsed", -1, 1, 1)]
    made = list(Judgment.objects.order_by("question"))
    assert [one.cost for one in made] == [Decimal("0.011"), 0, 0]
    assert {one.rationale for one in made} == {"Each has its merits."}
    [version] = {one.prompt_version for one in made}
    assert version.startswith("direct-together.v1+summarization.v1+criterion.v1+question-")
    assert (expected.calls, expected.pending) == (1, 3)
    assert [replay(one).steps[0].status for one in made] == ["read"] * 3
    Judgment.objects.update(parser_version="older", verdict=None, status="unparsed")
    assert reparse_run(made[0].run, find_method("direct")) == 3  # type: ignore[arg-type]
    assert [row[:3] for row in outcomes()] == [(0, "parsed", -1), (1, "parsed", 1), (2, "parsed", -1)]
    assert Completion.objects.count() == 1


@pytest.mark.parametrize(
    ("answer", "verdicts"),
    [
        pytest.param("Question 1: A\nQuestion 3: B", [-1, None, 1], id="one is missing"),
        pytest.param("Question 1: A or B\nQuestion 2: B", [None, 1, None], id="one is doubtful"),
        pytest.param("Question 1: C\nQuestion 2: B\nQuestion 3: B", [None, 1, 1], id="a tie that is not on offer"),
        pytest.param("Question 1: A\nQuestion 2: A\nA", [-1, -1, None], id="a letter without a question"),
        pytest.param("Question 1: B\nQuestion 2: B\nQuestion 1: A", [-1, 1, None], id="the last line counts"),
        pytest.param("**Question 2:** B\n[[A]]", [None, 1, None], id="a mark without a question"),
        pytest.param(
            chat_completion("Question 1: A\nQuestion 2: A", finish_reason="length"),
            [-1, None, None],
            id="the last is cut off",
        ),
    ],
)
@pytest.mark.any_engine
def test_what_can_be_read_is_stored_and_the_others_are_unparsed(
    study: Study, answer: str | dict[str, Any], verdicts: list[int | None]
) -> None:
    client = ScriptedClient(then=answer)
    judge_with(client, study, make_judge(params=TOGETHER), questions=ALL)
    assert [row[2] for row in outcomes()] == verdicts
    assert [row[1] for row in outcomes()] == ["unparsed" if one is None else "parsed" for one in verdicts]
    assert len(client.bodies) == 1  # asking again would pay for the others again
    failure = Judgment.objects.filter(status="unparsed")[0].failure
    assert failure.code == "no_verdict_on_question"


@pytest.mark.any_engine
def test_answer_without_any_verdict_is_asked_again_once_for_all(study: Study) -> None:
    client = ScriptedClient(["Both are fine.", FULL])
    judge_with(client, study, make_judge(params=TOGETHER), questions=ALL)
    assert len(client.bodies) == 2
    assert [row[1] for row in outcomes()] == ["parsed"] * 3


@pytest.mark.any_engine
def test_negated_question_is_another_call_in_which_the_letter_names_the_worse_text(study: Study) -> None:
    client = ScriptedClient(then=FULL)
    judge_with(client, study, make_judge(params=TOGETHER, negated=True), questions=ALL)
    assert len(client.bodies) == 2
    found = Judgment.objects.order_by("negated", "question").values_list("verdict", flat=True)
    assert list(found) == [-1, 1, -1, 1, -1, 1]


@pytest.mark.any_engine
def test_schema_has_a_verdict_for_each_question(study: Study) -> None:
    said = {"comparison": "They differ.", "question_1": "A", "question_2": "B", "question_3": "neither"}
    client = ScriptedClient(then=json.dumps(said))
    judge_with(client, study, make_judge(params={**TOGETHER, "verdict_schema": True}), questions=ALL)
    [body] = client.bodies
    schema = body["response_format"]["json_schema"]["schema"]
    assert list(schema["properties"]) == ["comparison", "question_1", "question_2", "question_3"]
    assert [row[2] for row in outcomes()] == [-1, 1, None]


@pytest.mark.any_engine
def test_a_single_question_is_asked_as_usual(study: Study) -> None:
    client, plain = ScriptedClient(), ScriptedClient()
    judge_with(client, study, make_judge(params=TOGETHER))
    judge = make_judge(name="plain", endpoint=JudgeRun.objects.get().judge.endpoint)
    judge_with(plain, study, judge)
    assert (len(client.bodies), len(plain.bodies)) == (1, 0)  # it is the same call


def test_questions_of_a_call_go_to_one_worker() -> None:
    study = make_study(instances=20, k=1, criteria=[COHERENCE, BREVITY])
    run = start_run(study=study, judge=make_judge(params=TOGETHER), questions=ALL)
    _, worker = leases.join(run.pk)
    assert worker is not None
    asked = [cell.shown.place for cell in load(run, claim(run, worker, limit=6))]
    assert asked == [0, 1, 2, 0, 1, 2]


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        pytest.param({"logprobs": True}, "have no probabilities", id="log-probabilities"),
        pytest.param({"tie_below": 0.2}, "have no probabilities", id="threshold"),
    ],
)
@pytest.mark.any_engine
def test_what_several_questions_can_not_have_is_refused(params: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadSettings, match=reason):
        add_judge(name="all", method="direct", endpoint=make_endpoint(), params={**TOGETHER, **params})
