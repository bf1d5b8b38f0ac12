"""The API's rows of judges: settings, runs with their workers, judgments with what they took."""

from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from rest_framework.test import APIClient

from annotation.core.reasons import reason
from judging.models import Completion, Endpoint, Judge, JudgeRun, Judgment, PromptFile, RunWorker
from tests.factories import api_of, ask_more, make_user
from tests.reporting.builders import Built, build_configuration, build_study, judge

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def mine(db: None) -> Built:
    built = build_configuration(build_study("mine"), instances=2, pairs=2)
    judge(built, "direct", [(0, 0, "ab", -1), (0, 1, "ba", 1), (1, 0, "ab", "unparsed")])
    return built


@pytest.fixture
def reader(mine: Built) -> APIClient:
    return api_of(make_user("reader", "researcher", study=mine.study))


def rows(client: APIClient, name: str, **query: Any) -> list[dict[str, Any]]:
    answer = client.get(f"/api/v1/{name}/", query)
    assert answer.status_code == 200, answer.content
    found: list[dict[str, Any]] = answer.json()["results"]
    return found


def test_judge_tells_how_it_is_asked(reader: APIClient) -> None:
    wording = PromptFile.objects.create(name="mild", version=3, text="$source", parser="letter")
    Judge.objects.update(order="both", combine="probability", repeats=4, negated=True, task="chat", prompt_file=wording)
    [row] = rows(reader, "judges")
    told = {name: row[name] for name in ("order", "combine", "repeats", "negated", "task", "prompt_file")}
    assert told == {
        "order": "both",
        "combine": "probability",
        "repeats": 4,
        "negated": True,
        "task": "chat",
        "prompt_file": "mild.v3",
    }


def test_run_tells_who_is_at_it_and_not_where(reader: APIClient) -> None:
    run = JudgeRun.objects.get()
    JudgeRun.objects.update(max_cost=Decimal("2.5"), way="batch")
    RunWorker.objects.create(run=run, executor="machine-x:12:abc", in_flight=9)
    [row] = rows(reader, "runs")
    assert (row["max_cost"], row["way"]) == ("2.500000", "batch")
    [worker] = row["workers"]
    assert worker["in_flight"] == 9
    assert worker["heartbeat_at"]
    assert "machine-x" not in str(row)
    assert rows(reader, "runs", status=run.status) == [row]
    assert rows(reader, "runs", status="cancelled") == []


def test_judgment_tells_probability_scores_and_what_it_took(reader: APIClient) -> None:
    Judgment.objects.update(
        p_b=0.25, score_a=4.0, score_b=2.5, cached=1, prompt_tokens=40, completion_tokens=6, cost=Decimal("0.0001")
    )
    row = rows(reader, "judgments")[0]
    assert (row["p_b"], row["score_a"], row["score_b"]) == (0.25, 4.0, 2.5)
    assert (row["cached"], row["prompt_tokens"], row["completion_tokens"], row["cost"]) == (1, 40, 6, "0.00010000")
    assert (row["failure"], row["reason_code"]) == ("", "")


def test_judgment_without_a_verdict_tells_why_in_words_and_by_a_code(reader: APIClient) -> None:
    why = reason("cut_off", why=reason("no_verdict_in", text="Hm"))
    Judgment.objects.filter(status="unparsed").update(failure=why)
    [row] = rows(reader, "judgments", status="unparsed")
    assert (row["failure"], row["reason_code"]) == (why.text, "cut_off")


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ({"verdict": -1}, 1),
        ({"verdict": 0}, 0),
        ({"order": "ba"}, 1),
        ({"repeat": 0}, 3),
        ({"repeat": 1}, 0),
        ({"negated": "false"}, 3),
        ({"negated": "true"}, 0),
        ({"status": "unparsed"}, 1),
        ({"run": 2**62}, 0),
    ],
)
def test_judgments_are_filtered(reader: APIClient, query: dict[str, Any], count: int) -> None:
    assert len(rows(reader, "judgments", **query)) == count
    one = Judgment.objects.select_related("pair").earliest("pk")
    assert [row["id"] for row in rows(reader, "judgments", run=one.run_id, pair=one.pair.key)] == [one.pk]


@pytest.mark.parametrize("query", [{"verdict": 2}, {"repeat": -1}, {"run": "x"}, {"run": 2**63}], ids=str)
def test_a_filter_with_an_impossible_value_is_refused(reader: APIClient, query: dict[str, Any]) -> None:
    assert reader.get("/api/v1/judgments/", query).status_code == 400


def test_question_of_a_judgment_is_told_and_filtered_where_there_are_several(reader: APIClient, mine: Built) -> None:
    assert not {"question", "questions"} & {*rows(reader, "judgments")[0], *rows(reader, "runs")[0]}
    ask_more(mine.study, "coherence")
    first = Judgment.objects.for_question(0).earliest("pk")
    Judgment.objects.create(run=first.run, pair=first.pair, order=first.order, question=1, status="parsed", verdict=0)
    JudgeRun.objects.filter(pk=first.run_id).update(questions=[0, 1])
    assert rows(reader, "runs")[0]["questions"] == ["overall", "coherence"]
    assert [row["question"] for row in rows(reader, "judgments")].count("overall") == 3
    [row] = rows(reader, "judgments", study=mine.study.slug, question="coherence")
    assert (row["question"], row["verdict"]) == ("coherence", 0)
    assert len(rows(reader, "judgments", question="overall")) == 3


def test_completion_tells_its_kind_and_price(reader: APIClient) -> None:
    completion = Completion.objects.create(
        cache_key="ab", base_url="https://x.example", request={}, kind="critique", cost=Decimal("0.5")
    )
    Judgment.objects.earliest("pk").completions.add(completion)
    [row] = rows(reader, "completions")
    assert (row["kind"], row["cost"]) == ("critique", "0.50000000")
    assert "base_url" not in row


def test_endpoint_names_its_headers_and_shows_no_value(mine: Built) -> None:
    Endpoint.objects.create(
        name="far",
        base_url="https://x.example/v1",
        model="m",
        headers={"X-Team": "hush-hush", "X-Key": "env:TEAM_KEY"},
        price_prompt=Decimal("0.5"),
        requests_per_minute=60,
        supports={"seed": True},
    )
    admin = api_of(get_user_model().objects.create_superuser("root", password="a long enough one"))
    answer = admin.get("/api/v1/endpoints/far/")
    row = answer.json()
    assert row["headers"] == ["X-Key", "X-Team"]
    assert "hush-hush" not in answer.content.decode()
    assert (row["price_prompt"], row["price_completion"], row["requests_per_minute"]) == ("0.500000", None, 60)
    assert row["supports"] == {"seed": True}
    assert api_of(make_user("reader", "researcher", study=mine.study)).get("/api/v1/endpoints/far/").status_code == 403
