"""What `export_study` writes is read into a copy of the study elsewhere, whose export has the same rows."""

import csv
import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from annotation.core.errors import BadFile
from annotation.importing.comparisons import import_votes
from annotation.importing.content import store_generations
from annotation.importing.study_files import import_study
from annotation.management.commands._base import read_files
from annotation.models import Annotator, Assignment, Matchup, Study
from judging.importing.judgments import JUDGMENT_COLUMNS
from judging.importing.services import import_judgments
from judging.models import Judge, JudgeRun, Judgment
from judging.outcomes.judgment_rows import judgment_rows
from reporting.exports.content_rows import study_file_rows, table_rows
from reporting.exports.files import FORMATS, file_name
from reporting.exports.rows import rating_rows
from tests.factories import ask_more, csv_file, json_lines
from tests.reporting.builders import Built, build_configuration, build_study, judge, rate

pytestmark = [pytest.mark.django_db, pytest.mark.engine, pytest.mark.slow]

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SYSTEMS = ("=cmd()", "@other")
# Rows depend on the engine, and their form on none.
every_form = pytest.mark.parametrize(
    "form", [pytest.param(form, marks=() if form == "csv" else pytest.mark.any_engine) for form in FORMATS]
)
SCORED = "meta-llama/Llama-3.1-8B:free"
# Whose judgment it was and by which answers belongs to the installation that asked (docs/data.md).
NOT_READ = {
    *("study", "batch", "software_version"),
    *("method", "model", "params", "latency_ms", "completion_keys"),
    *("served_models", "fingerprints", "providers", "prompt_cut"),
}


def study_of(slug: str, batch: str = "news") -> Built:
    return build_configuration(build_study(slug), instances=3, pairs=2, systems=SYSTEMS, batch=batch)


@pytest.fixture
def source() -> Built:
    """A study with ratings and judgments of every kind."""
    built = study_of("source")
    rate(built, 0, "ann", [-1, 1], a_is_left=[True, False], reason="=1+1\nand '=2", active_seconds=1.5)
    rate(built, 1, "ann", [0, 1], a_is_left=[None, False], late=True)
    rate(built, 0, "-bob", [1, 1], fills_slot=False)
    rate(built, 0, "open", [1, None], state="claimed")
    rate(built, 0, "out", [1, 1])
    Annotator.objects.filter(code="out").update(excluded=True, exclusion_reason="clicked through")
    rate(built, 2, "gone", [1, 1])
    Assignment.objects.filter(annotator__code="gone").update(excluded=True)
    cells = [(n, k, order, verdict) for n, k, order, verdict in ((0, 0, "ab", -1), (0, 0, "ba", 0), (1, 0, "ab", 1))]
    judge(built, "direct", [*cells, (0, 1, "ab", "unparsed"), (0, 1, "ba", "refused"), (2, 1, "ab", "error")])
    judge(built, SCORED, cells)
    fill(JudgeRun.objects.get(judge__name=SCORED))
    return built


def fill(run: JudgeRun) -> None:
    """Give a run's judgments all that an export tells, in values that are not easily kept."""
    first, second, third = run.judgments.order_by("pk")
    first.p_b, first.token_mass, first.rationale, first.cost = (
        0.1,
        0.75,
        "  -A is better,\n\n\"as\" I said, 'so'.\n",
        Decimal("0.00000012"),
    )
    second.repeat, second.score_a, second.score_b, second.prompt_version = 1, -2.5, 1e-7, "verdict.v1+summary.v2"
    third.negated, third.calls, third.prompt_tokens, third.completion_tokens = True, 3, 0, 17
    for place, one in enumerate((first, second, third)):
        one.judged_at = NOON + timedelta(minutes=place, microseconds=7)
        one.save()
    Judgment.objects.filter(run__judge__name="direct").update(judged_at=NOON)
    Judgment.objects.filter(status="error").update(failure="=the endpoint answered 404")


def texts_come_back(study: Study, form: str, folder: Path) -> Study:
    """Import a study's exported texts into a new study, and compare the rows of both."""
    call_command("export_study", study.slug, "--what", "texts", "--format", form, "--out", str(folder))
    call_command("import_study", str(folder / file_name("texts", form)), "--study", "copy-of-texts")
    copy = Study.objects.get(slug="copy-of-texts")
    assert list(study_file_rows(copy)) == list(study_file_rows(study))
    compared = [
        list(
            Matchup.objects.filter(instance__study=one)
            .order_by("instance__position", "system_a__name", "system_b__name")
            .values_list("instance__instance_id", "system_a__name", "system_b__name")
        )
        for one in (study, copy)
    ]
    assert compared[0] == compared[1]
    return copy


