"""Comparison tables: the calls for them, parsing them from various formats, and formatting them for prompts."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from annotation.core.reasons import reason
from judging.core.errors import UnparsedVerdict
from judging.methods.base import SCHEMA_PARAM, Call, Presentation, Reply, Setting
from judging.methods.options import LONGEST_CELL
from judging.methods.parsing.scores import read_text
from judging.methods.prompted import plain_call
from judging.methods.sc2.aspects import SAMPLED
from judging.methods.sc2.record import TableRow
from judging.methods.task_files import CRITERION
from judging.methods.verdict_schema import object_of, response_format

PROMPT, PROMPT_OF_CRITERION = "sc2-table.v1.txt", "sc2-table-criterion.v1.txt"
CELLS = ("only_a", "both", "only_b")
NOTHING = frozenset({"", "-", "–", "—", "none", "n/a", "na", "nothing", "empty", "null"})
# Names that models use for the columns.
NAMES: Mapping[str, frozenset[str]] = {
    "only_a": frozenset({"onlya", "aonly", "onlyina", "uniquetoa", "a"}),
    "both": frozenset({"both", "common", "shared", "aandb", "bothaandb", "similarities"}),
    "only_b": frozenset({"onlyb", "bonly", "onlyinb", "uniquetob", "b"}),
    "aspect": frozenset({"aspect", "aspects", "name", "criterion"}),
}
KNOWN = frozenset().union(*NAMES.values())
LIST_OF_ROWS = ("rows", "table", "aspects", "comparisons", "comparison")
OPENING = re.compile(r"[{\[]")
BAR = re.compile(r"(?<!\\)\|")
MOST_TRIES = 200  # possible starts of a JSON value, to bound the time
NUMBERING = re.compile(r"^\W*(?:aspect\s*)?\d*\W*")


def prompt_of(task: str) -> str:
    """Return the prompt file: under a criterion, the table is about nothing else."""
    return PROMPT_OF_CRITERION if task == CRITERION else PROMPT


def table_schema(aspects: Sequence[str], longest: int | None) -> dict[str, Any]:
    """Return the schema of a table. One with a longest cell has as many rows as aspects, so that each answer ends."""
    if longest is None:
        row = object_of({name: {"type": "string"} for name in ("aspect", *CELLS)})
        return object_of({"rows": {"type": "array", "items": row}})
    names, cell = list(dict.fromkeys(aspects)), {"type": "string", "maxLength": longest}
    row = object_of({"aspect": {"type": "string", "enum": names}, **dict.fromkeys(CELLS, cell)})
    return object_of({"rows": {"type": "array", "items": row, "minItems": len(aspects), "maxItems": len(aspects)}})


def table_call(
    presentation: Presentation,
    setting: Setting,
    aspects: Sequence[str],
    draw: int,
    *,
    schema: bool,
    optional: bool,
    longest: int | None = None,
) -> Call:
    """Return the call for one sampled table. The aspects may be model output, so they are fenced.

    longest : characters of a cell in the schema
    """
    blank = format_rows([{"aspect": aspect, "only_a": "", "both": "", "only_b": ""} for aspect in aspects])
    texts = {
        "source": presentation.source,
        "first": presentation.first,
        "second": presentation.second,
        "aspects": blank,
    }
    call = plain_call(
        "table",
        prompt_of(presentation.task),
        presentation,
        setting,
        texts,
        lambda reply: read_table(reply, aspects),
        params={**SAMPLED, **form_of(aspects, longest)} if schema else SAMPLED,
        draw=draw,
        optional=optional,
        attempts=1 if optional else None,
        example=_example_answer(aspects, draw),
    )
    return replace(call, plain=call.messages) if schema else call


def form_of(aspects: Sequence[str], longest: int | None) -> dict[str, Any]:
    """Return the request parameter that holds an answer to the form of a table."""
    return {SCHEMA_PARAM: response_format("comparison_table", table_schema(aspects, longest))}


def format_rows(rows: Sequence[TableRow]) -> str:
    """Format rows as JSON, one a line."""
    lines = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in rows)
    return f'{{"rows": [\n{lines}\n]}}'


def _example_answer(aspects: Sequence[str], draw: int) -> str:
    """Return a distinct answer of typical length, for estimates."""
    cell = f"It names the main point and two of the reasons that are given for it ({draw})."
    return format_rows([{"aspect": aspect, "only_a": cell, "both": cell, "only_b": cell} for aspect in aspects])


def read_table(reply: Reply, aspects: Sequence[str]) -> list[TableRow]:
    """Parse a table, JSON or Markdown, into one row per aspect in the given order, without rows of other aspects.

    Raises: UnparsedVerdict with the problem.
    """
    text = read_text(reply)
    tables = [rows for rows in (*_in_json(text), _in_bars(text)) if rows]
    if not tables:
        raise UnparsedVerdict(reason("no_table_in", text=text[-200:]))
    placed = _in_order(next(filter(_is_filled, tables), tables[0]), aspects)  # the blank form may come first
    if not _is_filled(placed):
        raise UnparsedVerdict(reason("table_empty"))
    return placed


def _is_filled(rows: Sequence[Mapping[str, Any]]) -> bool:
    return any(row[cell] for row in rows for cell in CELLS)


def _in_json(text: str) -> Iterator[list[dict[str, str]]]:
    """Yield the rows of every JSON value in a text."""
    decoder = json.JSONDecoder()
    position = 0
    for _ in range(MOST_TRIES):
        match = OPENING.search(text, position)
        if match is None:
            return
        try:
            value, position = decoder.raw_decode(text, match.start())
        except RecursionError:
            return
        except ValueError:
            position = match.start() + 1
            continue
        yield _rows_of(value)


def _rows_of(value: Any) -> list[dict[str, str]]:
    """Return the rows in a JSON value: a list, a list under a key, or cells by aspect."""
    if isinstance(value, list):
        return [row for entry in value if isinstance(entry, dict) and (row := _row(entry))]
    if not isinstance(value, dict):
        return []
    for name in LIST_OF_ROWS:
        if isinstance(value.get(name), list) and (rows := _rows_of(value[name])):
            return rows
    by_aspect = [_row({**cells, "aspect": aspect}) for aspect, cells in value.items() if isinstance(cells, dict)]
    return [row for row in by_aspect if row]


def _row(value: Mapping[str, Any]) -> dict[str, str]:
    """Return a row with normalised column names, and missing cells empty.

    Empty if the aspect is missing, a cell is no text, or a missing cell may be under an unknown name.
    """
    named = {_plain(str(name)): cell for name, cell in value.items()}
    row = {
        ours: next((named[their_name] for their_name in theirs if their_name in named), None)
        for ours, theirs in NAMES.items()
    }
    if not isinstance(row["aspect"], str) or any(not _is_cell(row[cell]) for cell in CELLS):
        return {}
    if named.keys() - KNOWN and any(named.keys().isdisjoint(NAMES[cell]) for cell in CELLS):
        return {}
    return {name: _cleaned(cell) for name, cell in row.items()}


def _is_cell(value: Any) -> bool:
    texts = value if isinstance(value, list) else [] if value is None else [value]
    return all(isinstance(text, str) for text in texts)


def _in_bars(text: str) -> list[dict[str, str]]:
    """Return the rows of a Markdown table, without lines that have more or fewer cells than the header."""
    lines = [
        [cell.replace("\\|", "|").strip() for cell in BAR.split(line)] for line in text.splitlines() if "|" in line
    ]
    heads = next((number for number, line in enumerate(lines) if len(line) >= len(NAMES) and _is_head(line)), None)
    if heads is None:
        return []
    names = _without_edges(lines[heads], len(NAMES))
    rows = [_without_edges(line, len(names)) for line in lines[heads + 1 :] if set("".join(line)) - set("-: ")]
    return [
        table_row for row in rows if len(row) == len(names) and (table_row := _row(dict(zip(names, row, strict=True))))
    ]


def _without_edges(line: Sequence[str], width: int) -> Sequence[str]:
    """Remove empty cells outside of the table's edges."""
    if len(line) > width and not line[0]:
        line = line[1:]
    return line[:-1] if len(line) > width and not line[-1] else line


