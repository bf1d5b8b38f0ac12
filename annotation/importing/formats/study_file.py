"""Study files: one instance a line, as JSON Lines or wide CSV."""

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import comb
from typing import Any

from annotation.core.errors import MOST_BAD_LINES, BadLine
from annotation.core.files import lines
from annotation.core.files.file_bounds import FOR_COMMANDS, Bound
from annotation.core.files.json_values import count_values
from annotation.core.files.lines import Record, text_problem, unstorable_key
from annotation.core.files.mapping import NOTHING, read_mapped
from annotation.core.names import lookalike_lines, trim

DEFAULT_DATASET = "default"
LONGEST_ID = 200
LONGEST_DATASET = 100
LONGEST_SYSTEM = 200
LONGEST_WHY = 2000  # characters; shown to raters
MOST_PROBLEMS = 50  # of one line
MOST_TEXTS = 1000  # of one system on one instance: similarity compares all of them
MOST_SYSTEMS = 500  # on one instance; their matchups have a bound of their own
NEEDED = ("instance_id", "source")
_EXPORTED = {"instance_id", "dataset", "source", "generations", "gold", "metadata"}
_KNOWN = _EXPORTED | {"matchups"}
_CHECKED = {"instance_id", "dataset", "source", "generations"}  # texts with a check of their own
_SYSTEM_COLUMN = re.compile(r"(?P<system>.+)/(?P<index>[1-9][0-9]{0,3})")


@dataclass(frozen=True, slots=True)
class InstanceRow:
    """One checked instance; `matchups` None means every pair of its systems."""

    number: int
    instance_id: str
    dataset: str
    source: str
    generations: dict[str, list[str]]
    gold: dict[str, Any] | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    matchups: tuple[tuple[str, str], ...] | None = None


def parse_study_file(
    data: bytes,
    name: str,
    *,
    dataset: str = DEFAULT_DATASET,
    sources_only: bool = False,
    bound: Bound = FOR_COMMANDS,
    mapping: Mapping[str, str] = NOTHING,
) -> list[InstanceRow]:
    """Parse a study file.

    dataset      : of lines without one
    sources_only : lines have no generations, which are sampled later
    bound        : of texts, values of metadata, and matchups
    mapping      : field → column, see `annotation.core.files.mapping`
    Raises: BadFile listing the bad lines.
    """
    if mapping:
        records, bad = read_mapped(data, mapping)
    else:
        records, bad = _records(data, name, sources_only=sources_only)
    rows: list[InstanceRow] = []
    first_seen: dict[str, int] = {}
    systems: dict[str, int] = {}  # first line of each
    texts = values = matchups = 0
    absent = lines.AbsentFields((*NEEDED, *(() if sources_only else ("generations",))), "study files")
    for number, record in absent.watch(records):
        if len(bad) >= MOST_BAD_LINES:
            break
        record = _normalised(record)
        problems = _problems(record, sources_only=sources_only)
        instance_id = record.get("instance_id")
        if isinstance(instance_id, str) and instance_id in first_seen:
            problems.append(f"instance_id {instance_id!r} is on line {first_seen[instance_id]} already")
        elif isinstance(instance_id, str):
            first_seen[instance_id] = number
        if isinstance(generations := record.get("generations"), dict):
            for system in generations:
                systems.setdefault(system, number)
        bad.extend(BadLine(number, problem) for problem in problems[:MOST_PROBLEMS])
        if len(problems) > MOST_PROBLEMS:
            bad.append(BadLine(number, f"and {len(problems) - MOST_PROBLEMS} more problems"))
        if not problems:
            rows.append(_row(number, record, dataset))
            texts += 1 + sum(map(len, rows[-1].generations.values()))
            bound.refuse_more(name, texts, "texts")
            values += count_values(rows[-1].metadata)
            bound.refuse_metadata(name, values)
            compared = rows[-1].matchups
            matchups += comb(len(rows[-1].generations), 2) if compared is None else len(compared)
            bound.refuse_matchups(name, matchups)
    if not rows and not bad:
        bad.append(BadLine(1, "the file holds no instance"))
    bad.extend(lookalike_lines("system", ((number, system) for system, number in systems.items()), ()))
    lines.refuse(name, absent.summarised(bad))
    return rows


def _records(data: bytes, name: str, *, sources_only: bool) -> tuple[Iterator[Record], list[BadLine]]:
    if not lines.is_csv(name):
        return lines.read_json(data)
    header, wide, bad = lines.read_csv(data)
    if not bad and "generations" in header:  # as it is exported
        return lines.with_json_cells(wide, ("generations", "gold", "metadata", "matchups"), bad), bad
    records, header_problems = _from_wide(header, wide, sources_only=sources_only)
    lines.refuse(name, bad or header_problems)
    return records, bad


