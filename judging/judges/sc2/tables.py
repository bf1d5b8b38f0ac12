"""Comparison tables: asked for, read from whatever form the answer has, and written into later questions."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from judging.errors import UnparsedVerdict
from judging.judges.answers import THINKING
from judging.judges.base import Call, Presentation, Reply
from judging.judges.prompts import load_prompt
from judging.judges.sc2.aspects import SAMPLED
from judging.judges.sc2.record import Row
from judging.judges.tasks import words_for

PROMPT = "sc2-table.v1.txt"
CELLS = ("only_a", "both", "only_b")
LONGEST_CELL = 400  # characters, more than twice as long as asked for: what is longer is no cell of a table
NOTHING = frozenset({"", "-", "–", "—", "none", "n/a", "na", "nothing", "empty", "null"})
# Models give the columns names of their own.
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
MOST_TRIES = 200  # places where a JSON value may begin: an answer that only looks like one is not to take for ever
NUMBERING = re.compile(r"^\W*(?:aspect\s*)?\d*\W*")
SCHEMA = {
    "type": "object",
    "properties": {
        "rows": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {name: {"type": "string"} for name in ("aspect", *CELLS)},
                "required": ["aspect", *CELLS],
                "additionalProperties": False,
            },
        }
    },
    "required": ["rows"],
    "additionalProperties": False,
}
WITH_SCHEMA = {
    "response_format": {
        "type": "json_schema",
        "json_schema": {"name": "comparison_table", "strict": True, "schema": SCHEMA},
    }
}


def table_call(shown: Presentation, aspects: Sequence[str], draw: int, *, schema: bool, optional: bool) -> Call:
    """Ask for one table; one of several samples. The aspects may be a model's words, so they stand between fences."""
    form = form_of([{"aspect": one, "only_a": "", "both": "", "only_b": ""} for one in aspects])
    texts = {"source": shown.source, "first": shown.first, "second": shown.second, "aspects": form}
    content = load_prompt(PROMPT).render(words_for(replace(shown, negated=False)), texts)
    return Call(
        "table",
        [{"role": "user", "content": content}],
        lambda reply: read_table(reply, aspects),
        params={**SAMPLED, **(WITH_SCHEMA if schema else {})},
        draw=draw,
        optional=optional,
        attempts=1 if optional else None,
        example=_made_up(aspects, draw),
    )


def form_of(rows: Sequence[Row]) -> str:
    """Write rows as JSON, one a line."""
    lines = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in rows)
    return f'{{"rows": [\n{lines}\n]}}'


def _made_up(aspects: Sequence[str], draw: int) -> str:
    """Write an answer as long as a usual one, for estimates; no two alike, as usual ones are."""
    cell = f"It names the main point and two of the reasons that are given for it ({draw})."
    return form_of([{"aspect": one, "only_a": cell, "both": cell, "only_b": cell} for one in aspects])


def read_table(reply: Reply, aspects: Sequence[str]) -> list[Row]:
    """Read a table: JSON in any wrapping, or lines with bars; each aspect once, in the order in which they were asked.

    Rows of other aspects are left out. Raises: UnparsedVerdict saying what is wrong with it.
    """
    text = THINKING.sub("", reply.text).strip()
    found = [rows for rows in (*_in_json(text), _in_bars(text)) if rows]
    if not found:
        raise UnparsedVerdict(f"no table in: …{text[-200:]}" if text else "an empty answer")
    placed = _placed(next(filter(_is_filled, found), found[0]), aspects)  # the blank form may come first
    if not any(row[cell] for row in placed for cell in CELLS):  # type: ignore[literal-required]
        raise UnparsedVerdict("a table whose cells are all empty")
    return placed


def _is_filled(rows: Sequence[Mapping[str, str]]) -> bool:
    return any(row[cell] for row in rows for cell in CELLS)


def _in_json(text: str) -> Iterator[list[dict[str, str]]]:
    """Yield the rows of every JSON value in a text that holds some."""
    decoder = json.JSONDecoder()
    place = 0
    for _ in range(MOST_TRIES):
        found = OPENING.search(text, place)
        if found is None:
            return
        try:
            value, place = decoder.raw_decode(text, found.start())
        except RecursionError:
            return
        except ValueError:
            place = found.start() + 1
            continue
        yield _rows_of(value)


def _rows_of(value: Any) -> list[dict[str, str]]:
    """Return the rows that a JSON value holds: a list of them, one under a name, or cells by aspect."""
    if isinstance(value, list):
        return [row for one in value if isinstance(one, dict) and (row := _row(one))]
    if not isinstance(value, dict):
        return []
    for name in LIST_OF_ROWS:
        if isinstance(value.get(name), list) and (rows := _rows_of(value[name])):
            return rows
    by_aspect = [_row({**cells, "aspect": aspect}) for aspect, cells in value.items() if isinstance(cells, dict)]
    return [row for row in by_aspect if row]


