"""Exports: columns, defused formulas, nothing dropped, files whole or not at all."""

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.files.spreadsheet import defuse, restore
from annotation.models import Annotator, Assignment
from reporting.exports import files
from reporting.exports import rows as rows_of
from reporting.exports.rows import RATING_COLUMNS, rating_rows
from tests.reporting.builders import Built, build_configuration, build_study, judge, rate

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
FORMULA = '=HYPERLINK("http://evil.example")'


@pytest.fixture
def built(db: None) -> Built:
    """Ratings of every kind: counted, late, excluded, unfinished, surplus; and a judge's."""
    built = build_configuration(build_study(), instances=3, pairs=2, systems=("=cmd()", "@other"))
    rate(built, 0, "ann", [-1, 1], a_is_left=[True, False], reason=FORMULA, active_seconds=1.5)
    rate(built, 1, "ann", [0, 1], late=True)
    rate(built, 0, "bob", [1, 1], fills_slot=False)
    rate(built, 0, "open", [1, None], state="claimed")
    rate(built, 0, "out", [1, 1])
    Annotator.objects.filter(code="out").update(excluded=True, exclusion_reason="clicked through")
    rate(built, 2, "gone", [1, 1])
    Assignment.objects.filter(annotator__code="gone").update(excluded=True)
    judge(built, "direct", [(0, 0, "ba", -1), (0, 1, "ab", "unparsed")])
    return built


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def export(built: Built, folder: Path, form: str) -> None:
    call_command("export_study", built.study.slug, "--format", form, "--out", str(folder))


@pytest.mark.engine
def test_rows_tell_what_was_shown_first_and_uncounted_ones_are_flagged_and_not_dropped(built: Built) -> None:
    rows = list(rating_rows(built.study))
    of_ann = [row for row in rows if row["rater"] == "ann"]
    assert [(row["rating"], row["shown_first"]) for row in of_ann[:2]] == [(-1, "a"), (1, "b")]
    assert (rows[0]["system_a"], rows[0]["system_b"], rows[0]["rater_kind"]) == ("=cmd()", "@other", "person")
    reasons = {row["rater"]: row["exclusion_reason"] for row in rows if row["excluded"]}
    assert reasons == {
        "bob": rows_of.SURPLUS,
        "open": rows_of.NOT_SUBMITTED,
        "out": "clicked through",
        "gone": "assignment excluded",
    }
    assert [row["late"] for row in rows if row["rater"] == "ann"] == [False, False, True, True]


def test_formulas_are_defused_in_csv_only_and_numbers_stay_numbers(built: Built, tmp_path: Path) -> None:
    export(built, tmp_path, "csv")
    export(built, tmp_path, "jsonl")
    row = read_csv(tmp_path / "ratings.csv")[0]
    assert row["reason"] == f"'{FORMULA}"
    assert (row["system_a"], row["system_b"]) == ("'=cmd()", "'@other")
    assert row["rating"] == "-1"
    assert row["excluded"] == "false"
    first = json.loads((tmp_path / "ratings.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert (first["reason"], first["system_a"], first["rating"], first["excluded"]) == (FORMULA, "=cmd()", -1, False)


STARTS = ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"]


@pytest.mark.parametrize("start", [*STARTS, "'=", "''@", "'\n", "'＝"])
def test_text_that_a_spreadsheet_would_run_is_defused(start: str) -> None:
    assert defuse(f"{start}1") == f"'{start}1"


@given(
    apostrophes=st.integers(0, 3), start=st.sampled_from(["", *STARTS]), text=st.text(st.sampled_from("=-; \t\u2060'a"))
)
def test_defusing_is_undone_on_import(apostrophes: int, start: str, text: str) -> None:
    text = "'" * apostrophes + start + text
    assert restore(defuse(text)) == text
    assert defuse(text)[:1] not in STARTS


@given(before=st.text(), separator=st.sampled_from(";\t"), spaces=st.integers(0, 2), sign=st.sampled_from("=+-@＝"))
def test_no_cell_begins_with_a_formula_where_semicolons_or_tabs_separate(
    before: str, separator: str, spaces: int, sign: str
) -> None:
    text = before + separator + " " * spaces + sign + "1+1"
    cells = re.split("[;\t]", defuse(text)[1:])
    assert [cell for cell in cells[1:] if cell.lstrip(" ").startswith(("=", "+", "-", "@", "＝"))] == []
    assert restore(defuse(text)) == text


@pytest.mark.parametrize("text", ["x=';'+y", "- one;\n- two", "a; b = c", "a;b-1"])
def test_texts_of_other_files_are_not_changed_by_restoring(text: str) -> None:
    assert restore(text) == text


@pytest.mark.parametrize("text", ["", "plain", "'quoted'", "1-1", " =1"])
def test_harmless_text_is_left_alone(text: str) -> None:
    assert defuse(text) == text


def test_export_refuses_a_folder_that_is_a_file(built: Built, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("mine", encoding="utf-8")
    with pytest.raises(CommandError, match="is a file"):
        export(built, taken, "csv")
    with pytest.raises(CommandError, match="is a file"):
        export(built, taken / "below", "csv")
    assert taken.read_text(encoding="utf-8") == "mine"


def test_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text("old", encoding="utf-8")

    def broken() -> Iterator[dict[str, Any]]:
        yield dict.fromkeys(RATING_COLUMNS, "x")
        raise ConnectionError("the database went away")

    with pytest.raises(ConnectionError):
        files.write_rows(path, broken(), RATING_COLUMNS, "csv")
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]