def _normalised(record: dict[str, Any]) -> dict[str, Any]:
    """Trim the names in a record, those of systems only where they stay apart; make text of a numeric id, and a list of one text."""
    trimmed: dict[str, Any] = {
        key: trim(record[key]) for key in ("instance_id", "dataset") if isinstance(record.get(key), str)
    }
    instance_id = record.get("instance_id")
    if isinstance(instance_id, int) and not isinstance(instance_id, bool):
        trimmed["instance_id"] = str(instance_id)
    generations, gold = record.get("generations"), record.get("gold")
    if not isinstance(generations, dict):
        return record | trimmed
    generations = {system: [texts] if isinstance(texts, str) else texts for system, texts in generations.items()}
    trimmed["generations"] = generations
    systems = {system: trim(system) for system in generations}
    if len(set(systems.values())) < len(systems):
        return record | trimmed
    more: dict[str, Any] = {"generations": {systems[system]: texts for system, texts in generations.items()}}
    if isinstance(gold, dict) and isinstance(gold.get("better"), str):
        more["gold"] = {**gold, "better": trim(gold["better"])}
    elif isinstance(gold, dict) and isinstance(gold.get("scores"), dict):
        more["gold"] = {**gold, "scores": {trim(system): score for system, score in gold["scores"].items()}}
    if isinstance(matchups := record.get("matchups"), list):
        more["matchups"] = [
            [trim(system) if isinstance(system, str) else system for system in pair] if isinstance(pair, list) else pair
            for pair in matchups
        ]
    return record | trimmed | more


def _row(number: int, record: dict[str, Any], dataset: str) -> InstanceRow:
    extra = {key: value for key, value in record.items() if key not in _KNOWN}
    return InstanceRow(
        number=number,
        instance_id=record["instance_id"],
        dataset=record.get("dataset") or dataset,
        source=record["source"],
        generations=record.get("generations") or {},
        gold=record.get("gold"),
        metadata={**extra, **(record.get("metadata") or {})},
        matchups=None if record.get("matchups") is None else tuple((a, b) for a, b in record["matchups"]),
    )


def _problems(record: dict[str, Any], *, sources_only: bool = False) -> list[str]:
    found = []
    for key, longest in (("instance_id", LONGEST_ID), ("source", None)):
        # Texts may have been generated from nothing.
        may_be_blank = key == "source" and not sources_only
        if key not in record:
            found.append(f"{key} is missing")
        elif problem := text_problem(record[key], longest=longest, may_be_blank=may_be_blank):
            found.append(f"{key} {problem}")
    if record.get("dataset") is not None and (problem := text_problem(record["dataset"], longest=LONGEST_DATASET)):
        found.append(f"dataset {problem}")
    if record.get("metadata") is not None and not isinstance(record["metadata"], dict):
        found.append("metadata is not a JSON object")
    if broken := unstorable_key({key: value for key, value in record.items() if key not in _CHECKED}):
        found.append(f"a text under {broken!r} holds a NUL character or half of a surrogate pair")
    if sources_only:
        return found + [
            f"{key} is there: read a file with texts by import_study"
            for key in ("generations", "gold")
            if record.get(key)
        ]
    if "generations" not in record:
        return [*found, "generations is missing"]
    is_exported = record.keys() >= _EXPORTED  # also while systems are still being sampled
    if problems := _generation_problems(record["generations"], least=0 if is_exported else 2):
        return found + problems
    systems = set(record["generations"])
    return found + _gold_problems(record.get("gold"), systems) + _matchup_problems(record.get("matchups"), systems)


def _matchup_problems(matchups: object, systems: set[str]) -> list[str]:
    if matchups is None:
        return []
    if not isinstance(matchups, list):
        return ["matchups is not a list of pairs of systems"]
    compared: set[frozenset[str]] = set()
    for pair in matchups:
        names = set(pair) if isinstance(pair, list) and all(isinstance(name, str) for name in pair) else set()
        if len(names) != 2 or not names <= systems:
            return [f"matchups has {json.dumps(pair)[:LONGEST_SYSTEM]}, which is not two systems of this line"]
        if names in compared:
            return [f"matchups has {json.dumps(pair)[:LONGEST_SYSTEM]} twice"]
        compared.add(frozenset(names))
    return []


