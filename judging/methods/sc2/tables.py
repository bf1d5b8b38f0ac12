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
NOUNS = re.compile(r"\b(?:text|summary|response|answer|document|translation|the|what|says|is|in|to|for)\b")
BAR = re.compile(r"(?<!\\)\|")
DECODER = json.JSONDecoder()
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
    blank = format_rows([{"aspect": aspect, **dict.fromkeys(CELLS, "")} for aspect in aspects])
    cell = f"It names the main point and two of the reasons that are given for it ({draw})."  # of typical length
    example = format_rows([{"aspect": aspect, **dict.fromkeys(CELLS, cell)} for aspect in aspects])
    form = {SCHEMA_PARAM: response_format("comparison_table", table_schema(aspects, longest))} if schema else {}
    call = plain_call(
        *("table", prompt_of(presentation.task), presentation, setting, lambda reply: read_table(reply, aspects)),
        texts={"aspects": blank},
        params={**SAMPLED, **form},
        draw=draw,
        optional=optional,
        attempts=1 if optional else None,
        example=example,
    )
    return replace(call, plain=call.messages) if schema else call


def format_rows(rows: Sequence[Mapping[str, str]]) -> str:
    """Format rows as JSON, one a line."""
    lines = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in rows)
    return f'{{"rows": [\n{lines}\n]}}'


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
    position = 0
    for _ in range(MOST_TRIES):
        match = OPENING.search(text, position)
        if match is None:
            return
        try:
            value, position = DECODER.raw_decode(text, match.start())
        except RecursionError:
            return
        except ValueError:
            position = match.start() + 1
        else:
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
    row = {ours: next((named[name] for name in theirs if name in named), None) for ours, theirs in NAMES.items()}
    cells = [cell if isinstance(cell, list) else ["" if cell is None else cell] for cell in map(row.get, CELLS)]
    if not isinstance(row["aspect"], str) or any(not isinstance(text, str) for cell in cells for text in cell):
        return {}
    if named.keys() - KNOWN and any(named.keys().isdisjoint(NAMES[cell]) for cell in CELLS):
        return {}
    return {name: _cleaned(cell) for name, cell in row.items()}


def _in_bars(text: str) -> list[dict[str, str]]:
    """Return the rows of a Markdown table, without lines that have more or fewer cells than the header."""
    with_bars = [line for line in text.splitlines() if "|" in line]
    lines: list[Sequence[str]] = [[cell.replace("\\|", "|").strip() for cell in BAR.split(line)] for line in with_bars]
    heads = next((number for number, line in enumerate(lines) if _is_head(line)), None)
    if heads is None:
        return []
    names = _without_edges(lines[heads], len(NAMES))
    lines = [_without_edges(line, len(names)) for line in lines[heads + 1 :] if set("".join(line)) - set("-: ")]
    rows = [_row(dict(zip(names, line, strict=True))) for line in lines if len(line) == len(names)]
    return [row for row in rows if row]


def _without_edges(line: Sequence[str], width: int) -> Sequence[str]:
    """Remove empty cells outside of the table's edges."""
    if len(line) > width and not line[0]:
        line = line[1:]
    return line[:-1] if len(line) > width and not line[-1] else line


def _is_head(line: Sequence[str]) -> bool:
    names = set(map(_plain, line))
    return len(line) >= len(NAMES) and all(names & theirs for theirs in NAMES.values())


def _plain(name: str) -> str:
    """Reduce a column's name to letters, without nouns for the texts."""
    return NOUNS.sub(" ", re.sub(r"[^a-z ]", " ", name.casefold())).replace(" ", "")


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
    named, requested = [_bare(row["aspect"]) for row in rows], [_bare(aspect) for aspect in aspects]
    matches = [[index for index, name in enumerate(named) if name == aspect] for aspect in requested]
    if not all(matches):  # reworded: match by prefix, or by position
        by_place = len(rows) == len(aspects) and len(set(named)) == len(named)
        for place, aspect in enumerate(requested):
            near = [index for index, name in enumerate(named) if _is_alike(name, aspect)]
            if not matches[place] and len(near) == 1:
                matches[place] = near
            elif not matches[place] and by_place and _belongs(named[place], place, requested):
                matches[place] = [place]
    for aspect, indexes in zip(aspects, matches, strict=True):
        if len(indexes) != 1:
            raise UnparsedVerdict(reason("table_row_repeated" if indexes else "table_row_missing", aspect=aspect[:80]))
    order = [index for [index] in matches]
    if len(set(order)) < len(order):
        raise UnparsedVerdict(reason("table_row_shared"))
    return [
        {"aspect": aspect, "only_a": row["only_a"], "both": row["both"], "only_b": row["only_b"]}
        for aspect, row in zip(aspects, (rows[index] for index in order), strict=True)
    ]


def _bare(aspect: str) -> str:
    return " ".join(re.sub(r"[^\w\s]", " ", NUMBERING.sub("", aspect).casefold()).split())


def _belongs(name: str, index: int, names_asked: Sequence[str]) -> bool:
    """Tell whether a reworded row may be the aspect at its position: no other aspect shares more words with it."""
    shared = [len(set(name.split()) & set(aspect.split())) for aspect in names_asked]
    return shared[index] == max(shared)


def _is_alike(name: str, aspect: str) -> bool:
    return bool(name) and (aspect.startswith(name) or name.startswith(aspect))
