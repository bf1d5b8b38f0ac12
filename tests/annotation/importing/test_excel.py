"""Excel files: the first sheet is read as CSV, and its size is known before it is unpacked."""

import io
import zipfile
from datetime import date
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from annotation.core.errors import BadFile
from annotation.core.files.file_bounds import Bound
from annotation.core.files.sent_files import read_sent
from annotation.importing.formats.public_forms import recognised
from annotation.importing.formats.ratings_file import parse_ratings
from tests.factories import parse_study_file

MOST = 10_000_000


def sheet(path: Path, *rows: tuple[Any, ...]) -> Path:
    book = openpyxl.Workbook()
    for row in rows:
        book.worksheets[0].append(row)
    book.create_sheet("other").append(["not read"])
    book.save(path)
    return path


def read(path: Path, *, most: int = MOST, rows: int = 100) -> bytes:
    return read_sent(path, path.name, limit=most, bound=Bound(rows)).data


def test_texts_of_a_sheet_are_those_of_a_study_file(tmp_path: Path) -> None:
    header = ("instance_id", "source", "gpt-4.1/1", "b/1", None)
    path = sheet(tmp_path / "f.xlsx", header, (1, "Frage;\n„ü“", "x, y", '"z"'), (None,) * 4, (2, "b", 3.5, None))
    (first, second) = parse_study_file(read(path), "f.xlsx")

    assert (first.instance_id, first.source) == ("1", "Frage;\n„ü“")
    assert first.generations == {"gpt-4.1": ["x, y"], "b": ['"z"']}
    assert (second.number, second.generations) == (4, {"gpt-4.1": ["3.5"], "b": [""]})


def test_ratings_keep_numbers_and_times(tmp_path: Path) -> None:
    header = ("instance_id", "system_a", "system_b", "rater", "rating", "late")
    rows_of_sheet = ("i", "a", "b", "r", -1, True), ("j", "a", "b", date(2026, 1, 2), 1.0, False)
    path = sheet(tmp_path / "f.xlsx", header, *rows_of_sheet)
    rows, bad = parse_ratings(read(path), "f.xlsx")

    assert [(row.rater, row.rating, row.late) for row in rows] == [("r", -1, True), ("2026-01-02T00:00:00", 1, False)]
    assert (bad, recognised(read(path), "f.xlsx").name) == ([], "ratings")


def test_a_cell_beyond_the_header_is_refused_with_its_line(tmp_path: Path) -> None:
    path = sheet(tmp_path / "f.xlsx", ("instance_id", "source", "a/1", "b/1"), ("i", "s", "x", "y", "z"))
    with pytest.raises(BadFile) as caught:
        parse_study_file(read(path), "f.xlsx")

    assert [(line.number, line.reason.code) for line in caught.value.lines] == [(2, "cells")]


@pytest.mark.parametrize(
    ("most", "rows", "code"), [(MOST, 2, "too_many"), (2_000, 100, "rows_too_large")], ids=["rows", "unpacked bytes"]
)
def test_a_sheet_that_is_too_large_is_refused(tmp_path: Path, most: int, rows: int, code: str) -> None:
    path = sheet(tmp_path / "f.xlsx", ("a", "b"), *(("x", number) for number in range(5)))
    path.write_bytes(path.read_bytes())
    with pytest.raises(BadFile) as caught:
        read_sent(path, "f.xlsx", limit=max(most, path.stat().st_size), bound=Bound(rows))

    assert [line.reason.code for line in caught.value.lines] == [code]


def test_a_zip_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = sheet(tmp_path / "f.xlsx", ("a", "b"))
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet9.xml", b" " * 50_000_000)
    with pytest.raises(BadFile) as caught:
        read(path)

    assert path.stat().st_size < 100_000
    assert [line.reason.code for line in caught.value.lines] == ["rows_too_large"]


def test_what_is_no_excel_file_is_refused(tmp_path: Path) -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("xl/workbook.xml", "<<")
    for data in (b"", b"PK\x03\x04", archive.getvalue()):
        (tmp_path / "f.xlsx").write_bytes(data)
        with pytest.raises(BadFile) as caught:
            read(tmp_path / "f.xlsx")
        assert [line.reason.code for line in caught.value.lines] == ["unreadable"]
