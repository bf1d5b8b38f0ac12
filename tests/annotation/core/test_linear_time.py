"""Readers of imported texts and cells take time in proportion to their length."""

import pytest

from analysis.judges.table_checks import sentences
from annotation.core.files.lines import read_csv, read_json
from annotation.core.files.spreadsheet import defuse, restore
from annotation.core.formulas import with_formulas
from annotation.core.markdown import is_blank, render_generation, shown_text
from annotation.importing.formats.labelled import _TURN
from tests.linear_time import slow_texts

pytestmark = pytest.mark.slow


def csv_cell(text: str) -> list[object]:
    """Read a file of CSV with a text in a cell."""
    _, records, _ = read_csv(f'text\n"{text}"\n'.encode())
    return list(records)


READERS = {
    "Markdown": render_generation,
    "formulas": lambda text: with_formulas(text, str),
    "both": lambda text: shown_text(text, rendered=True, math=True),
    "formulas as typed": lambda text: shown_text(text, rendered=True),
    "cell of CSV": csv_cell,
    "line of JSON": lambda text: list(read_json(text.encode())[0]),
    "formula of a spreadsheet": lambda text: (defuse(text), restore(text)),
    "blank text": is_blank,
    "sentences": sentences,
    "turns": _TURN.split,
}


# "both" reads by both of these.
PARTS = ("Markdown", "formulas as typed")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.weekly if name in PARTS else ()) for name in sorted(READERS)]
)
def test_reader_takes_linear_time(name: str) -> None:
    assert slow_texts(READERS[name], ("",), (ValueError,)) == []
