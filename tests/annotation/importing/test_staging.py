"""Imports of many rows: stored below a hidden study, seen by nobody before their end, and equal to those in one transaction."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.utils import timezone

from annotation.core.errors import AnnotationError, BadFile
from annotation.importing import staging, upload_jobs
from annotation.importing.formats.ratings_file import parse_ratings
from annotation.importing.mturk_results import import_mturk
from annotation.importing.rating_files import RatingPlaces, import_ratings, import_votes
from annotation.importing.ratings import stage_ratings
from annotation.importing.staging import SILENT, Target, is_under_way, open_import, remove_abandoned
from annotation.importing.study_files import import_study
from annotation.models import (
    Annotator,
    Assignment,
    Batch,
    Display,
    Generation,
    Hit,
    HitPair,
    ImportRecord,
    Instance,
    Matchup,
    Pair,
    Rating,
    Slot,
    Study,
    System,
)
from judging.importing.elsewhere import import_elsewhere
from judging.importing.services import import_judgments
from judging.models import Judge, JudgeRun, Judgment
from reporting.exports.rows import rating_rows
from reporting.findings.study_findings import findings
from tests.factories import ask_more, csv_file, json_lines, make_batch, make_study, mturk_row, study_line

pytestmark = [pytest.mark.django_db, pytest.mark.engine]

_HIT = ("batch__study__slug", "batch__name", "external_id")
_WORK = (*(f"hit__{name}" for name in _HIT), "annotator__study__slug", "annotator__code")
_SHOWN = (*(f"assignment__{name}" for name in _WORK), "pair__index")
_MATCHUP = ("instance__study__slug", "instance__instance_id", "system_a__name", "system_b__name")
COLUMNS: dict[Any, tuple[str, ...]] = {
    Study: ("slug", "importer", "question", "title"),
    System: ("study__slug", "name", "position"),
    Instance: ("study__slug", "instance_id", "position", "dataset", "source"),
    Generation: (
        "instance__study__slug",
        "instance__instance_id",
        "system__study__slug",
        "system__name",
        "index",
        "text",
    ),
    Matchup: _MATCHUP,
    Pair: (*(f"matchup__{name}" for name in _MATCHUP), "index", "generation_a__text", "generation_b__text"),
    Annotator: ("study__slug", "code", "kind"),
    Batch: ("study__slug", "name", "dataset", "system_a__name", "pairs_per_hit", "raters_per_hit", "status", "origin"),
    Hit: (*_HIT, "matchup__instance__instance_id"),
    HitPair: (*(f"hit__{name}" for name in _HIT), "pair__index", "position"),
    Assignment: (*_WORK, "state", "submitted_at", "excluded", "attempt"),
    Slot: (*(f"hit__{name}" for name in _HIT), "batch__name", "number", "assignment__annotator__code"),
    Display: (*_SHOWN, "position", "a_is_left"),
    Rating: (*(f"display__{name}" for name in _SHOWN), "stage", "question", "verdict"),
    ImportRecord: ("study__slug", "kind", "file_name", "sha256"),
    Judge: ("name", "method"),
    JudgeRun: ("study__slug", "judge__name", "questions", "status"),
    Judgment: ("run__study__slug", "run__judge__name", "pair__index", "order", "question", "status", "verdict"),
}


def stored() -> dict[str, list[str]]:
    """Return all rows, without their primary keys, which names of some HITs have."""
    return {
        model.__name__: sorted(
            re.sub(r"1/\d+/\d+", "1", repr(row)) for row in model._base_manager.values_list(*columns)
        )
        for model, columns in COLUMNS.items()
    }


def rating(rater: str, instance: int = 1, pair: int = 0, **changes: Any) -> dict[str, Any]:
    return {
        "instance_id": f"news-{instance}", "pair_index": pair, "system_a": "alpha", "system_b": "beta",
        "rater": rater, "rating": (instance + pair) % 3 - 1, "shown_first": "ab"[pair], **changes,
    }  # fmt: skip


def ratings(*rows: dict[str, Any]) -> Callable[[], object]:
    names = list(dict.fromkeys(name for row in rows for name in row))
    data = csv_file([{name: row.get(name, "") for name in names} for row in rows])
    return lambda: import_ratings(data=data, name="ratings.csv", slug="study")


def study_file(*lines: dict[str, Any]) -> Callable[[], object]:
    return lambda: import_study(data=json_lines(lines), name="study.jsonl", slug="study", dataset="news")


def judgments(*rows: str) -> Callable[[], object]:
    data = "\n".join(["instance,pair,judge,order,verdict", *rows]).encode()
    return lambda: import_judgments(data=data, name="judgments.csv", slug="study")


def votes() -> object:
    rows = [
        {"id": str(n), "prompt": str(n // 2), "left": "x", "right": "y", "worker": f"w{n % 2}", "winner": "left"}
        for n in range(6)
    ]
    texts = [{"id": str(n), "text": f"s{n // 2}", "left": f"x{n // 2}", "right": f"y{n // 2}"} for n in range(6)]
    return import_votes(
        data=json_lines(rows), name="v.jsonl", texts=json_lines(texts), texts_name="t.jsonl", slug="votes", dataset="d"
    )


def battles() -> object:
    def talk(text: str) -> list[dict[str, str]]:
        return [{"role": "user", "content": "hello"}, {"role": "assistant", "content": text}]

    rows = [
        {"question_id": 1, "model_a": "x", "model_b": "y", "winner": "model_a", "judge": judge,
         "conversation_a": talk("hi"), "conversation_b": talk("ho")}
        for judge in ("ann", "bob", ["gpt-4", "v1"])
    ]  # fmt: skip
    data = json.dumps(rows).encode()
    return import_elsewhere(kind="battles", data=data, name="b.json", slug="votes", options={"dataset": "arena"})


def mturk() -> object:
    data = csv_file([mturk_row("W1"), mturk_row("W2"), mturk_row("W1", item="z")])
    return import_mturk(data=data, name="m.csv", slug="votes", system_1="x", system_2="y", dataset="d")


FIRST = ratings(rating("ann"), rating("bob", 2), rating("ann", 1, 0, stage="revised"), rating("cem", 3, batch="own"))
WAYS: dict[str, list[Callable[[], object]]] = {
    "ratings for the first time": [FIRST],
    "the same ratings again": [FIRST, FIRST],
    "other people on the same HITs": [FIRST, ratings(rating("dan"), rating("eve", 2), rating("dan", 1, 1))],
    "the same people on other HITs": [
        FIRST,
        ratings(rating("ann", 2), rating("bob", 3), rating("cem", 1, batch="own2")),
    ],
    "more pairs of the same assignments": [
        ratings(rating("ann", rated_at="2026-03-01T12:00:00Z")),
        ratings(rating("ann", 1, 1, rated_at="2026-03-01T13:00:00Z"), rating("ann", 3)),
    ],
    "a second vote and another question on the same displays": [
        FIRST,
        ratings(rating("bob", 2, stage="revised"), rating("ann", question="fluency"), rating("bob", 2, 1)),
    ],
    "further instances": [
        FIRST,
        study_file(study_line("n1"), study_line("n2", generations={"alpha": ["q"], "new": ["r"]})),
    ],
    "another system on the same instances": [
        study_file(study_line("n1"), study_line("n2")),
        study_file(study_line("n1", generations={"alpha": ["one"], "new": ["r"]}), study_line("n3"), study_line("n2")),
    ],
    "judgments": [judgments("news-1,0,j,ab,a", "news-2,1,j,ba,", "news-2,1,k,ba,tie")],
    "more judgments by the same judge": [
        judgments("news-1,0,j,ab,a", "news-2,1,k,ba,tie"),
        judgments("news-1,0,j,ab,a", "news-1,0,j,ba,a", "news-3,0,j,ab,b", "news-3,0,new,ab,b"),
    ],
    "votes with a winner": [votes],
    "battles": [battles],
    "the same battles again": [battles, battles],
    "results of MTurk": [mturk],
}


def run(steps: list[Callable[[], object]]) -> dict[str, list[str]]:
    study = make_study()
    ask_more(study, "fluency")
    make_study("other", systems=("alpha", "beta"))
    for step in steps:
        step()
    return stored()


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every import be one of many rows, and a transaction hold few of them."""
    monkeypatch.setattr(staging, "WHOLE", 0)
    monkeypatch.setattr(staging, "PART", 2)


