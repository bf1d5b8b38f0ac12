"""The documentation names every column of the exported files."""

import re
from pathlib import Path

import pytest

from annotation.importing.formats.long_form import ANSWER_COLUMNS, PLACE, RATING_COLUMNS
from annotation.models import Study
from reporting.exports.files import KINDS

DATA = Path(__file__).parents[3] / "docs" / "data.md"


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "ratings"])
def test_the_documentation_names_every_column_in_its_order(kind: str) -> None:
    line = next(line for line in DATA.read_text().splitlines() if line.startswith(f"| `{kind}` |"))
    named = [word.strip() for part in re.findall("`([^`]*)`", line.partition(" | ")[2]) for word in part.split(",")]
    of_every_row = {"judgments": RATING_COLUMNS, "history": PLACE, "flags": PLACE}.get(kind, ())
    columns = [column for column in KINDS[kind][1](Study()) if column not in of_every_row]
    assert [word for word in named if word in columns][-len(columns) :] == columns


def test_the_documentation_names_every_column_of_ratings() -> None:
    section = DATA.read_text().partition("## Ratings, long form")[2].partition("\n## ")[0]
    named = {word.strip() for part in re.findall("`([^`]*)`", section) for word in part.split(",")}
    assert {*RATING_COLUMNS, *ANSWER_COLUMNS} - named == {
        "study",
        "rater_kind",
    }  # which the text before the table names
