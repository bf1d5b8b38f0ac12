"""Imports of many rows: stored below a hidden study, seen by nobody before their end, and equal to those in one transaction."""

import gc
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError
from django.test import Client
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation.core.errors import AnnotationError, BadFile
from annotation.importing import content, rating_files, staging
from annotation.importing import ratings as rating_storing
from annotation.importing.comparisons import import_votes
from annotation.importing.formats.ratings_file import parse_ratings
from annotation.importing.mturk_results import import_mturk
from annotation.importing.rating_files import RatingPlaces, import_ratings
from annotation.importing.ratings import stage_ratings
from annotation.importing.staging import SILENT, Target, is_under_way, open_import, settle_abandoned
from annotation.importing.study_files import import_study
from annotation.importing.tables import import_tables
from annotation.models import (
    Annotator,
    Assignment,
    Batch,
    ComparisonTable,
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
from annotation.rating.votes import save_vote
from annotation.studies.services import find_study
from judging.importing.elsewhere import import_elsewhere
from judging.importing.services import import_judgments
from judging.models import Judge, JudgeRun, Judgment
from reporting.exports.rows import rating_rows
from reporting.findings.snapshots import renew_snapshot
from reporting.uploads import jobs as upload_jobs
from tests.factories import (
    NOON,
    ask_more,
    claim,
    csv_file,
    json_lines,
    make_annotator,
    make_batch,
    make_study,
    mturk_row,
    study_line,
)
from tests.reporting.builders import findings
from tests.rows import undone_at_the_end

pytestmark = [pytest.mark.django_db, pytest.mark.engine, pytest.mark.slow]

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
    ComparisonTable: ("study__slug", "table_id", "variant", "pair__matchup__instance__instance_id", "rows"),
    ImportRecord: ("study__slug", "kind", "file_name", "sha256"),
    Judge: ("name", "method"),
    JudgeRun: ("study__slug", "judge__name", "questions", "status"),
    Judgment: ("run__study__slug", "run__judge__name", "pair__index", "order", "question", "status", "verdict"),
}


