"""The pages of a judge's run with read, unread and declined answers: what they show, and when they are polled."""

import itertools
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import Study
from judging.endpoints.chat_answers import ChatAnswer
from judging.models import Judge, JudgeRun, Judgment
from judging.runs import views
from judging.runs.services import start_run
from tests.fakes import Body, ScriptedClient
from tests.judging.builders import fill, judge_with, make_endpoint, make_judge, make_study, pairs_in

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
POLLED = "hx-trigger"
PUBLIC = "93.184.216.34"


class Picky(ScriptedClient):
    """Says nothing that can be read of the first pair, declines the second one, and likes what it sees first."""

    async def complete(self, body: Body) -> ChatAnswer:
        asked = str(body["messages"])
        if "Heron 0 on talk 0" in asked:
            self.then = "<b>Hm</b>"
        elif "Heron 1 on talk 0" in asked:
            self.then = "I'm sorry, I can't."
        else:
            self.then = "Comparison: <i>nice</i>.\nPreferred: A"
        return await super().complete(body)


def store() -> JudgeRun:
    study = make_study()
    # Parameters may have any name, also of what templates look up.
    judge = make_judge(endpoint=make_endpoint(f"https://{PUBLIC}/v1"), params={"items": "x", "keys": 1})
    judge_with(Picky(), study, judge, in_flight=1)
    return JudgeRun.objects.get()


@pytest.fixture
def run(stored: JudgeRun) -> JudgeRun:
    return JudgeRun.objects.get(pk=stored.pk)


@pytest.fixture
def study(run: JudgeRun) -> Study:
    return run.study


def pages(run: JudgeRun) -> list[str]:
    judgment = run.judgments.earliest("pk")
    return [
        reverse("judging:judges", args=["tea"]),
        reverse("judging:run", args=["tea", run.pk]),
        reverse("judging:judgment", args=["tea", judgment.pk]),
        reverse("judging:judgments", args=["tea", run.pk]),
        reverse("judging:compare", args=["tea"]) + f"?first={run.judge.name}&second=@people",
    ]


def text_of(client: Client, address: str, **more: Any) -> str:
    answer = client.get(address, **more)
    assert answer.status_code == 200, address
    return answer.content.decode()


def test_run_page_shows_counts_that_add_up_and_escapes_what_models_wrote(researcher: Client, run: JudgeRun) -> None:
    page = text_of(researcher, pages(run)[1])
    for name, count in {"asked": 6, "a": 4, "tie": 0, "b": 0, "unparsed": 1, "refused": 1, "errors": 0}.items():
        assert f'data-count="{name}"' in page
        assert f">{count}</a></td>" in page[page.index(f'data-count="{name}"') :][:120]
    assert "A 4 + tie 0 + B 0 + unparsed 1 + refused 1 + errors 0 = 6 asked" in page
    assert "&lt;b&gt;Hm&lt;/b&gt;" in page
    assert "<b>Hm</b>" not in page
    assert "100.0%" in page  # the first shown text won every time
    assert POLLED not in page  # nothing moves any more


@pytest.mark.parametrize("status", ["queued", "running"])
def test_moving_run_is_polled_and_the_partial_is_the_progress_alone(
    researcher: Client, run: JudgeRun, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "perf_counter", lambda: 0.0)
    JudgeRun.objects.update(status=status)
    page = pages(run)[1]
    assert 'hx-trigger="every 2s, wake"' in text_of(researcher, page)
    partial = text_of(researcher, page, headers={"HX-Request": "true"})
    assert partial.lstrip().startswith("<section")
    assert "<progress" in partial
    assert "<html" not in partial


def test_a_page_that_was_polled_is_loaded_again_when_its_run_has_ended(researcher: Client, run: JudgeRun) -> None:
    """Place and length, which are not polled, were computed before there were verdicts."""
    JudgeRun.objects.update(status="running")
    assert "HX-Refresh" not in researcher.get(pages(run)[1], headers={"HX-Request": "true"}).headers
    JudgeRun.objects.update(status="done")
    assert researcher.get(pages(run)[1], headers={"HX-Request": "true"}).headers["HX-Refresh"] == "true"


