"""Every kind of rows in every format: the same rows, fields and types, back in by its importer, bounded in memory."""

import csv
import json
import resource
import sys
import tracemalloc
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from annotation.core.errors import BadFile
from annotation.core.files import arrow_rows
from annotation.core.files.file_bounds import FOR_COMMANDS, Bound
from annotation.core.files.parquet import as_json_lines, write_parquet
from annotation.core.files.sent_files import read_sent
from annotation.core.files.spreadsheet import restore
from annotation.importing.study_files import import_study
from annotation.models import Study
from reporting.exports.content_rows import text_rows
from reporting.exports.files import FORMATS, KINDS, types_of
from tests.factories import make_user
from tests.whole_study import build_whole_study

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
READ = {
    "integer": int,
    "number": float,
    "boolean": lambda cell: {"true": True, "false": False}[cell],
    "json": json.loads,
    "text": restore,
}


@pytest.fixture(scope="module")
def study(module_rows: None) -> Study:
    made = build_whole_study("acme").study
    made.instances.filter(instance_id__contains="news").update(
        source="=1+1, as a spreadsheet reads it", metadata={"tags": ["hard"]}
    )
    made.tables.update(rows=[{"aspect": "When", "only_a": "-5 °C, on Monday", "both": "in spring", "only_b": ""}])
    return made


