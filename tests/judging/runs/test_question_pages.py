"""The judges' pages of a study that asks several questions, and that one question alone is never named."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Study
from judging.models import JudgeRun, Judgment
from tests.fakes import ScriptedClient
from tests.judging.builders import COHERENCE, judge_with, make_judge, make_study, pairs_in

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def store() -> Study:
    return make_study(instances=2, k=1, criteria=[COHERENCE])


def run_on(study: Study, questions: list[int], **settings: Any) -> JudgeRun:
    """Let a judge that prefers the longer text run; of coherence it then says the opposite."""
    judge = make_judge("longer", **settings)
    judge_with(ScriptedClient(), study, judge, questions=questions)
    run = judge.runs.latest("pk")
    run.judgments.for_question(1).update(verdict=1)
    return run


def page(researcher: Client, name: str, *args: object, **query: str) -> str:
    answer = researcher.get(reverse(f"judging:{name}", args=["tea", *args]), query)
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", answer.content.decode())


def numbers(text: str, name: str) -> list[int]:
    """Return the counts of an outcome on a run's page, row by row."""
    return [int(number) for number in re.findall(rf'data-count="{name}"[^>]*><a [^>]*>(\d+)<', text)]


def test_form_offers_the_questions_and_starts_a_run_with_them(
    researcher: Client, django_capture_on_commit_callbacks: Any
) -> None:
    make_judge("coin")
    text = page(researcher, "judges")
    boxes = re.findall(r'<input type="checkbox" name="questions" value="(\w+)"[^>]*?(checked)?>', text)
    assert boxes == [("overall", "checked"), ("coherence", "")]
    data = {"judge": "judy", "in_flight": 4, "questions": ["coherence"]}
    with django_capture_on_commit_callbacks(execute=True):
        assert researcher.post(reverse("judging:start", args=["tea"]), data).status_code == 302
    run = JudgeRun.objects.get()
    assert (run.questions, run.judgments.for_question(1).count()) == ([1], 2)
    assert run.judgments.count() == 2


@pytest.mark.parametrize(("name", "questions"), [("start", []), ("estimate", ["length"])])
def test_form_without_a_known_question_is_shown_again(researcher: Client, name: str, questions: list[str]) -> None:
    make_judge("coin")
    data = {"judge": "judy", "in_flight": 4, "questions": questions}
    assert researcher.post(reverse(f"judging:{name}", args=["tea"]), data).status_code == 422
    assert not JudgeRun.objects.exists()


def test_one_question_alone_is_not_named(researcher: Client, study: Study) -> None:
    Study.objects.update(criteria=[])
    run = run_on(study, [0])
    judgment = run.judgments.for_question(0).earliest("pk")
    texts = [
        *(page(researcher, "judges"), page(researcher, "run", run.pk), page(researcher, "judgments", run.pk)),
        *(page(researcher, "judgment", judgment.pk), page(researcher, "compare")),
    ]
    assert not [text for text in texts if "overall" in text or 'name="question' in text]


def test_runs_and_a_run_show_counts_and_figures_of_each_question(researcher: Client, study: Study) -> None:
    run = run_on(study, [0, 1])
    text = page(researcher, "judges")
    rows = re.findall(r"Question (\w+)</small></td>.*?data-label=\"A\">(\d+)</td>.*?data-label=\"B\">(\d+)</td>", text)
    assert rows == [("overall", "2", "0"), ("coherence", "0", "2")]
    text = page(researcher, "run", run.pk)
    assert (numbers(text, "a"), numbers(text, "b"), numbers(text, "asked")) == ([2, 0], [0, 2], [2, 2])
    assert "4 of 4 presentations asked" in text
    assert "questions overall, coherence;" in text
    assert "outcome=b&amp;question=coherence" in text
    figures = re.findall(r"Longer text preferred</dt> <dd> <strong>([\d.]+)", text)
    assert figures == ["100.0", "0.0"]
    assert len(set(re.findall(r' id="([^"]+)"', text))) == len(re.findall(r' id="([^"]+)"', text))


def test_run_of_a_further_question_shows_its_own(researcher: Client, study: Study) -> None:
    run = run_on(study, [1])
    text = page(researcher, "run", run.pk)
    assert (numbers(text, "a"), numbers(text, "b")) == ([0], [2])
    assert re.findall(r"Longer text preferred</dt> <dd> <strong>([\d.]+)", text) == ["0.0"]
    assert "second=@people&amp;question=coherence" in text


def test_judgments_are_listed_with_their_question_and_by_it(researcher: Client, study: Study) -> None:
    run = run_on(study, [0, 1])
    asked = r'data-label="Question">(\w+), plain'
    assert re.findall(asked, page(researcher, "judgments", run.pk)) == ["overall", "coherence"] * 2
    assert re.findall(asked, page(researcher, "judgments", run.pk, question="coherence")) == ["coherence"] * 2
    assert len(re.findall(asked, page(researcher, "judgments", run.pk, question="length"))) == 4


def test_judgment_stands_beside_those_of_its_question(researcher: Client, study: Study) -> None:
    run = run_on(study, [0, 1], order="both")
    judgment = run.judgments.for_question(1).earliest("pk")
    [beside] = run.judgments.for_question(1).filter(pair=judgment.pair).exclude(pk=judgment.pk)
    text = page(researcher, "judgment", judgment.pk)
    assert f"Question: {COHERENCE['text']}" in text
    linked = {int(pk) for pk in re.findall(r"/judgments/(\d+)/", text)}
    assert linked - {judgment.pk} == {beside.pk}


def test_two_raters_are_compared_on_one_question(researcher: Client, study: Study) -> None:
    run_on(study, [0, 1])
    other = run_on(study, [0, 1], name="jo")
    Judgment.objects.for_question(1).filter(run=other, pair=pairs_in(study)[0]).update(verdict=-1)
    chosen = {"first": "judy", "second": "jo"}
    assert "0 disagreements on 2 pairs with a verdict of both, of 2" in page(researcher, "compare", **chosen)
    text = page(researcher, "compare", **chosen, question="coherence")
    assert "1 disagreement on 2 pairs with a verdict of both, of 2" in text
    assert '<option value="coherence" selected>' in text
    refused = researcher.get(reverse("judging:compare", args=["tea"]), {**chosen, "question": "length"})
    assert refused.status_code == 422