@pytest.mark.parametrize("way", WAYS)
def test_staged_rows_end_up_as_those_stored_in_one_transaction(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with transaction_undone():
        whole = run(WAYS[way])
    monkeypatch.setattr(staging, "WHOLE", 0)
    monkeypatch.setattr(staging, "PART", 2)
    in_parts = run(WAYS[way])

    assert in_parts == whole
    assert not Study._base_manager.exclude(importer="").exists()


@pytest.mark.parametrize("way", [way for way in WAYS if "again" not in way])
def test_nobody_sees_a_part_of_an_import(way: str, apart: None, monkeypatch: pytest.MonkeyPatch) -> None:
    *before, last = WAYS[way]
    study = make_study()
    ask_more(study, "fluency")
    for step in before:
        step()
    seen = visible(study)
    probes: list[bool] = []
    create = Target.create

    def probed(self: Target, rows: Any) -> None:
        create(self, rows)
        probes.append(self.staged.importer != "")
        if probes[-1] and not finishing:
            assert visible(study) == seen

    finishing: list[bool] = []
    finish = Target.finish
    monkeypatch.setattr(Target, "create", probed)
    monkeypatch.setattr(Target, "finish", lambda self: (finishing.append(True), finish(self)))
    last()

    assert any(probes)
    assert len(finishing) == 1


def visible(study: Study) -> dict[str, Any]:
    """Return what readers find of studies."""
    return {
        "studies": [*Study.objects.values_list("slug", flat=True)],
        "ratings": list(rating_rows(study)),
        "findings": findings(study, rounds=2) if study.batches.exists() else None,
        "raters": [*study.annotators.values_list("code", "assignments")],
        "instances": [*study.instances.values_list("instance_id", "generations", "matchups", "matchups__pairs")],
        "systems": [*study.systems.values_list("name", flat=True)],
        "batches": [*study.batches.values_list("name", "hits", "slots", "hits__assignments__displays")],
        "runs": [*study.judge_runs.values_list("judge__name", "judgments")],
        "imports": study.imports.count(),
    }


# Imports that are refused, wait, or are never finished


@contextmanager
def transaction_undone() -> Iterator[None]:
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        (ratings(rating("dan", hit="news-2")), "HIT 'news-2' holds pairs of more than one matchup"),
        (ratings(rating("dan", batch="taken")), "batch 'taken' collects ratings here"),
        (ratings(rating("ann", pair=1, excluded="true")), "excluded differs from this rater's other ratings"),
        (ratings(rating("ANN")), "rater 'ANN' differs from 'ann'"),
        (ratings(rating("dan"), rating("dan", pair=1, excluded="true")), "excluded differs from this rater's"),
        (study_file(study_line("news-1")), "instance 'news-1' is in the study already with other"),
        (judgments("news-1,0,j,ab,a", "news-9,0,j,ab,a"), "the study has no pairs of instance 'news-9'"),
    ],
    ids=["matchups", "batch", "excluded pairs", "case", "excluded", "texts", "pairs"],
)
def test_a_refused_import_leaves_nothing(second: Callable[[], object], reason: str, apart: None) -> None:
    make_batch(make_study(), name="taken")
    FIRST()
    before = stored()
    with pytest.raises(BadFile) as error:
        second()
    assert reason in error.value.lines[0].reason
    assert stored() == before