@pytest.fixture(scope="module")
def folder(study: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("exports")
    for form in FORMATS:
        call_command("export_study", study.slug, "--format", form, "--out", str(made / form))
    return made


def in_csv(path: Path) -> list[dict[str, Any]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    types = types_of(list(rows[0]))
    return [
        {name: READ[types[name]](cell) if cell or types[name] == "text" else None for name, cell in row.items()}
        for row in rows
    ]


def in_jsonl(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def without_nothing(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Take empty texts and missing ones, which CSV can't tell apart, as the same."""
    return [{name: None if value == "" else value for name, value in row.items()} for row in rows]


@pytest.mark.any_engine
@pytest.mark.engine
@pytest.mark.parametrize("kind", KINDS)
def test_all_formats_hold_the_same_rows_fields_and_types(folder: Path, kind: str) -> None:
    lines = in_jsonl(folder / "jsonl" / f"{kind}.jsonl")
    assert lines
    for form in ("csv", "csv-excel"):
        assert without_nothing(in_csv(folder / form / f"{kind}.csv")) == without_nothing(lines)
    assert (folder / "csv-excel" / f"{kind}.csv").read_bytes().startswith(b"\xef\xbb\xbf")
    assert in_jsonl_of_parquet(folder / "parquet" / f"{kind}.parquet") == lines
    python = {"integer": int, "number": (int, float), "boolean": bool, "text": str, "json": object}
    for name, kind_of in types_of(list(lines[0])).items():
        values = [row[name] for row in lines if row[name] is not None]
        assert all(isinstance(value, python[kind_of]) for value in values), name  # type: ignore[arg-type]
        assert kind_of == "boolean" or not any(isinstance(value, bool) for value in values) or kind_of == "json", name


def in_jsonl_of_parquet(path: Path) -> list[dict[str, Any]]:
    data = as_json_lines(path, path.name, limit=10**9, bound=FOR_COMMANDS)
    return [json.loads(line) for line in data.splitlines()]


def test_columns_have_types_that_other_programs_read(folder: Path) -> None:
    schema = pq.read_schema(folder / "parquet" / "judgments.parquet")
    named = {name: str(schema.field(name).type) for name in ("judge", "verdict", "p_b", "negated", "params")}
    assert named == {"judge": "string", "verdict": "int64", "p_b": "double", "negated": "bool", "params": "string"}


def test_only_what_is_named_is_written(study: Study, tmp_path: Path) -> None:
    call_command("export_study", study.slug, "--what", "raters", "settings", "--out", str(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["raters.csv", "settings.csv"]


def test_the_page_offers_all_files(study: Study, client: Client) -> None:
    client.force_login(make_user("reader", "researcher", study=study))
    page = client.get(f"/studies/{study.slug}/files/").text
    assert [one for one in KINDS if f"/studies/{study.slug}/export/{one}.parquet" not in page] == []
    sent = client.get(f"/studies/{study.slug}/export/settings.parquet")
    data = b"".join(sent.streaming_content)  # type: ignore[attr-defined]
    settings = {row["setting"]: row["value"] for row in pq.read_table(pa.BufferReader(data)).to_pylist()}
    assert json.loads(settings["pay_per_hit"]) == "1.00"


def test_parquet_and_arrow_of_elsewhere_are_read_as_json_lines(tmp_path: Path) -> None:
    rows = {"instance_id": ["a"], "source": ["s"], "generations": [{"x": ["1", "2"], "y": ["3", "4"]}]}
    table = pa.table(rows)
    pq.write_table(table, tmp_path / "study.parquet")
    with pa.ipc.new_stream(tmp_path / "data.arrow", table.schema) as stream:
        stream.write_table(table)
    for file in sorted(tmp_path.iterdir()):
        data = file.read_bytes()
        joined = read_sent(file, file.name, limit=2**20, bound=FOR_COMMANDS)
        study, _ = import_study(data=joined.data, name=joined.name, slug=file.suffix[1:])
        assert next(text_rows(study))["generations"] == {"x": ["1", "2"], "y": ["3", "4"]}
        with pytest.raises(BadFile, match="more than 0 MB"):
            as_json_lines(file, file.name, limit=3, bound=FOR_COMMANDS)
        with pytest.raises(BadFile, match="more than 0 rows"):
            as_json_lines(file, file.name, limit=2**20, bound=Bound(0))
        file.write_bytes(data[: len(data) // 2])
        with pytest.raises(BadFile, match="not a readable"):
            as_json_lines(file, file.name, limit=2**20, bound=FOR_COMMANDS)


def write_repeated_text(path: Path, text: str, rows: int) -> None:
    """Write many rows of one text, which takes its room once in the file."""
    column = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array([text]))
    pq.write_table(pa.table({"source": column}), path, compression="zstd")


def test_a_small_file_that_unpacks_to_more_than_the_memory_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "study.parquet"
    write_repeated_text(path, "x" * 2**21, 1000)
    assert path.stat().st_size < 200_000
    with pytest.raises(BadFile, match="more than 1 MB"):
        as_json_lines(path, path.name, limit=2**20, bound=FOR_COMMANDS)


def test_a_file_is_refused_by_the_bytes_that_it_states_before_any_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: Any
) -> None:
    path = tmp_path / "study.parquet"
    pq.write_table(pa.table({"source": [f"{number} {'x' * 1000}" for number in range(2000)]}), path, compression="zstd")
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", lambda *_, **__: iter([None]))
    assert path.stat().st_size < 100_000
    assert arrow_rows.main(str(path), "parquet", 2**20, 10_000) == arrow_rows.TOO_MUCH_TEXT
    assert capfdbinary.readouterr().out == b""


def test_a_small_file_of_millions_of_rows_is_refused_by_the_number_that_it_states(tmp_path: Path) -> None:
    path = tmp_path / "study.parquet"
    write_repeated_text(path, "word", 3_000_000)
    assert path.stat().st_size < 50_000
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with pytest.raises(BadFile, match="more than 250,000 rows"):
        as_json_lines(path, path.name, limit=2**28, bound=Bound(250_000))
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before.ru_utime < 3  # reading it takes 20


def test_without_pyarrow_the_extra_is_named(
    study: Study, tmp_path: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # as if it were not installed
    with pytest.raises(CommandError, match=r"tandem-eval\[parquet\]"):
        call_command("export_study", study.slug, "--format", "parquet", "--what", "flags", "--out", str(tmp_path))
    assert list(tmp_path.iterdir()) == []

    client.force_login(make_user("without", "researcher", study=study))
    assert ".parquet" not in client.get(f"/studies/{study.slug}/files/").text
    refused = client.get(f"/studies/{study.slug}/export/settings.parquet")
    assert refused.status_code == 409
    assert "pip install" in refused.text


def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    def rows() -> Iterator[dict[str, Any]]:
        while True:
            yield {"reason": "x" * 100, "rating": 1}

    def peak(count: int) -> int:
        tracemalloc.start()
        write_parquet(tmp_path / "rows", islice(rows(), count), types_of(("reason", "rating")))
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    few = peak(20_000)
    assert peak(60_000) < 1.2 * few
