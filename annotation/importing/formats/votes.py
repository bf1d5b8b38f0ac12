"""Votes with a winner between two named systems, with the texts in a second file."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from annotation.core.errors import MOST_BAD_LINES, BadLine
from annotation.core.files import lines
from annotation.core.files.lines import FileData, Record, text_problem
from annotation.core.names import trim
from annotation.core.refusals import refusal
from annotation.importing.formats.study_file import InstanceRow

_VOTE_FIELDS = ("id", "prompt", "left", "right", "worker", "winner")
_LONGEST = {"id": 200, "prompt": 190, "left": 200, "right": 200, "worker": 200, "winner": 200}
_WINNERS = ("left", "right", "tie")
# Published files use different names for these texts.
_TEXT_FIELDS = {"source": ("text", "source"), "left": ("left", "result_x"), "right": ("right", "result_y")}


@dataclass(frozen=True)
class VoteRow:
    """One worker's vote between the systems shown left and right on one prompt."""

    number: int
    pair_id: str
    instance_id: str
    left: str
    right: str
    worker: str
    winner: str


def parse_votes(
    data: FileData, name: str, texts: FileData, texts_name: str, *, dataset: str
) -> tuple[list[InstanceRow], list[VoteRow]]:
    """Parse votes and texts, joined on `id`: one instance a prompt, with every system that has votes on it.

    Raises: BadFile listing the bad lines.
    """
    votes, bad = _votes(*_records(data, name))
    texts_shown, bad_texts = _texts(*_records(texts, texts_name))
    # Where the id of a text can't be read, a vote on it has its text all the same.
    have_ids = all(line.reason.values.get("field") not in (None, "id") for line in bad_texts)
    without = (vote for vote in votes if have_ids and vote.pair_id not in texts_shown)
    bad += [
        BadLine(vote.number, refusal("no_texts_of_id", name=texts_name, value=repr(vote.pair_id)))
        for vote in islice(without, MOST_BAD_LINES)
    ]
    complete = {pair_id: parts for pair_id, parts in texts_shown.items() if len(parts) == len(_TEXT_FIELDS)}
    instances, contradictions = _instances([vote for vote in votes if vote.pair_id in complete], complete, dataset)
    bad += contradictions
    if not bad:
        lines.refuse(texts_name, bad_texts)
    lines.refuse(name, [*bad, *(replace(line, file=texts_name) for line in bad_texts)])
    return instances, votes


def instance_of_prompt(prompt: str) -> str:
    """Return the id of the instance that a prompt becomes."""
    return f"prompt-{prompt}" if prompt else ""


def _records(data: FileData, name: str) -> tuple[Iterator[Record], list[BadLine]]:
    if lines.is_csv(name):
        _, records, bad = lines.read_csv(data)
        return records, bad
    return lines.read_json(data)


def _votes(records: Iterator[Record], bad: list[BadLine]) -> tuple[list[VoteRow], list[BadLine]]:
    rows = []
    absent = lines.AbsentFields("votes")
    for number, record in absent.watch(records):
        if len(bad) >= MOST_BAD_LINES:
            break
        cells = {field: _word(record.get(field)) for field in _VOTE_FIELDS}
        problems = [refusal("missing", field=field) for field, value in cells.items() if not value]
        problems += [
            problem
            for field, value in cells.items()
            if value and (problem := text_problem(value, field, longest=_LONGEST[field]))
        ]
        if cells["winner"] and cells["winner"] not in _WINNERS:
            problems.append(
                refusal("not_one_of", field="winner", words="left, right or tie", value=repr(cells["winner"]))
            )
        if cells["left"] and cells["left"] == cells["right"]:
            problems.append(refusal("same_sides", system=repr(cells["left"])))
        bad.extend(BadLine(number, problem) for problem in problems)
        if not problems:
            pair_id, prompt, left, right, worker, winner = (cells[field] for field in _VOTE_FIELDS)
            rows.append(VoteRow(number, pair_id, instance_of_prompt(prompt), left, right, worker, winner))
    if not rows and not bad:
        bad.append(BadLine(1, refusal("no_rows", what="votes")))
    return rows, absent.summarised(bad)


def _texts(records: Iterator[Record], bad: list[BadLine]) -> tuple[dict[str, dict[str, str]], list[BadLine]]:
    result: dict[str, dict[str, str]] = {}
    for number, record in records:
        if len(bad) >= MOST_BAD_LINES:
            break
        pair_id = _word(record.get("id"))
        texts = {}
        for field, names in _TEXT_FIELDS.items():
            key = next((key for key in names if key in record), None)
            if key is None:
                bad.append(BadLine(number, refusal("missing", field=" or ".join(names))))
                continue
            value = record[key]
            # Systems may give empty texts.
            if problem := text_problem(value, key, may_be_blank=field != "source"):
                bad.append(BadLine(number, problem))
            else:
                texts[field] = value
        if not pair_id:
            bad.append(BadLine(number, refusal("missing", field="id")))
        elif pair_id in result:
            bad.append(BadLine(number, refusal("repeated", field="id", value=repr(pair_id))))
        else:
            result[pair_id] = texts
    return result, bad


def _instances(
    votes: list[VoteRow], texts_shown: dict[str, dict[str, str]], dataset: str
) -> tuple[list[InstanceRow], list[BadLine]]:
    """Collect each prompt's systems. A system with two texts on one prompt is bad, as pairs would be ambiguous."""
    rows: dict[str, InstanceRow] = {}
    bad: list[BadLine] = []
    matchups: dict[str, dict[frozenset[str], tuple[str, str]]] = {}
    order: dict[frozenset[str], tuple[str, str]] = {}
    for vote in votes:
        if len(bad) >= MOST_BAD_LINES:
            break
        texts = texts_shown[vote.pair_id]
        row = rows.setdefault(
            vote.instance_id, InstanceRow(vote.number, vote.instance_id, dataset, texts["source"], {})
        )
        if row.source != texts["source"]:
            bad.append(BadLine(vote.number, refusal("other_source", instance=vote.instance_id, line=row.number)))
        for side, system in (("left", vote.left), ("right", vote.right)):
            if row.generations.setdefault(system, [texts[side]]) != [texts[side]]:
                bad.append(
                    BadLine(vote.number, refusal("other_text_before", system=repr(system), instance=vote.instance_id))
                )
        both = frozenset((vote.left, vote.right))
        direction = order.setdefault(both, (vote.left, vote.right))
        matchups.setdefault(vote.instance_id, {}).setdefault(both, direction)
    instances = [
        InstanceRow(
            row.number, instance_id, dataset, row.source, row.generations,
            matchups=tuple(matchups[instance_id].values()),
        )
        for instance_id, row in rows.items() if instance_id in matchups
    ]  # fmt: skip
    return instances, bad


def _word(value: Any) -> str:
    return trim(str(value)) if isinstance(value, str | int) and not isinstance(value, bool) else ""