def _generation_problems(generations: object, *, least: int) -> list[str]:
    if not isinstance(generations, dict):
        return ["generations is not a JSON object of system → list of texts"]
    found = []
    if len(generations) > MOST_SYSTEMS:
        return [f"generations of {len(generations)} systems; at most {MOST_SYSTEMS} are taken"]
    if len(generations) < least:
        found.append(f"generations of {len(generations)} system(s); two or more are needed")
    for system, texts in generations.items():
        if problem := text_problem(system, longest=LONGEST_SYSTEM):
            found.append(f"the system name {system!r} {problem}")
        if not isinstance(texts, list) or not texts:
            found.append(f"system {system!r} has no text; give one, or a list of one or more")
            continue
        if len(texts) > MOST_TEXTS:
            found.append(f"system {system!r} has {len(texts)} texts; at most {MOST_TEXTS} are taken")
            continue
        for index, text in enumerate(texts, start=1):
            if problem := text_problem(text, may_be_blank=True):  # systems may give empty texts
                found.append(f"text {index} of system {system!r} {problem}")
    return found


def _gold_problems(gold: object, systems: set[str]) -> list[str]:
    if gold is None:
        return []
    if not isinstance(gold, dict) or set(gold) - {"why"} not in ({"better"}, {"scores"}):
        return ['gold is neither {"better": system or "tie"} nor {"scores": {system: number}}, with a "why" or without']
    if "why" in gold and (problem := text_problem(gold["why"], longest=LONGEST_WHY)):
        return [f"why of the gold {problem}"]
    if "better" in gold:
        if not isinstance(gold["better"], str) or gold["better"] not in (systems | {"tie"}):
            return [f"gold names {gold['better']!r}, which is none of the systems, nor 'tie'"]
        return []
    scores = gold["scores"]
    if not isinstance(scores, dict) or not set(scores) <= systems or not scores:
        return ["gold scores must name systems of this line"]
    wrong = [name for name, score in scores.items() if not _is_number(score)]
    return [f"gold score of {wrong[0]!r} is not a number"] if wrong else []


def _is_number(value: object) -> bool:
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # an int too large for a float
        return False


def _from_wide(
    header: list[str], records: Iterator[Record], *, sources_only: bool = False
) -> tuple[Iterator[Record], list[BadLine]]:
    """Convert records of a wide CSV to those of the JSON format."""
    if any(column.startswith(("Input.", "Answer.")) for column in header):
        reason = "this is a file of MTurk batch results: read it as such (import_mturk, or that kind on the page)"
        return iter(()), [BadLine(1, reason)]
    columns: dict[str, list[tuple[int, str]]] = {}
    unknown = []
    for column in header:
        if match := _SYSTEM_COLUMN.fullmatch(column):
            columns.setdefault(trim(match["system"]), []).append((int(match["index"]), column))
        elif column not in ("instance_id", "dataset", "source"):
            unknown.append(column)
    bad = [
        BadLine(1, f"column {column!r} is not known; generations go under SYSTEM/1, SYSTEM/2, …") for column in unknown
    ]
    bad += [BadLine(1, f"column {column} is missing") for column in ("instance_id", "source") if column not in header]
    for system, named in columns.items():
        numbers = sorted(index for index, _ in named)
        for expected, index in enumerate(numbers, start=1):
            if index != expected:
                bad.append(BadLine(1, f"column {system}/{expected} is missing"))
                break
    if sources_only and columns:
        bad.append(BadLine(1, f"columns of texts ({', '.join(columns)}): read a file with texts by import_study"))
    if len(columns) < 2 and not sources_only:
        bad.append(BadLine(1, f"columns of {len(columns)} system(s); two or more are needed (SYSTEM/1, SYSTEM/2, …)"))
    return (iter(()), bad) if bad else (_wide_records(records, columns), [])


def _wide_records(records: Iterator[Record], columns: dict[str, list[tuple[int, str]]]) -> Iterator[Record]:
    for number, record in records:
        generations = {system: _filled_cells(record, sorted(names)) for system, names in columns.items()}
        row = {"instance_id": record["instance_id"], "source": record["source"], "generations": generations}
        if record.get("dataset"):
            row["dataset"] = record["dataset"]
        yield number, row


def _filled_cells(record: dict[str, Any], names: list[tuple[int, str]]) -> list[str]:
    """Return a system's cells up to the last filled one; earlier empty cells are empty texts, and so is a single cell."""
    cells = [record[column] for _, column in names]
    while len(names) > 1 and cells and not cells[-1].strip():
        cells.pop()
    return cells
