"""Files that would take a process's memory: counted and refused while they are read, before anything is made of them."""

import csv
import io
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.core.errors import MOST_BAD_LINES, BadFile
from annotation.core.files import file_bounds, json_values, lines
from annotation.core.refusals import restored, stored
from annotation.importing import study_files
from annotation.importing.formats.labelled import parse_labelled
from annotation.importing.formats.mturk import parse_mturk
from annotation.importing.formats.ratings_file import parse_ratings
from annotation.importing.formats.study_file import read_study_file
from annotation.importing.formats.votes import parse_votes
from annotation.importing.tables import import_tables
from annotation.models import Study
from judging.importing.judgments import parse_judgments
from reporting.uploads.files import import_file
from tests.factories import csv_file, json_lines, make_study, mturk_row, parse_study_file, study_line

pytestmark = pytest.mark.slow

MB = 2**20
SIZE = MB  # so large that a thousand refused lines, whose number is bounded, weigh little
Read = Callable[[bytes, str], object]


def refused_ratings(data: bytes, name: str) -> None:
    rows, bad = parse_ratings(data, name)
    assert not [*rows]
    lines.refuse(name, bad)


READERS: dict[str, Read] = {
    "study": lambda data, name: parse_study_file(data, name),
    "sources": lambda data, name: parse_study_file(data, name, sources_only=True),
    "labelled": lambda data, name: parse_labelled(data, name, form="labelled"),
    "preferences": lambda data, name: parse_labelled(data, name, form="preferences"),
    "ratings": lambda data, name: refused_ratings(data, name),
    "votes": lambda data, name: parse_votes(data, name, data, name, dataset="d"),
    "mturk": lambda data, name: parse_mturk(data, name),
    "judgments": lambda data, name: lines.refuse(name, parse_judgments(data, name).bad),
}