@pytest.mark.parametrize(("seconds", "every"), [(0.05, 2), (0.5, 10), (60.0, 300)])
def test_run_that_takes_long_to_count_is_polled_less_often(
    researcher: Client, run: JudgeRun, monkeypatch: pytest.MonkeyPatch, seconds: float, every: int
) -> None:
    monkeypatch.setattr(views, "perf_counter", itertools.count(0.0, seconds).__next__)
    JudgeRun.objects.update(status="running")
    assert f'hx-trigger="every {every}s, wake"' in text_of(researcher, pages(run)[1])


def test_failed_run_says_why_and_offers_to_resume(researcher: Client, run: JudgeRun) -> None:
    JudgeRun.objects.update(status="failed", message="HTTP 401: <who> are you")
    page = text_of(researcher, pages(run)[1])
    assert "HTTP 401: &lt;who&gt; are you" in page
    assert 'value="resume"' in page
    assert "Run again" not in page
    JudgeRun.objects.update(status="done")
    page = text_of(researcher, pages(run)[1])
    assert "Run again" in page
    assert 'value="resume"' not in page


def test_judgment_page_shows_what_was_sent_and_how_it_was_read(researcher: Client, run: JudgeRun) -> None:
    page = text_of(researcher, pages(run)[2])
    assert "What was said in talk 0." in page
    assert page.count('data-read="unparsed"') == 3
    assert [f"Attempt {number}." in page for number in (2, 3)] == [True, True]
    assert "&lt;b&gt;Hm&lt;/b&gt;" in page
    assert "Tokens in: 11" in page
    assert "Ended by: stop." in page
    read = run.judgments.filter(status="parsed").earliest("pk")
    page = text_of(researcher, reverse("judging:judgment", args=["tea", read.pk]))
    assert '<strong data-read="read">first</strong>' in page
    assert "A (heron) is preferred" in page
    assert "&lt;i&gt;nice&lt;/i&gt;" in page
    refused = run.judgments.get(status="refused")
    page = text_of(researcher, reverse("judging:judgment", args=["tea", refused.pk]))
    assert 'data-read="refused"' in page
    assert "never reused" in page


def test_judgment_page_keeps_answers_that_the_method_would_not_ask_for_today(
    researcher: Client, study: Study, run: JudgeRun
) -> None:
    Judge.objects.update(params={"temperature": 1})
    page = text_of(researcher, pages(run)[2])
    assert page.count("Not asked by the current version of the method.") == 3
    assert "&lt;b&gt;Hm&lt;/b&gt;" in page


def test_pages_take_the_same_number_of_queries_however_much_they_show(
    researcher: Client, study: Study, run: JudgeRun
) -> None:
    def queries(texts: list[str]) -> list[int]:
        found = []
        for page in pages(run):
            with CaptureQueriesContext(connection) as context:
                texts.append(text_of(researcher, page))
            found.append(len(context))
        return found

    shown: list[str] = []
    before = queries(shown)
    assert "items=x" in shown[0]
    for text in shown[:3]:  # the model is named, and not where it is
        assert "small" in text
        assert PUBLIC not in text

    for number in range(5):
        start_run(study=study, judge=make_judge("coin", name=f"coin-{number}"))
    more = make_study("more", instances=4)
    for pair in pairs_in(more):  # as if the study had grown
        pair.matchup.instance.study = study
        pair.matchup.instance.instance_id += " more"
        pair.matchup.instance.position += 10
        pair.matchup.instance.save()
        fill(run, pair, "ab", verdict=1)
    Judgment.objects.filter(run=run, status="parsed", verdict=-1).update(status="refused", verdict=None)
    assert queries([]) == before
    assert max(before) <= 24