def stored() -> dict[str, list[str]]:
    """Return all rows, without their primary keys, which names of some HITs have."""
    return {
        model.__name__: sorted(
            re.sub(r"/\d+/\d+'", "'", repr(row)) for row in model._base_manager.values_list(*columns)
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


def votes(prompts: Sequence[int] = (0, 1, 2), workers: str = "vw", right: str = "y") -> Callable[[], object]:
    ids = [(prompt, worker) for prompt in prompts for worker in workers]
    rows = [
        {"id": f"{n}{worker}", "prompt": str(n), "left": "x", "right": right, "worker": worker, "winner": "left"}
        for n, worker in ids
    ]
    texts = [{"id": f"{n}{worker}", "text": f"s{n}", "left": f"x{n}", "right": f"{right}{n}"} for n, worker in ids]
    return lambda: import_votes(
        data=json_lines(rows), name="v.jsonl", texts=json_lines(texts), texts_name="t.jsonl", slug="votes", dataset="d"
    )


def battles(
    questions: Sequence[int] = (1,), judges: Sequence[Any] = ("ann", "bob", ["gpt-4", "v1"]), b: str = "y"
) -> Any:
    def talk(text: str, question: int) -> list[dict[str, str]]:
        return [{"role": "user", "content": f"hello {question}"}, {"role": "assistant", "content": text}]

    data = json.dumps([
        {"question_id": question, "model_a": "x", "model_b": b, "winner": "model_a", "judge": judge,
         "conversation_a": talk("hi", question), "conversation_b": talk(f"ho {b}", question)}
        for question in questions for judge in judges
    ]).encode()  # fmt: skip
    options = {"dataset": "arena"}
    return lambda: import_elsewhere(kind="battles", data=data, name="b.json", slug="votes", options=options)


def mturk(*rows: tuple[str, str]) -> Callable[[], object]:
    data = csv_file([mturk_row(worker, item=item) for worker, item in rows])
    return lambda: import_mturk(data=data, name="m.csv", slug="votes", system_1="x", system_2="y", dataset="d")


def tables(*names: str) -> Callable[[], object]:
    row = {"aspect": "length", "only_a": "long", "both": "", "only_b": "short"}
    pair = {"instance_id": "news-1", "system_a": "alpha", "system_b": "beta", "pair_index": 0}
    data = json_lines({"table_id": name, **pair, "variant": name, "rows": [row]} for name in names)
    return lambda: import_tables(data=data, name="t.jsonl", slug="study")


FIRST = ratings(rating("ann"), rating("bob", 2), rating("ann", 1, 0, stage="revised"), rating("cem", 3, batch="own"))
WAYS: dict[str, list[Callable[[], object]]] = {
    "the same ratings again": [FIRST, FIRST],
    "other people on the same HITs": [FIRST, ratings(rating("dan"), rating("eve", 2), rating("dan", 1, 1))],
    "more of the same people": [
        ratings(
            rating("ann", rated_at="2026-03-01T12:00:00Z"),
            rating("bob", 2, rated_at="2026-03-01T12:00:00Z"),
            rating("cem", 3, batch="own"),
        ),
        ratings(
            *(rating("ann", 3), rating("bob", 3), rating("cem", 1, batch="own2")),
            rating("ann", 1, 1, rated_at="2026-03-01T13:00:00Z"),
            rating("bob", 2, 1, rated_at="2026-03-01T11:00:00Z"),
            *(rating("bob", 2, stage="revised"), rating("ann", question="fluency"), rating("cem", 3, 1, batch="own")),
        ),
    ],
    "further instances": [
        FIRST,
        study_file(study_line("n1"), study_line("n2", generations={"alpha": ["q"], "new": ["r"]})),
    ],
    "another system on the same instances": [
        study_file(study_line("n1"), study_line("n2")),
        study_file(study_line("n1", generations={"alpha": ["one"], "new": ["r"]}), study_line("n3"), study_line("n2")),
    ],
    "more judgments by the same judge": [
        judgments("news-1,0,j,ab,a", "news-2,1,j,ba,", "news-2,1,k,ba,tie"),
        judgments("news-1,0,j,ab,a", "news-1,0,j,ba,a", "news-3,0,j,ab,b", "news-3,0,new,ab,b"),
    ],
    "votes on known and new prompts and systems": [votes(), votes((2, 3), "wu"), votes((1, 4), "u", "z")],
    "battles": [battles()],
    "battles on known and new questions and systems": [battles(), battles((1, 2), ("cem", "judge:new"), "z")],
    "later results of MTurk": [mturk(("W1", "x")), mturk(("W1", "x"), ("W2", "x"), ("W1", "z"))],
    "comparison tables": [tables("t1", "t2", "t3"), tables("t3", "t4")],
}


# One way for each kind of file that has content to add to.
EACH_KIND = (
    "other people on the same HITs",
    "another system on the same instances",
    "more judgments by the same judge",
    "votes on known and new prompts and systems",
    "battles on known and new questions and systems",
    "later results of MTurk",
    "comparison tables",
)


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


def in_chunks(monkeypatch: pytest.MonkeyPatch, rows: int = 1) -> None:
    """Let so few rows of a file be compared and stored together."""
    for module in (rating_files, rating_storing, content):
        monkeypatch.setattr(module, "CHUNK", rows)


@pytest.mark.parametrize("way", WAYS)
def test_staged_rows_end_up_as_those_stored_in_one_transaction(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with undone_at_the_end():
        whole = run(WAYS[way])
    monkeypatch.setattr(staging, "WHOLE", 0)
    monkeypatch.setattr(staging, "PART", 2)
    with undone_at_the_end():
        at_once = run(WAYS[way])
    monkeypatch.setattr(staging, "FEW", 0)
    in_chunks(monkeypatch)
    in_parts = run(WAYS[way])

    assert at_once == whole
    assert in_parts == whole
    assert not Study._base_manager.exclude(importer="", merging=False).exists()


@pytest.mark.parametrize(
    "way",
    [pytest.param(way, marks=() if way in EACH_KIND else pytest.mark.weekly) for way in WAYS if "again" not in way],
)
def test_nobody_sees_a_part_of_an_import(way: str, apart: None, monkeypatch: pytest.MonkeyPatch) -> None:
    *before, last = WAYS[way]
    study = make_study()
    ask_more(study, "fluency")
    for step in before:
        step()
    seen = visible(study)
    probes: list[bool] = []
    create = Target.create

    def probed(self: Target, rows: Any) -> list[int]:
        keys = create(self, rows)
        probes.append(self.staged.importer != "")
        if probes[-1] and not finishing:
            assert visible(study) == seen
        return keys

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


# Rows that move to a study with content, some in each transaction

MOVED = ["other people on the same HITs", "battles on known and new questions and systems", "later results of MTurk"]


class Killed(BaseException):
    """The end of a process."""


@pytest.fixture
def in_many_moves(apart: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no import move its rows in one transaction."""
    monkeypatch.setattr(staging, "FEW", 0)


def after_each_move(monkeypatch: pytest.MonkeyPatch, step: Callable[[], object]) -> None:
    execute = staging._execute
    monkeypatch.setattr(staging, "_execute", lambda sql: (execute(sql), step()))


@pytest.mark.parametrize(
    "way", [pytest.param(way, marks=pytest.mark.weekly if way != MOVED[0] else ()) for way in MOVED]
)
def test_rows_that_had_not_moved_when_the_process_was_killed_are_moved_later(
    way: str, in_many_moves: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    *before, last = WAYS[way]
    run(before)
    with undone_at_the_end():
        last()
        whole = stored()
    killed = 0
    for most in range(1_000):
        moves = 0

        def kill(most: int = most) -> None:
            nonlocal moves
            moves += 1
            if moves > most:
                raise Killed

        with undone_at_the_end(), monkeypatch.context() as patch:
            after_each_move(patch, kill)
            try:
                last()
            except Killed:
                killed += 1
            else:
                break
            patch.undo()
            patch.setattr(staging, "PART", 3)
            assert Study.objects.filter(merging=True).exists()
            settle_abandoned()
            assert stored() == whole
            assert not Study._base_manager.exclude(importer="", merging=False).exists()
    assert killed > 3


def test_readers_wait_and_raters_vote_while_rows_move(
    in_many_moves: None, monkeypatch: pytest.MonkeyPatch, client: Client
) -> None:
    study = make_study()
    FIRST()
    make_batch(study)
    assignment = claim(make_annotator(study))
    boss = User.objects.create_superuser("boss")
    client.force_login(boss)
    pair = assignment.displays.order_by("position").values_list("pair__key", flat=True)[0]
    rows = "/api/v1/ratings/"
    answers: list[tuple[int, ...]] = []

    def look() -> None:
        save_vote(assignment=assignment, pair_key=pair, choice="left", at=NOON)
        addresses = ["/studies/", "/studies/study/", "/api/v1/studies/study/", f"{rows}?study=study", rows]
        answers.append(tuple(client.get(address).status_code for address in addresses))
        assert client.get(rows).json()["count"] == 0
        assert re.findall(r'<td class="num"[^>]*>(.*?)</td>', client.get("/studies/").text) == ["–", "–"]
        for task in (lambda: renew_snapshot.call(study.pk, ""), lambda: find_study("study")):
            with pytest.raises((OperationalError, AnnotationError)):
                task()

    with monkeypatch.context() as patch:
        after_each_move(patch, look)
        ratings(rating("dan"), rating("eve", 2))()

    assert set(answers) == {(200, 503, 503, 503, 200)}
    assert client.get("/studies/study/").status_code == 200
    assert client.get(f"{rows}?study=study").json()["count"] == 7


# Imports that are refused, wait, or are never finished


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
    assert reason in error.value.lines[0].text
    assert stored() == before


@pytest.mark.parametrize("rows", [1, 2, 10_000])
def test_rows_contradict_each_other_however_stored(rows: int, apart: None, monkeypatch: pytest.MonkeyPatch) -> None:
    ask_more(make_study(), "fluency")
    in_chunks(monkeypatch, rows)
    first, unknown = rating("ann"), rating("bob", 2, shown_first="", question="fluency")
    with pytest.raises(BadFile) as error:
        ratings(
            *(first, unknown, rating("cem")),
            *(rating("ann"), rating("ann", stage="revised", shown_first="b"), rating("dan", rating="?")),
            *(rating("ann", question="fluency", hit="x"), rating("bob", 2, question="fluency")),
            *(rating("CEM"), rating("bob", 2, shown_first="b")),
        )()
    assert [(line.number, line.reason.code, line.reason.values.get("line")) for line in error.value.lines] == [
        (5, "pair_rated_before", 2),
        (6, "other_text_first", 2),
        (7, "not_one_of", None),
        (8, "on_another_hit", 2),
        (9, "question_rated_before", 3),
        (10, "lookalike", None),
    ]
    ratings(first, unknown, rating("bob", 2, shown_first="b"), rating("bob", 2, 1))()
    of_bob = Display.objects.filter(assignment__annotator__code="bob")
    assert [*of_bob.values_list("a_is_left", flat=True)] == [False, False]
    assert [*Batch.objects.values_list("pairs_per_hit", "raters_per_hit")] == [(2, 1)]


RATING_ROWS = st.builds(
    rating,
    st.sampled_from(["ann", "bob", "Bob", "dan"]),
    st.integers(1, 2),
    st.integers(0, 1),
    shown_first=st.sampled_from(["a", "b", ""]),
    stage=st.sampled_from(["first", "first", "revised"]),
    question=st.sampled_from(["", "", "fluency"]),
    batch=st.sampled_from(["", "", "own"]),
    hit=st.sampled_from(["", "", "x"]),
    excluded=st.sampled_from(["", "", "true"]),
)
STUDY_LINES = st.builds(
    study_line,
    st.sampled_from(["news-1", "n1", "n2", "n3", "n4"]),
    dataset=st.sampled_from(["news", "news", "News"]),
    source=st.sampled_from(["The source.", "The source.", ""]),
    generations=st.dictionaries(
        st.sampled_from(["alpha", "beta", "new", "New"]), st.sampled_from([["one"], ["one", "two"]]), min_size=2
    ),
    matchups=st.sampled_from([None, None, [["new", "alpha"]], [["alpha", "new"]]]),
)
FILES_OF_ROWS = st.one_of(
    st.lists(RATING_ROWS, min_size=1, max_size=8).map(lambda rows: ratings(*rows)),
    st.lists(STUDY_LINES, min_size=1, max_size=6).map(lambda lines: study_file(*lines)),
)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(step=FILES_OF_ROWS, is_apart=st.booleans())
def test_how_many_rows_are_stored_together_changes_nothing(
    step: Callable[[], object], is_apart: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staging, "WHOLE", 0 if is_apart else 1_000)

    def outcome(size: int) -> object:
        in_chunks(monkeypatch, size)
        with undone_at_the_end():
            try:
                return run([FIRST, study_file(study_line("n1"), study_line("n2")), step])
            except BadFile as error:
                return [(line.number, line.reason.code, line.reason.values) for line in error.lines]

    together = outcome(10_000)
    for size in (1, 2, 7):
        assert outcome(size) == together


def test_a_failure_before_the_end_leaves_nothing(apart: None, monkeypatch: pytest.MonkeyPatch) -> None:
    make_study()
    before = stored()
    monkeypatch.setattr(Target, "finish", lambda _: 1 / 0)
    for step in (FIRST, judgments("news-1,0,j,ab,a"), votes()):
        with pytest.raises(ZeroDivisionError):
            step()
        assert stored() == before


def test_an_import_that_was_not_removed_lets_the_next_one_pass(apart: None, monkeypatch: pytest.MonkeyPatch) -> None:
    make_study()

    def fail(*_: object) -> None:
        raise OperationalError("No space left on device")

    with monkeypatch.context() as full:
        full.setattr(Target, "finish", fail)
        full.setattr(staging, "remove", fail)
        with pytest.raises(OperationalError):
            FIRST()
    assert Study._base_manager.exclude(importer="").exists()

    FIRST()

    assert not Study._base_manager.exclude(importer="").exists()


def test_garbage_is_not_searched_among_the_rows_of_a_file(apart: None) -> None:
    study = make_study()
    of_file = [{"row": number} for number in range(1_000)]
    searched: list[bool] = []

    def rows() -> Iterator[Annotator]:
        searched.append(any(one is of_file for one in gc.get_objects()))
        yield Annotator(study=study, code="first")

    with open_import(study.slug, rows=2) as target:
        target.create(rows())
    assert searched == [False]
    assert any(one is of_file for one in gc.get_objects())  # searched again after the import


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
    with open_import("study", rows=5):
        assert (is_under_way(study), is_under_way(other)) == (True, False)
        for step in (FIRST, study_file(study_line("n1"))):
            with pytest.raises(AnnotationError, match="under way"):
                step()
        with open_import("other", rows=5):
            pass
    assert not is_under_way(study)
    FIRST()


def test_an_upload_waits_in_the_queue_during_another_import(apart: None, settings: Any, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path
    study = make_study()
    sent = SimpleUploadedFile("r.csv", csv_file([rating("ann")]))
    options = {"dataset": "", "system_1": "", "system_2": ""}
    with open_import("study", rows=5):
        upload = upload_jobs.take_in(study=study, kind="ratings", files=[sent], options=options)
    assert upload.status == "queued"
    upload_jobs.read_files.call(upload.pk)
    assert study.annotators.get().code == "ann"


def begun(slug: str) -> Study:
    """Begin an import that is never finished; return its hidden study."""
    study = Study._base_manager.filter(slug=slug).first()
    with ExitStack() as stack:
        target = staging._begin(stack, slug, 5, {})
    if study is not None:
        parsed, _ = parse_ratings(csv_file([rating("ann", 1, 1), rating("dan", 2)]), "f.csv")
        stage_ratings(target=target, rows=RatingPlaces(study).resolve(parsed, []), name="f.csv")
    return target.staged


def test_what_an_ended_import_left_is_removed_with_all_its_rows(apart: None) -> None:
    make_study()
    FIRST()
    before = stored()
    existing, new = begun("study"), begun("brand-new")
    assert len(stored()["Rating"]) == len(before["Rating"]) + 2

    settle_abandoned()  # their process is this one
    assert len(stored()["Study"]) == len(before["Study"]) + 2

    long_ago = timezone.now() - SILENT
    Study._base_manager.filter(pk=existing.pk).update(importer="elsewhere:7:x", created_at=long_ago)
    Study._base_manager.filter(pk=new.pk).update(importer="elsewhere:8:x")
    settle_abandoned()
    assert len(stored()["Study"]) == len(before["Study"]) + 1
    Study._base_manager.filter(pk=new.pk).update(created_at=long_ago)
    import_study(data=json_lines([study_line()]), name="f.jsonl", slug="brand-new")  # which removes it before

    Study.objects.get(slug="brand-new").imports.all().delete()
    Study.objects.filter(slug="brand-new").delete()
    assert stored() == before


def test_votes_pass_while_what_an_import_left_is_removed(apart: None, monkeypatch: pytest.MonkeyPatch) -> None:
    make_study()
    FIRST()
    hidden = begun("study")
    stays = Rating._base_manager.exclude(display__assignment__hit__batch__study=hidden).count()
    seen: list[int] = []
    monkeypatch.setattr(staging, "PART", 1)
    monkeypatch.setattr(Target, "beat", lambda _: seen.append(Rating._base_manager.count()))
    staging.settle(hidden)
    assert seen[:2] == [stays + 1, stays]
