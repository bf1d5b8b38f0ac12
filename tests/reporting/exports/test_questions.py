"""Exports of studies that ask several questions: their columns and order, back in again, and one question in the API."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from annotation.models import Display, Study, VoteChange
from annotation.questions.questions import Answer
from reporting.exports.rows import HISTORY_COLUMNS, history_rows, rating_rows
from tests.factories import ask_more, criterion, make_user
from tests.reporting.builders import Built, answer_too, build_configuration, build_study, rate

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
FURTHER = (criterion("fluency", strength=True, tie_kinds=True), criterion("detail"))


def make(slug: str) -> Built:
    return build_configuration(
        ask_more(build_study(slug), *FURTHER, strength=True, tie_kinds=True, first_reason="optional"),
        instances=3,
        pairs=2,
        batch="news",
    )


@pytest.fixture
def source(db: None) -> Built:
    """Two raters on three criteria, with strengths, kinds of ties and reasons; one has not answered all."""
    built = make("source")
    ann = rate(built, 0, "ann", [-1, 1], a_is_left=[True, False], strength=2, reason="=1\nand 2", active_seconds=1.5)
    answer_too(ann, [1, -1], question=2)
    answer_too(ann, [Answer(0, tie_kind="bad"), Answer(1, 1)])
    bob = rate(built, 0, "bob", [0, 0], tie_kind="good", a_is_left=[False, True])
    answer_too(bob, [Answer(-1, 2), 0])
    answer_too(bob, [0, None], question=2)
    answer_too(rate(built, 1, "ann", [1, -1]), [1, -1])
    return built


def test_rows_name_the_question_within_each_pair_and_stage(source: Built) -> None:
    rows = [row for row in rating_rows(source.study) if row["rater"] == "ann" and row["instance_id"] == "news-0"]
    said = [(row["pair_index"], row["question"], row["rating"], row["strength"], row["tie_kind"]) for row in rows]
    assert said == [
        (0, "overall", -1, 2, ""),
        (0, "fluency", 0, None, "bad"),
        (0, "detail", 1, None, ""),
        (1, "overall", 1, 2, ""),
        (1, "fluency", 1, 1, ""),
        (1, "detail", -1, None, ""),
    ]
    assert [row["reason"] for row in rows][:2] == ["=1\nand 2", ""]


@pytest.mark.parametrize(
    ("settings", "further", "added"),
    [
        ({}, (), []),
        ({}, ("detail",), ["question"]),
        ({"strength": True}, (), ["strength"]),
        ({}, (criterion("detail", tie_kinds=True),), ["question", "tie_kind"]),
        ({"strength": True, "tie_kinds": True}, ("detail",), ["question", "strength", "tie_kind"]),
    ],
)
def test_columns_are_there_only_where_they_are_asked_for(
    settings: dict[str, Any], further: Any, added: list[str], tmp_path: Path
) -> None:
    built = build_configuration(ask_more(build_study("asked"), *further, **settings), instances=1, pairs=1)
    rate(built, 0, "ann", [1])
    display = Display.objects.get()
    VoteChange.objects.create(display=display, stage="first", verdict=-1, received_at=timezone.now())
    for form in ("csv", "jsonl"):
        call_command("export_study", "asked", "--format", form, "--out", str(tmp_path))
    for kind, last in (("ratings", "translated"), ("history", HISTORY_COLUMNS[-1])):
        with (tmp_path / f"{kind}.csv").open(newline="") as file:
            header = next(csv.reader(file))
        assert header[header.index(last) + 1 :] == added
        (row,) = map(json.loads, (tmp_path / f"{kind}.jsonl").read_text().splitlines())
        assert list(row) == header


def test_history_tells_the_question_of_each_change(source: Built) -> None:
    display = Display.objects.earliest("pk")
    changes = [(0, Answer(-1, 1)), (0, Answer(-1, 2)), (1, Answer(0, tie_kind="good"))]
    for question, answer in changes:
        VoteChange.objects.create(
            display=display,
            stage="first",
            question=question,
            verdict=answer.verdict,
            strength=answer.strength,
            tie_kind=answer.tie_kind,
            received_at=timezone.now(),
        )
    said = [(row["question"], row["rating"], row["strength"], row["tie_kind"]) for row in history_rows(source.study)]
    assert said == [("overall", -1, 1, ""), ("overall", -1, 2, ""), ("fluency", 0, None, "good")]


def kept(study: Study) -> list[dict[str, Any]]:
    rows = [{name: value for name, value in row.items() if name != "study"} for row in rating_rows(study)]
    return sorted(rows, key=lambda row: json.dumps(row, default=str))


@pytest.mark.parametrize("form", [pytest.param("csv", marks=pytest.mark.weekly), "jsonl"])
def test_every_question_comes_back(source: Built, form: str, tmp_path: Path) -> None:
    call_command("export_study", "source", "--format", form, "--out", str(tmp_path))
    copy = make("copy")
    copy.batch.delete()

    call_command("import_ratings", str(tmp_path / f"ratings.{form}"), "--study", "copy")

    assert kept(copy.study) == kept(source.study)
    assert len(kept(copy.study)) == 15


def test_api_gives_one_question_and_the_columns_that_are_asked_for(source: Built, client: Any) -> None:
    plain = build_configuration(build_study("plain"), instances=1, pairs=1)
    rate(plain, 0, "ann", [1])
    client.force_login(make_user("reader", "researcher"))

    def rows(**query: str) -> list[dict[str, Any]]:
        return client.get("/api/v1/ratings/", query).json()["results"]

    fluency = rows(study="source", question="fluency")
    assert [row["verdict"] for row in fluency] == [0, 1, -1, 0, 1, -1]
    assert {row["question"] for row in fluency} == {"fluency"}
    assert (fluency[0]["tie_kind"], fluency[1]["strength"]) == ("bad", 1)
    (alone,) = rows(study="plain")
    assert not {"question", "strength", "tie_kind"} & alone.keys()
    assert (len(rows(question="overall")), rows(question="speed")) == (7, [])
    assert client.get("/api/v1/ratings/", {"study": "source", "question": "speed"}).status_code >= 400