def test_a_failure_before_the_end_leaves_nothing(apart: None, monkeypatch: pytest.MonkeyPatch) -> None:
    make_study()
    before = stored()
    monkeypatch.setattr(Target, "finish", lambda _: 1 / 0)
    for step in (FIRST, judgments("news-1,0,j,ab,a"), votes):
        with pytest.raises(ZeroDivisionError):
            step()
        assert stored() == before


def test_a_rater_who_withdraws_meanwhile_is_not_given_new_ratings(apart: None, monkeypatch: pytest.MonkeyPatch) -> None:
    make_study()
    FIRST()
    before = stored()
    plan = staging.plan_moves

    def withdraw(*arguments: Any) -> Any:
        Annotator.objects.filter(code="ann", study__importer="").update(withdrawn_at=timezone.now())
        return plan(*arguments)

    monkeypatch.setattr(staging, "plan_moves", withdraw)
    with pytest.raises(AnnotationError, match="have changed meanwhile"):
        ratings(rating("ann", 1, 1))()
    assert stored() == before


def test_an_import_waits_for_another_one_into_the_study(apart: None) -> None:
    study, other = make_study(), make_study("other")
    with open_import("study", rows=5, is_separable=True):
        assert (is_under_way(study), is_under_way(other)) == (True, False)
        for step in (FIRST, study_file(study_line("n1"))):
            with pytest.raises(AnnotationError, match="under way"):
                step()
        with open_import("other", rows=5):
            pass
    assert not is_under_way(study)
    FIRST()