def _row(value: Mapping[str, Any]) -> dict[str, str]:
    """Return a row under our names, a cell that is left out as an empty one.

    Nothing when the aspect is missing, when a cell is no text, or when it may be there under a name that nobody knows.
    """
    named = {_plain(str(name)): cell for name, cell in value.items()}
    row = {ours: next((named[one] for one in theirs if one in named), None) for ours, theirs in NAMES.items()}
    if not isinstance(row["aspect"], str) or any(not _is_cell(row[cell]) for cell in CELLS):
        return {}
    if named.keys() - KNOWN and any(named.keys().isdisjoint(NAMES[cell]) for cell in CELLS):
        return {}
    return {name: _cleaned(cell) for name, cell in row.items()}


def _is_cell(value: Any) -> bool:
    return (
        value is None
        or isinstance(value, str)
        or (isinstance(value, list) and all(isinstance(one, str) for one in value))
    )


def _in_bars(text: str) -> list[dict[str, str]]:
    """Return the rows of a table drawn with bars, under the headings of its first line.

    A line with more or fewer cells than headings is none: one can't tell under which of them its texts belong.
    """
    lines = [
        [cell.replace("\\|", "|").strip() for cell in BAR.split(line)] for line in text.splitlines() if "|" in line
    ]
    heads = next((number for number, line in enumerate(lines) if len(line) >= len(NAMES) and _is_head(line)), None)
    if heads is None:
        return []
    names = _without_edges(lines[heads], len(NAMES))
    rows = [_without_edges(line, len(names)) for line in lines[heads + 1 :] if set("".join(line)) - set("-: ")]
    return [found for row in rows if len(row) == len(names) and (found := _row(dict(zip(names, row, strict=True))))]


def _without_edges(line: Sequence[str], width: int) -> Sequence[str]:
    """Leave out what stands before the first bar and after the last one, where these are the edges of the table."""
    if len(line) > width and not line[0]:
        line = line[1:]
    return line[:-1] if len(line) > width and not line[-1] else line


def _is_head(line: Sequence[str]) -> bool:
    names = set(map(_plain, line))
    return all(names & theirs for theirs in NAMES.values())


def _plain(name: str) -> str:
    """Reduce a column's name to letters, without what the texts are called."""
    letters = re.sub(r"[^a-z ]", " ", name.casefold())
    words = re.sub(
        r"\b(?:text|summary|response|answer|document|translation|the|what|says|is|in|to|for)\b", " ", letters
    )
    return words.replace(" ", "")


def _cleaned(cell: Any) -> str:
    """Return a cell as one line; nothing where it says that there is nothing.

    Raises: UnparsedVerdict for one that is far too long.
    """
    said = "; ".join(cell) if isinstance(cell, list) else cell or ""
    line = " ".join(said.replace("\x00", " ").encode("utf-8", "replace").decode().split())
    if len(line) > LONGEST_CELL:
        raise UnparsedVerdict(f"a table with a cell of {len(line):,} characters; at most {LONGEST_CELL:,} are read")
    return "" if line.strip(" .").casefold() in NOTHING else line


def _placed(rows: Sequence[Mapping[str, str]], aspects: Sequence[str]) -> list[Row]:
    """Put the rows in the order of the aspects, under the words in which these were asked for.

    Raises: UnparsedVerdict naming an aspect that is missing or there more than once.
    """
    named = [_bare(row["aspect"]) for row in rows]
    wanted = [_bare(aspect) for aspect in aspects]
    found = [[place for place, name in enumerate(named) if name == aspect] for aspect in wanted]
    if not all(found):  # shortened, or in other words: then they are known by what they begin with, or by their places
        alike = [[place for place, name in enumerate(named) if _is_alike(name, aspect)] for aspect in wanted]
        by_place = len(rows) == len(aspects) and sorted(set(named)) == sorted(named)
        found = [
            exactly
            or (near if len(near) == 1 else [place] if by_place and _belongs(named[place], place, wanted) else [])
            for place, (exactly, near) in enumerate(zip(found, alike, strict=True))
        ]
    for aspect, places in zip(aspects, found, strict=True):
        if len(places) != 1:
            raise UnparsedVerdict(f"a table that has {'no' if not places else 'more than one'} row for “{aspect[:80]}”")
    taken = [places[0] for places in found]
    if len(set(taken)) < len(taken):
        raise UnparsedVerdict("a table that has one row for several aspects")
    return [_as_row(aspect, rows[place]) for aspect, place in zip(aspects, taken, strict=True)]


def _as_row(aspect: str, row: Mapping[str, str]) -> Row:
    return {"aspect": aspect, "only_a": row["only_a"], "both": row["both"], "only_b": row["only_b"]}


def _bare(aspect: str) -> str:
    return " ".join(re.sub(r"[^\w\s]", " ", NUMBERING.sub("", aspect).casefold()).split())


def _belongs(name: str, place: int, wanted: Sequence[str]) -> bool:
    """Tell whether a row in other words may be taken for the aspect at its place: no other has more words of it."""
    shared = [len(set(name.split()) & set(aspect.split())) for aspect in wanted]
    return shared[place] == max(shared)


def _is_alike(name: str, aspect: str) -> bool:
    return bool(name) and (aspect.startswith(name) or name.startswith(aspect))


def written(rows: Sequence[Row]) -> str:
    """Write a table as it is shown in a question."""
    return "\n".join(
        f"{row['aspect']}\n  only A: {row['only_a'] or '–'}\n  both: {row['both'] or '–'}\n  only B: {row['only_b'] or '–'}"
        for row in rows
    )