def _is_head(line: Sequence[str]) -> bool:
    names = set(map(_plain, line))
    return all(names & theirs for theirs in NAMES.values())


def _plain(name: str) -> str:
    """Reduce a column's name to letters, without nouns for the texts."""
    letters = re.sub(r"[^a-z ]", " ", name.casefold())
    words = re.sub(
        r"\b(?:text|summary|response|answer|document|translation|the|what|says|is|in|to|for)\b", " ", letters
    )
    return words.replace(" ", "")


def _cleaned(cell: Any) -> str:
    """Return a cell as one line, empty if it only says "none".

    Raises: UnparsedVerdict for one that is far too long.
    """
    text = "; ".join(cell) if isinstance(cell, list) else cell or ""
    line = " ".join(text.replace("\x00", " ").encode("utf-8", "replace").decode().split())
    if len(line) > LONGEST_CELL:
        raise UnparsedVerdict(reason("table_cell_too_long", number=len(line), most=LONGEST_CELL))
    return "" if line.strip(" .").casefold() in NOTHING else line


def _in_order(rows: Sequence[Mapping[str, str]], aspects: Sequence[str]) -> list[TableRow]:
    """Sort the rows by the given aspects, with these aspects' wording.

    Raises: UnparsedVerdict for an aspect that is missing or duplicated.
    """
    named = [_bare(row["aspect"]) for row in rows]
    names_asked = [_bare(aspect) for aspect in aspects]
    exact_rows = [[row_index for row_index, name in enumerate(named) if name == aspect] for aspect in names_asked]
    if not all(exact_rows):  # reworded: match by prefix, or by position
        alike = [
            [row_index for row_index, name in enumerate(named) if _is_alike(name, aspect)] for aspect in names_asked
        ]
        by_place = len(rows) == len(aspects) and sorted(set(named)) == sorted(named)
        exact_rows = [
            exactly
            or (
                near
                if len(near) == 1
                else [row_index]
                if by_place and _belongs(named[row_index], row_index, names_asked)
                else []
            )
            for row_index, (exactly, near) in enumerate(zip(exact_rows, alike, strict=True))
        ]
    for aspect, indexes in zip(aspects, exact_rows, strict=True):
        if len(indexes) != 1:
            raise UnparsedVerdict(reason("table_row_repeated" if indexes else "table_row_missing", aspect=aspect[:80]))
    order = [indexes[0] for indexes in exact_rows]
    if len(set(order)) < len(order):
        raise UnparsedVerdict(reason("table_row_shared"))
    return [_as_row(aspect, rows[row_index]) for aspect, row_index in zip(aspects, order, strict=True)]


def _as_row(aspect: str, row: Mapping[str, str]) -> TableRow:
    return {"aspect": aspect, "only_a": row["only_a"], "both": row["both"], "only_b": row["only_b"]}


def _bare(aspect: str) -> str:
    return " ".join(re.sub(r"[^\w\s]", " ", NUMBERING.sub("", aspect).casefold()).split())


def _belongs(name: str, index: int, names_asked: Sequence[str]) -> bool:
    """Tell whether a reworded row may be the aspect at its position: no other aspect shares more words with it."""
    shared = [len(set(name.split()) & set(aspect.split())) for aspect in names_asked]
    return shared[index] == max(shared)


def _is_alike(name: str, aspect: str) -> bool:
    return bool(name) and (aspect.startswith(name) or name.startswith(aspect))