@pytest.mark.any_engine
def test_texts_of_59_systems_come_back(tmp_path: Path) -> None:
    others = [f"system {number}" for number in range(1, 59)]
    votes = [
        {"id": number, "prompt": 8, "left": "system 0", "right": other, "worker": "w", "winner": "left"}
        for number, other in enumerate(others)
    ]
    texts = [
        {"id": number, "text": "Prompt.", "result_x": "one", "result_y": other} for number, other in enumerate(others)
    ]
    study, _, _ = import_votes(
        data=csv_file(votes), name="v.csv", texts=json_lines(texts), texts_name="t.jsonl", slug="votes", dataset="d"
    )
    copy = texts_come_back(study, "csv", tmp_path)
    assert (copy.systems.count(), Matchup.objects.filter(instance__study=copy).count()) == (59, 58)


@pytest.mark.any_engine
@every_form
def test_texts_of_a_study_that_is_still_being_sampled_come_back(form: str, tmp_path: Path) -> None:
    lines = [{"instance_id": name, "source": "Say it."} for name in ("none", "one", "two")]
    study, _ = import_study(data=json_lines(lines), name="s.jsonl", slug="sampled", sources_only=True)
    one, two = (study.instances.get(instance_id=name).pk for name in ("one", "two"))
    store_generations(study=study, system="x", texts={one: ["by x"], two: ["by x", ""]}, name="x")
    store_generations(study=study, system="y", texts={two: ["by y"]}, name="y")
    copy = texts_come_back(study, form, tmp_path)
    assert Matchup.objects.filter(instance__study=copy).count() == 1


def exported(built: Built, kind: str, form: str, folder: Path) -> Path:
    call_command("export_study", built.study.slug, "--format", form, "--out", str(folder))
    return folder / file_name(kind, form)


def kept(rows: Any, without: set[str]) -> list[dict[str, Any]]:
    named = [{name: value for name, value in row.items() if name not in without} for row in rows]
    return sorted(named, key=lambda row: json.dumps(row, default=str))


@every_form
def test_exported_ratings_come_back_as_they_were(source: Built, form: str, tmp_path: Path) -> None:
    file = exported(source, "ratings", form, tmp_path)
    copy = study_of("copy", batch="of its own")
    call_command("import_ratings", str(file), "--study", "copy")
    assert kept(rating_rows(copy.study), {"study"}) == kept(rating_rows(source.study), {"study"})
    assert len(list(rating_rows(copy.study))) == 11


@every_form
def test_exported_judgments_come_back_as_they_were(source: Built, form: str, tmp_path: Path) -> None:
    file = exported(source, "judgments", form, tmp_path)
    before = kept(judgment_rows(source.study), NOT_READ)
    JudgeRun.objects.all().delete()  # another installation does not have these judges
    Judge.objects.all().delete()
    copy = study_of("copy")

    call_command("import_judgments", str(file), "--study", "copy")

    assert kept(judgment_rows(copy.study), NOT_READ) == before
    assert {row["status"] for row in before} == {"parsed", "unparsed", "refused", "error"}
    with read_files([str(file)]) as (data, name):
        again = import_judgments(data=data, name=name, slug="copy")[1]
    assert (again.added, again.unchanged, again.unread) == (0, 9, [])


@every_form
def test_exported_tables_come_back_as_they_were(form: str, tmp_path: Path) -> None:
    built = study_of("source")
    rows = [{"aspect": "=Wann", "only_a": "-5 °C; -2 °C am Montag", "both": "", "only_b": "Grüße,\n@alle"}]
    for number, pair in enumerate(built.pairs[0]):
        table = {"table_id": f"t{number}", "variant": "c8", "aspects": ["=Wann"], "made_by": {"judge": "gpt-4.1"}}
        built.study.tables.create(pair=pair, rows=rows, **table)
    file = exported(built, "tables", form, tmp_path)
    copy = study_of("copy")
    call_command("import_tables", str(file), "--study", "copy")
    assert list(table_rows(copy.study)) == list(table_rows(built.study))