def test_an_upload_waits_in_the_queue_while_another_import_is_under_way(
    apart: None, settings: Any, tmp_path: Path
) -> None:
    settings.DATA_DIR = tmp_path
    study = make_study()
    sent = SimpleUploadedFile("r.csv", csv_file([rating("ann")]))
    options = {"dataset": "", "system_1": "", "system_2": ""}
    with open_import("study", rows=5, is_separable=True):
        upload = upload_jobs.take_in(study=study, kind="ratings", files=[sent], options=options)
    assert upload.status == "queued"
    upload_jobs.read_files.call(upload.pk)
    assert study.annotators.get().code == "ann"


def begun(slug: str) -> Study:
    """Begin an import that is never finished; return its hidden study."""
    study = Study._base_manager.filter(slug=slug).first()
    with ExitStack() as stack:
        target = staging._begin(stack, slug, 5, {}, is_separable=True)
    read = Target(study or target.study, target.staged, target.given)
    if study is not None:
        parsed, _ = parse_ratings(csv_file([rating("ann", 1, 1), rating("dan", 2)]), "f.csv")
        stage_ratings(target=read, rows=RatingPlaces(study).resolve(parsed)[0], name="f.csv")
    return target.staged


def test_what_an_ended_import_left_is_removed_with_all_its_rows(apart: None) -> None:
    make_study()
    FIRST()
    before = stored()
    existing, new = begun("study"), begun("brand-new")
    assert len(stored()["Rating"]) == len(before["Rating"]) + 2

    remove_abandoned()  # their process is this one
    assert len(stored()["Study"]) == len(before["Study"]) + 2

    long_ago = timezone.now() - SILENT
    Study._base_manager.filter(pk=existing.pk).update(importer="elsewhere:7:x", created_at=long_ago)
    Study._base_manager.filter(pk=new.pk).update(importer="elsewhere:8:x")
    remove_abandoned()
    assert len(stored()["Study"]) == len(before["Study"]) + 1
    Study._base_manager.filter(pk=new.pk).update(created_at=long_ago)
    import_study(data=json_lines([study_line()]), name="f.jsonl", slug="brand-new")  # which removes it before

    Study.objects.get(slug="brand-new").imports.all().delete()
    Study.objects.filter(slug="brand-new").delete()
    assert stored() == before
