"""Comparison tables, choices between two of them and lists of aspects, as models write them."""

import json
import re
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.reasons import reason
from judging.core.errors import UnparsedVerdict
from judging.methods import Reply
from judging.methods.sc2.aspects import most_central, read_list
from judging.methods.sc2.comparator import read_choice
from judging.methods.sc2.record import Record, TableRow, format_table, shown_record, swap_sides
from judging.methods.sc2.tables import read_table

ASPECTS = ["coverage of the main points", "accuracy", "clear wording"]
ROWS: list[dict[str, Any]] = [
    {"aspect": ASPECTS[0], "only_a": "names the date", "both": "name the place", "only_b": ""},
    {"aspect": ASPECTS[1], "only_a": "", "both": "", "only_b": "gets the sum wrong"},
    {"aspect": ASPECTS[2], "only_a": "short sentences", "both": "plain words", "only_b": "long ones"},
]


def read(text: str, aspects: list[str] = ASPECTS) -> list[TableRow]:
    return read_table(Reply(text), aspects)


def changed(place: int, **cells: Any) -> list[dict[str, Any]]:
    return [{**row, **(cells if number == place else {})} for number, row in enumerate(ROWS)]


BARS = """Here is the table you asked for:

| Aspect | Only A | Both | Only B |
|---|:--:|---|---|
| 1. Coverage of the main points | names the date | name the place | – |
| Accuracy | n/a | | gets the sum wrong |
| **Clear wording** | short sentences | plain words | long ones |
"""

WITHOUT_EDGES = """Aspect | Only A | Both | Only B
---|---|---|---
coverage of the main points | names the date | name the place |
accuracy | | | gets the sum wrong
clear wording | short sentences | plain words | long ones
"""
OWN_COLUMNS = [
    {"Aspect": r["aspect"].upper(), "Only A": r["only_a"], "Common": r["both"], "Only in Summary B": r["only_b"]}
    for r in ROWS
]
BLANK = [{"aspect": aspect, "only_a": "", "both": "", "only_b": ""} for aspect in ASPECTS]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(json.dumps({"rows": ROWS}), id="as asked"),
        pytest.param(
            f"Sure!\n```json\n{json.dumps({'rows': ROWS}, indent=1)}\n```\nI hope that helps.", id="in a fence"
        ),
        pytest.param(json.dumps(ROWS), id="a bare list"),
        pytest.param(
            f"<think>{{a guess}}</think>{json.dumps({'table': ROWS})}", id="after a thought, under another name"
        ),
        pytest.param(json.dumps({"rows": ROWS[::-1]}), id="in another order"),
        pytest.param(json.dumps({row["aspect"]: row for row in ROWS}), id="by aspect"),
        pytest.param(json.dumps(OWN_COLUMNS), id="columns of its own"),
        pytest.param(BARS, id="drawn with bars"),
        pytest.param(WITHOUT_EDGES, id="drawn with bars, none at the edges"),
        pytest.param(re.sub(r"(?m)^\|", "| |", BARS), id="drawn with bars, with a column more"),
        pytest.param(f"{json.dumps(BLANK)}\nFilled in:\n{json.dumps({'rows': ROWS})}", id="after the blank form"),
        pytest.param(json.dumps({"rows": [*ROWS, {**ROWS[0], "aspect": "its own"}]}), id="with a row more"),
        pytest.param(json.dumps({"rows": changed(0, aspect="Coverage")}), id="a shortened aspect"),
        pytest.param(json.dumps({"rows": changed(1, aspect="is it true?")}), id="an aspect in other words"),
        pytest.param(json.dumps({"rows": changed(0, only_a=["names the date"], only_b=None)}), id="lists and nulls"),
        pytest.param(json.dumps({"rows": changed(0, only_a="names\n the  date", only_b="None.")}), id="line breaks"),
    ],
)
def test_table_is_read_in_whatever_form(text: str) -> None:
    assert read(text) == ROWS


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("", "empty answer", id="nothing"),
        pytest.param("They are much the same.", "no table", id="prose"),
        pytest.param(json.dumps({"rows": ROWS})[:-40], "no row|no table", id="cut off"),
        pytest.param(json.dumps({"rows": ROWS[:2]}), "no row for “clear wording”", id="an aspect is missing"),
        pytest.param(json.dumps({"rows": [*ROWS, ROWS[0]]}), "more than one row for “coverage", id="an aspect twice"),
        pytest.param(
            json.dumps({"rows": [{"aspect": one, "only_a": "", "both": "-", "only_b": "none"} for one in ASPECTS]}),
            "all empty",
            id="empty",
        ),
        pytest.param(json.dumps({"rows": changed(0, both="x" * 401)}), "401 characters", id="a far too long cell"),
        pytest.param(json.dumps({"rows": changed(0, both=7)}), "no row", id="a number for a cell"),
        pytest.param("[" * 5000, "no table", id="brackets only"),
        pytest.param(
            json.dumps([ROWS[0], {**ROWS[1], "aspect": "wording: clear?"}, {**ROWS[2], "aspect": "factual accuracy"}]),
            "no row for “accuracy”",
            id="rows that belong to each other's places",
        ),
        pytest.param("| Aspect | Only A | Both |\n| accuracy | x | y |", "no table", id="a column is missing"),
        pytest.param(BARS.replace("n/a", "x | y"), "no row for “accuracy”", id="a bar within a cell"),
        pytest.param(
            json.dumps([{"aspect": one, "left": "x", "both": "y", "right": "z"} for one in ASPECTS]),
            "no table",
            id="columns of unknown names",
        ),
    ],
)
def test_what_is_no_table_says_why(text: str, reason: str) -> None:
    with pytest.raises(UnparsedVerdict, match=reason):
        read(text)