def test_judgments_on_every_question_come_back(tmp_path: Path) -> None:
    built = study_of("source")
    ask_more(built.study, "coherence")
    run = judge(built, "direct", [(0, 0, "ab", -1), (0, 0, "ba", 0)])
    JudgeRun.objects.update(questions=[0, 1])
    answer = {"order": "ab", "question": 1, "status": "parsed", "verdict": 1}
    Judgment.objects.create(run=run, pair=built.pairs[0][0], **answer)
    Judgment.objects.update(judged_at=NOON)
    file = exported(built, "judgments", "csv", tmp_path)
    before = kept(judgment_rows(built.study), NOT_READ)
    assert sorted(row["question"] for row in before) == ["coherence", "overall", "overall"]
    JudgeRun.objects.all().delete()
    Judge.objects.all().delete()
    copy = study_of("copy")
    ask_more(copy.study, "coherence")

    call_command("import_judgments", str(file), "--study", "copy")

    assert kept(judgment_rows(copy.study), NOT_READ) == before
    assert [run.questions for run in JudgeRun.objects.order_by("pk")] == [[0], [1]]
    with read_files([str(file)]) as (data, name):
        again = import_judgments(data=data, name=name, slug="copy")[1]
    assert (again.added, again.unchanged, again.unread) == (0, 3, [])


def test_a_copy_with_the_systems_the_other_way_round_turns_all_that_has_sides(source: Built, tmp_path: Path) -> None:
    file = exported(source, "judgments", "jsonl", tmp_path)
    JudgeRun.objects.all().delete()
    Judge.objects.all().delete()
    build_configuration(build_study("copy"), instances=3, pairs=2, systems=(SYSTEMS[1], SYSTEMS[0]))

    call_command("import_judgments", str(file), "--study", "copy")

    first, second = Judgment.objects.filter(run__judge__name=SCORED).order_by("judged_at")[:2]
    assert (first.order, first.verdict, first.p_b) == ("ba", 1, 0.9)
    assert (second.order, second.verdict, second.score_a, second.score_b) == ("ab", 0, 1e-7, -2.5)


def line(**changes: Any) -> dict[str, Any]:
    usual = dict.fromkeys(JUDGMENT_COLUMNS) | {
        "instance_id": "news-0",
        "pair_index": 0,
        "system_a": SYSTEMS[0],
        "system_b": SYSTEMS[1],
        "judge": "direct",
        "order": "ab",
        "repeat": 0,
        "negated": False,
        "status": "parsed",
        "verdict": 1,
        "rated_at": NOON.isoformat(),
    }
    return usual | changes


def read(*rows: dict[str, Any]) -> None:
    data = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
    import_judgments(data=data, name="judgments.jsonl", slug="copy")


def test_of_a_presentation_in_two_runs_the_latest_outcome_is_read(db: None) -> None:
    study_of("copy")
    later = line(batch="second", verdict=-1, rated_at=(NOON + timedelta(hours=1)).isoformat())
    read(later, line(batch="first"))
    assert [one.verdict for one in Judgment.objects.all()] == [-1]


@pytest.mark.any_engine
@pytest.mark.parametrize(
    ("changes", "code", "value"),
    [
        ({"verdict": None}, "verdict_and_status", "parsed"),
        ({"status": "refused"}, "verdict_and_status", "refused"),
        ({"status": "pending"}, "not_one_of", "'pending'"),
        ({"p_b": 1.5}, "not_kind", "'1.5'"),
        ({"score_a": "nan"}, "not_kind", "'nan'"),
        ({"cost": -1}, "not_kind", "'-1'"),
        ({"rated_at": "yesterday"}, "not_kind", "'yesterday'"),
        ({"rationale": "\x00"}, "nul_in_text", "rationale"),
        ({"pair_index": 7}, "no_pair_of_number", 7),
    ],
)
def test_what_an_export_never_says_is_refused(changes: dict[str, Any], code: str, value: object) -> None:
    study_of("copy")
    with pytest.raises(BadFile) as caught:
        read(line(**changes))
    (bad_line,) = caught.value.lines
    assert bad_line.reason.code == code
    assert value in bad_line.reason.values.values()
    assert not Judgment.objects.exists()


@pytest.mark.any_engine
def test_a_file_without_a_readable_line_says_what_is_wrong_with_them() -> None:
    study_of("copy")
    with pytest.raises(BadFile) as caught:
        import_judgments(data=b"{broken\n{}\n", name="judgments.jsonl", slug="copy")
    assert [one.number for one in caught.value.lines] == [1]


def test_the_same_line_twice_is_refused() -> None:
    study_of("copy")
    with pytest.raises(BadFile, match="is on line 1 already"):
        read(line(), line())


def test_exporter_and_importer_have_the_same_columns(source: Built, tmp_path: Path) -> None:
    with exported(source, "judgments", "csv", tmp_path).open(newline="") as file:
        assert tuple(next(csv.reader(file))) == JUDGMENT_COLUMNS