def refused_files(size: int) -> dict[str, bytes]:
    """Return files of about this size that no reader takes."""
    return {
        "empty lines": b"\n" * size,
        "lines of blanks": b" \n" * (size // 2),
        "empty objects": b"{}\n" * (size // 3),
        "an array of empty objects": b"[" + b"{}," * (size // 3) + b"{}]",
        "rows of one cell": b"a,b\n" + b"x\n" * (size // 2),
        "no encoding": b"\xff\n" * (size // 2),
    }


FILES, SHORT_FILES = refused_files(SIZE), refused_files(SIZE // 8)
# Read to their end, so what they take grows with them; of the others, a thousand errors are most of what is taken.
READ_WHOLE = {
    *((kind, file) for kind in READERS for file in ("empty lines", "lines of blanks")),
    ("judgments", "empty objects"),
    ("judgments", "an array of empty objects"),
}
ONE_OBJECT = b'[{"a":[' + b"{}," * (MB // 4) + b"{}]}]"  # three quarters of a megabyte


def peak(read: Read, data: bytes, name: str) -> float:
    """Return the memory that a refused file took, as a multiple of its size."""
    tracemalloc.start()
    try:
        with pytest.raises(BadFile):
            read(data, name)
        return tracemalloc.get_traced_memory()[1] / len(data)
    finally:
        tracemalloc.stop()


@pytest.mark.weekly
@pytest.mark.parametrize(
    ("kind", "file"),
    [(kind, file) for kind in READERS for file in FILES if (kind, file) != ("mturk", "an array of empty objects")],
)
def test_a_file_that_is_refused_takes_little_more_than_its_own_size(kind: str, file: str) -> None:
    name = "f.csv" if kind == "mturk" or file == "rows of one cell" else "f.jsonl"
    files = SHORT_FILES if (kind, file) in READ_WHOLE else FILES
    assert peak(READERS[kind], files[file], name) < 3


def test_of_one_object_only_so_much_is_built_as_a_line_may_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (json_values, lines):
        assert module.MAX_LINE_BYTES == 4 * MB
        monkeypatch.setattr(module, "MAX_LINE_BYTES", MB // 4)
    assert peak(READERS["judgments"], ONE_OBJECT, "f.json") < 15  # three bytes make a dictionary of 64, at first


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("f.jsonl", lambda path: sum(1 for _ in read_study_file(path, "f.jsonl")[0])),
        ("f.csv", lambda path: sum(1 for _ in parse_ratings(path, "f.csv")[0])),
    ],
)
def test_a_file_is_read_without_being_held_in_memory(name: str, read: Callable[[Path], int], tmp_path: Path) -> None:
    text = "many words " * 2_000
    if name == "f.csv":
        row = {"instance_id": "i", "system_a": "p", "system_b": "q", "rating": 1, "reason": text}
        data = csv_file([{**row, "rater": f"r{number}"} for number in range(500)])
    else:
        data = json_lines(study_line(f"i{number}", source=text) for number in range(500))
    (tmp_path / name).write_bytes(data)
    read(tmp_path / name)  # what is made once
    tracemalloc.start()
    try:
        assert read(tmp_path / name) == 500
        assert tracemalloc.get_traced_memory()[1] < len(data) / 2  # the first 4 MB are looked at
    finally:
        tracemalloc.stop()


def test_an_array_that_memory_may_not_hold_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MOST_ARRAY_BYTES", 2 * MB)
    file = tmp_path / "f.json"
    file.write_bytes(b"[" + b" " * 2 * MB + b"]")
    with pytest.raises(BadFile) as caught:
        parse_study_file(file, "f.json")
    assert [(line.number, line.reason.code) for line in caught.value.lines] == [(1, "array_too_large")]


@pytest.mark.django_db
def test_a_file_that_changes_meanwhile_is_refused_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "f.jsonl"
    file.write_bytes(json_lines([study_line("i1")]))
    stage = study_files.stage_instances

    def changed(**arguments: Any) -> Any:
        file.write_bytes(file.read_bytes() + b"\n{}")
        return stage(**arguments)

    monkeypatch.setattr(study_files, "stage_instances", changed)
    with pytest.raises(BadFile):
        study_files.import_study(data=file, name="f.jsonl", slug="s")
    assert not Study.objects.exists()


def test_reading_stops_at_the_first_thousand_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    load = lines.read_value

    def counted(line: str) -> Any:
        read.append(line)
        return load(line)

    monkeypatch.setattr(lines, "read_value", counted)
    with pytest.raises(BadFile) as caught:
        parse_study_file(b"7\n" * (3 * MOST_BAD_LINES), "big.jsonl")

    assert len(read) <= MOST_BAD_LINES
    assert len(caught.value.lines) == MOST_BAD_LINES == 1000
    assert str(caught.value).startswith("big.jsonl: 1,000 bad lines, and reading stopped there; nothing was stored\n")


def test_a_file_of_too_many_lines_is_counted_and_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MOST_LINES", 3)
    good = json_lines(study_line(f"i{number}") for number in range(4))
    with pytest.raises(BadFile, match="line 4: the file has 4 lines; at most 3 are read: split it"):
        parse_study_file(good, "f.jsonl")
    assert len(parse_study_file(b"\n".join(good.splitlines()[:3]), "f.jsonl")) == 3


# Uploads, by page and API


def labelled_array(count: int) -> bytes:
    one = {"input": "i", "output_1": "a", "output_2": "b", "label": 1}
    return json.dumps([one] * count, indent=1).encode()  # each on several lines


def mturk_file(pairs: int) -> bytes:
    return csv_file([mturk_row(order=[1] * pairs, answers=[-1] * pairs)])


TEXTS = {"p": ["1", "2"], "q": ["3", "4"]}
MANY_LINES = [study_line(f"i{number}") for number in range(21)]
RATINGS = b"instance_id,system_a,system_b,rater,rating,shown_first,pair_index\n" + b"i,p,q,r,0,a,0\n" * 21


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("kind", "name", "data", "what", "command"),
    [
        pytest.param("study", "f.jsonl", json_lines(MANY_LINES), "rows", "import_study", id="study"),
        pytest.param(
            "study",
            "f.jsonl",
            json_lines(study_line(f"i{number}", generations=TEXTS) for number in range(5)),
            "texts",
            "import_study",
            id="few lines of many texts",
        ),
        pytest.param("sources", "f.jsonl", json_lines(MANY_LINES), "rows", "import_sources", id="sources"),
        pytest.param("labelled", "f.json", labelled_array(6), "instances", "import_study", id="labelled"),
        pytest.param("ratings", "f.csv", RATINGS, "rows", "import_ratings", id="ratings"),
        pytest.param("mturk", "f.csv", mturk_file(6), "ratings", "import_mturk", id="mturk"),
        pytest.param("tables", "f.jsonl", b"{}\n" * 6, "rows", "import_tables", id="tables"),
    ],
)
def test_an_upload_of_too_much_says_the_bound_and_the_command(
    kind: str, name: str, data: bytes, what: str, command: str, settings: Any
) -> None:
    make_study(instances=0)
    settings.UPLOAD_MAX_ROWS = 5
    with pytest.raises(BadFile) as caught:
        import_file(kind=kind, data=data, name=name, slug="study", dataset="d", system_1="p", system_2="q")
    most = 20 if kind in file_bounds.IN_BLOCKS else 5
    assert f"more than {most} {what}: split it, or import it with manage.py {command}," in str(caught.value)
    [line] = caught.value.lines
    assert line.reason.values["instead"].code == "split_or_command"
    assert restored(**stored(line)) == line
    assert not Study.objects.get().instances.exists()


MANY = {"m": [[]] * 401}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("kind", "line", "command"),
    [
        pytest.param("study", study_line("i", metadata=MANY), "import_study", id="study"),
        pytest.param("study", study_line("i", **MANY), "import_study", id="fields of its own"),
        pytest.param("sources", {"instance_id": "i", "source": "s", **MANY}, "import_sources", id="sources"),
        pytest.param("labelled", {"input": "i", "output_1": "a", "output_2": "b", "label": 1} | MANY, "import_study",
                     id="labelled"),
    ],
)  # fmt: skip
def test_an_upload_of_much_metadata_is_refused(kind: str, line: dict[str, Any], command: str, settings: Any) -> None:
    settings.UPLOAD_MAX_ROWS = 5
    most = 400 if kind in file_bounds.IN_BLOCKS else 100
    told = f"more than {most} values of metadata: split it, or import it with manage.py {command},"
    with pytest.raises(BadFile, match=told):
        import_file(
            kind=kind, data=json_lines([line]), name="f.jsonl", slug="study", dataset="d", system_1="p", system_2="q"
        )
    assert not Study.objects.exists()


@pytest.mark.parametrize("end", [b"\n", b"\r"], ids=["line feeds", "carriage returns"])
def test_empty_lines_of_a_csv_are_counted_at_once(monkeypatch: pytest.MonkeyPatch, end: bytes) -> None:
    monkeypatch.setattr(lines, "MOST_LINES", 3)
    monkeypatch.setattr(lines, "_csv_rows", lambda *given: pytest.fail("read row by row"))
    with pytest.raises(BadFile, match="more than 3 rows"):
        file_bounds.Bound(3).refuse_rows(b"a,b" + end * 5, "f.csv")
    with pytest.raises(BadFile, match="at most 3 are read: split it"):
        parse_study_file(b"a,b" + end * 5, "f.csv")


@pytest.mark.django_db
def test_lines_within_a_cell_and_an_array_s_layout_are_no_rows(settings: Any) -> None:
    settings.UPLOAD_MAX_ROWS = 12
    sheet = io.StringIO()
    rows = [["instance_id", "source", "p/1", "q/1"], *([f"i{n}", "line\n" * 19, "a", "b"] for n in range(3))]
    csv.writer(sheet).writerows(rows)
    for kind, name, data in (("study", "f.csv", sheet.getvalue().encode()), ("labelled", "f.json", labelled_array(3))):
        assert data.count(b"\n") > (48 if kind == "study" else 12)
        import_file(kind=kind, data=data, name=name, slug=kind, dataset="d", system_1="", system_2="")
        assert Study.objects.get(slug=kind).instances.count() == 3


@pytest.mark.django_db
def test_tables_that_are_refused_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    make_study(instances=0)
    tables: Read = lambda data, name: import_tables(data=data, name=name, slug="study")  # noqa: E731
    assert peak(tables, FILES["empty objects"], "f.jsonl") < 3


# Commands


@pytest.mark.django_db
def test_a_command_reads_no_file_beyond_its_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annotation.management.commands._base.MOST_BYTES", 2 * MB)
    file = tmp_path / "big.jsonl"
    file.write_bytes(b"\n" * (2 * MB + 1))
    with pytest.raises(CommandError, match=r"big\.jsonl is larger than 2 MB; split it"):
        call_command("import_study", str(file), "--study", "s")