def test_escaped_bar_is_part_of_its_cell() -> None:
    assert read(BARS.replace("plain words", r"a \| b"))[2]["both"] == "a | b"


def test_cell_that_is_left_out_is_empty() -> None:
    rows = [{name: cell for name, cell in row.items() if cell} for row in ROWS]
    assert read(json.dumps({"rows": rows})) == ROWS


@given(st.text(alphabet='{}[]",:|aboth_ \n', max_size=80))
def test_any_answer_is_a_table_or_unparsed(text: str) -> None:
    with suppress(UnparsedVerdict):
        assert [row["aspect"] for row in read(text, ["a"])] == ["a"]


CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=60).map(
    lambda text: " ".join(text.split())
)


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=5))
def test_what_is_written_as_json_is_read_again(cells: list[tuple[str, str, str]]) -> None:
    aspects = [f"aspect {'x' * place}y" for place in range(len(cells))]
    rows = [
        {"aspect": aspect, "only_a": a, "both": both, "only_b": b}
        for aspect, (a, both, b) in zip(aspects, cells, strict=True)
    ]
    blank = {"", "-", "–", "—", "none", "n/a", "na", "nothing", "empty", "null"}
    kept = [
        {name: "" if name != "aspect" and cell.strip(" .").casefold() in blank else cell for name, cell in row.items()}
        for row in rows
    ]
    if any(row[cell] for row in kept for cell in ("only_a", "both", "only_b")):
        assert read(json.dumps({"rows": rows}), aspects) == kept
    else:
        with pytest.raises(UnparsedVerdict):
            read(json.dumps({"rows": rows}), aspects)


def test_written_table_says_what_stands_where() -> None:
    text = format_table(read(json.dumps({"rows": ROWS})))
    assert text.splitlines()[:4] == [ASPECTS[0], "  only A: names the date", "  both: name the place", "  only B: –"]


def test_turned_record_changes_sides_everywhere_and_back() -> None:
    record: Record = {
        "scheme": "tournament",
        "aspects": {"how": "given", "chosen": ASPECTS},
        "samples": [{"rows": read(json.dumps({"rows": ROWS}))}, {"lost": reason("table_empty").stored()}],
        "budget": None,
        "left_over": 0,
        "schema": False,
        "asked_first": "a",
        "bracket": [{"round": 1, "first": 0, "winner": 0, "how": "bye"}],
        "wins": [0, None],
        "coins": 0,
        "winner": 0,
        "calls": {"table": 2},
    }
    other = swap_sides(record)
    assert other["asked_first"] == "b"
    assert other["samples"][0]["rows"][0] == {**ROWS[0], "only_a": "", "only_b": "names the date"}
    assert other["samples"][1] == record["samples"][1]
    assert swap_sides(other) == record
    lost = {"lost": reason("table_empty").text, "lost_code": "table_empty"}
    assert shown_record(record)["samples"] == [record["samples"][0], lost]


@pytest.mark.parametrize(
    ("text", "first_wins", "reason"),
    [
        ("Choice: 1\nReason: It never repeats itself.", True, "It never repeats itself."),
        ("Choice: 2", False, ""),
        ("**Choice:** Table 2\n\n**Reason:** fewer overlaps", False, "fewer overlaps"),
        ("2. Table 2 keeps the cells apart.", False, "Table 2 keeps the cells apart."),
        ("Table 1 is the more consistent one, unlike table 2.", True, "the more consistent one, unlike table 2"),
        ("Table 2 is clearly better: no overlaps", False, "clearly better: no overlaps"),
        ("<think>Choice: 2?</think>Choice: 1", True, ""),
        ("1", True, ""),
        ("Choice: 1\nNo, wait.\nChoice: 2", False, ""),
        ("Choice: 2\nreason: it keeps them apart", False, "it keeps them apart"),
        ("It repeats itself. [RESULT] 2", False, ""),
        ("\\boxed{2}", False, ""),
        ('Choice: 2\nReason: the source says "Choice: 1"', False, 'the source says "Choice: 1"'),
        ("Choice: 2\n> Choice: 1\nis cited.", False, "> Choice: 1\nis cited"),
    ],
)
def test_choice_of_a_table_is_read(text: str, first_wins: bool, reason: str) -> None:
    decision = read_choice(Reply(text))
    assert decision.first_wins == first_wins
    assert decision.reason.rstrip(".") == reason.rstrip(".")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Both are fine.",
        "Choice: 3",
        "Choice: 1 or 2",
        "Choice: 1\nChoice: 2 or 1",
        "12 cells overlap",
        "Neither. Choice: none",
        "1 and 2 are alike",
        "Table 1 is less consistent than table 2.",
        "Table 1 is not the more consistent one.",
        "Table 1 is more inconsistent.",
        "1. Table 2 is the more consistent one.",
        "1. Table 1 repeats itself.\n2. Table 2 doesn't.\nSo it is table 2.",
    ],
)
def test_unclear_choice_is_none(text: str) -> None:
    with pytest.raises(UnparsedVerdict):
        read_choice(Reply(text))


def test_list_is_read_after_the_reasons_each_aspect_once() -> None:
    text = "- they differ in length\nSo these matter.\nAspects:\n- Accuracy\n- tone\n* accuracy\n1. coverage"
    assert read_list(Reply(text)) == ["Accuracy", "tone", "coverage"]


def test_list_without_its_heading_is_read_all_the_same() -> None:
    assert read_list(Reply("- accuracy\n- tone")) == ["accuracy", "tone"]


def test_most_agreeable_list_is_the_one_that_is_most_like_the_others() -> None:
    lists = [
        ["price", "colour"],
        ["main points", "accuracy", "tone"],
        ["accuracy", "the main points"],
        ["accuracy", "tone"],
    ]
    # By hand: the fourth shares both aspects with the second and one with the third.
    assert most_central(lists) == 1
    assert most_central([["a"], ["a"]]) == 0
    assert most_central([["a"]]) == 0
