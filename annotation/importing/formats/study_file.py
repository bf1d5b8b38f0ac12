"""Study files: one instance a line, as JSON Lines or wide CSV."""

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from math import comb
from typing import Any

from annotation.core.conversations import as_content, content_problem, from_cell, is_conversation
from annotation.core.errors import BadLine
from annotation.core.files import lines
from annotation.core.files.file_bounds import FOR_COMMANDS, MATCHUPS_PER_ROW, Bound
from annotation.core.files.json_values import count_values
from annotation.core.files.lines import FileData, Record, text_problem, unstorable_key
from annotation.core.files.mapping import NOTHING, FieldMapping, read_mapped
from annotation.core.names import lookalike_lines, trim
from annotation.core.reasons import Reason
from annotation.core.refusals import refusal

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
_TABLES = (".csv", ".tsv", ".xlsx", ".parquet", ".arrow")  # whose cells hold messages as JSON
_CHECKED = {"instance_id", "dataset", "source", "generations"}  # texts with a check of their own
_SYSTEM_COLUMN = re.compile(r"(?P<system>.+)/(?P<index>[1-9][0-9]{0,3})")


@dataclass(frozen=True, slots=True)
class InstanceRow:
    """One checked instance. `matchups` None means every pair of its systems."""

    number: int
    instance_id: str
    dataset: str
    source: str
    generations: dict[str, list[str]]
    gold: dict[str, Any] | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    matchups: tuple[tuple[str, str], ...] | None = None


def read_study_file(
    data: FileData,
    name: str,
    *,
    dataset: str = DEFAULT_DATASET,
    sources_only: bool = False,
    bound: Bound = FOR_COMMANDS,
    mapping: FieldMapping = NOTHING,
) -> tuple[Iterator[InstanceRow], list[BadLine]]:
    """Return an iterator over the good instances of a study file, and the bad lines, which it fills.

    dataset      : of lines without one
    sources_only : lines have no generations, which are sampled later
    bound        : of texts, values of metadata, and matchups
    mapping      : field → column, see `annotation.core.files.mapping`
    Raises: BadFile for CSV without its columns; the iterator, for more than is allowed.
    """
    if mapping:
        records, bad = read_mapped(data, mapping)
    elif not lines.is_csv(name):
        records, bad = lines.read_json(data)
    else:
        header, records, bad = lines.read_csv(data)
        if not bad and "generations" in header:  # as it is exported
            records = lines.with_json_cells(records, ("generations", "gold", "metadata", "matchups"), bad)
        else:
            records, header_problems = _from_wide(header, records, sources_only=sources_only)
            lines.refuse(name, bad or header_problems)

    def good_rows() -> Iterator[InstanceRow]:
        first_seen: dict[str, int] = {}
        systems: dict[str, int] = {}  # first line of each
        texts = values = matchups = 0
        for number, record in lines.watched(records, bad, "study files"):
            record = _normalised(record, from_cell if name.lower().endswith(_TABLES) else _as_it_is)
            problems = _problems(record, sources_only=sources_only)
            instance_id = record.get("instance_id")
            if isinstance(instance_id, str):
                if line := first_seen.get(instance_id):
                    problems.append(refusal("repeated_on", field="instance_id", value=repr(instance_id), line=line))
                first_seen.setdefault(instance_id, number)
            if isinstance(generations := record.get("generations"), dict):
                for system in generations:
                    systems.setdefault(system, number)
            bad.extend(BadLine(number, problem) for problem in problems[:MOST_PROBLEMS])
            if len(problems) > MOST_PROBLEMS:
                bad.append(BadLine(number, refusal("more_problems", number=len(problems) - MOST_PROBLEMS)))
            if not problems:
                row = _row(number, record, dataset)
                texts += 1 + sum(map(len, row.generations.values()))
                bound.refuse_more(name, texts, "texts")
                values += count_values(row.metadata)
                bound.refuse_metadata(name, values)
                matchups += comb(len(row.generations), 2) if row.matchups is None else len(row.matchups)
                # They grow with the square of an instance's systems.
                bound.refuse_more(name, matchups, "matchups of two systems", each=MATCHUPS_PER_ROW)
                yield row
        if not texts and not bad:
            bad.append(BadLine(1, refusal("no_rows", what="instance")))
        bad.extend(lookalike_lines("system", ((number, system) for system, number in systems.items()), ()))

    return good_rows(), bad


def _normalised(record: dict[str, Any], read_cell: Callable[[Any], Any]) -> dict[str, Any]:
    """Trim the names in a record, those of systems only where they stay apart. Make text of a numeric id, and a list of one text.

    read_cell : reads a text of a table's cell
    """
    changed: dict[str, Any] = {key: _trimmed(record[key]) for key in ("instance_id", "dataset") if key in record}
    if isinstance(record.get("instance_id"), int) and not isinstance(record["instance_id"], bool):
        changed["instance_id"] = str(record["instance_id"])
    if "source" in record:
        changed["source"] = read_cell(record["source"])
    generations, gold, matchups = record.get("generations"), record.get("gold"), record.get("matchups")
    if not isinstance(generations, dict):
        return record | changed
    changed["generations"] = {
        system: [read_cell(texts)] if isinstance(texts, str) or is_conversation(texts) else texts
        for system, texts in generations.items()
    }
    if len({trim(system) for system in generations}) < len(generations):
        return record | changed
    changed["generations"] = {trim(system): texts for system, texts in changed["generations"].items()}
    if isinstance(gold, dict) and isinstance(gold.get("better"), str):
        changed["gold"] = {**gold, "better": trim(gold["better"])}
    elif isinstance(gold, dict) and isinstance(gold.get("scores"), dict):
        changed["gold"] = {**gold, "scores": {trim(system): score for system, score in gold["scores"].items()}}
    if isinstance(matchups, list):
        changed["matchups"] = [[*map(_trimmed, pair)] if isinstance(pair, list) else pair for pair in matchups]
    return record | changed


def _trimmed(value: Any) -> Any:
    return trim(value) if isinstance(value, str) else value


def _as_it_is(value: Any) -> Any:
    return value


def _row(number: int, record: dict[str, Any], dataset: str) -> InstanceRow:
    extra = {key: value for key, value in record.items() if key not in _KNOWN}
    return InstanceRow(
        number=number,
        instance_id=record["instance_id"],
        dataset=record.get("dataset") or dataset,
        source=as_content(record["source"]),
        generations={
            system: [as_content(text) for text in texts] for system, texts in (record.get("generations") or {}).items()
        },
        gold=record.get("gold"),
        metadata={**extra, **(record.get("metadata") or {})},
        matchups=None if record.get("matchups") is None else tuple((a, b) for a, b in record["matchups"]),
    )


def _problems(record: dict[str, Any], *, sources_only: bool = False) -> list[Reason]:
    results = []
    # Texts may have been generated from nothing.
    checks = (partial(text_problem, longest=LONGEST_ID), partial(content_problem, may_be_blank=not sources_only))
    for key, check in zip(NEEDED, checks, strict=True):
        if key not in record:
            results.append(refusal("missing", field=key))
        elif problem := check(record[key], key):
            results.append(problem)
    named, metadata = record.get("dataset"), record.get("metadata")
    if named is not None and (problem := text_problem(named, "dataset", longest=LONGEST_DATASET)):
        results.append(problem)
    if metadata is not None and not isinstance(metadata, dict):
        results.append(refusal("not_a", field="metadata", kind="a JSON object"))
    if broken := unstorable_key({key: value for key, value in record.items() if key not in _CHECKED}):
        results.append(refusal("unstorable", key=repr(broken)))
    if sources_only:
        return results + [refusal("has_texts", field=key) for key in ("generations", "gold") if record.get(key)]
    if "generations" not in record:
        return [*results, refusal("missing", field="generations")]
    is_exported = record.keys() >= _EXPORTED  # also while systems are still being sampled
    if problems := _generation_problems(record["generations"], minimum=0 if is_exported else 2):
        return results + problems
    systems = set(record["generations"])
    further = (_gold_problem(record.get("gold"), systems), _matchup_problem(record.get("matchups"), systems))
    return results + [problem for problem in further if problem]


def _matchup_problem(matchups: object, systems: set[str]) -> Reason | None:
    if matchups is None:
        return None
    if not isinstance(matchups, list):
        return refusal("not_a", field="matchups", kind="a list of pairs of systems")
    compared: set[frozenset[str]] = set()
    for pair in matchups:
        names = set(pair) if isinstance(pair, list) and all(isinstance(name, str) for name in pair) else set()
        if len(names) != 2 or not names <= systems or names in compared:
            code = "matchup_twice" if names in compared else "matchup_of_others"
            return refusal(code, matchup=json.dumps(pair)[:LONGEST_SYSTEM])
        compared.add(frozenset(names))
    return None


def _generation_problems(generations: object, *, minimum: int) -> list[Reason]:
    if not isinstance(generations, dict):
        return [refusal("not_a", field="generations", kind="a JSON object of system → list of texts")]
    results = []
    if len(generations) > MOST_SYSTEMS:
        return [refusal("too_many_systems", number=len(generations), most=MOST_SYSTEMS)]
    if len(generations) < minimum:
        results.append(refusal("too_few_systems", number=len(generations)))
    for system, texts in generations.items():
        if problem := text_problem(system, f"the system name {system!r}", longest=LONGEST_SYSTEM):
            results.append(problem)
        if not isinstance(texts, list) or not texts:
            results.append(refusal("no_text", system=repr(system)))
            continue
        if len(texts) > MOST_TEXTS:
            results.append(refusal("too_many_texts", system=repr(system), number=len(texts), most=MOST_TEXTS))
            continue
        for index, text in enumerate(texts, start=1):
            # Systems may give empty texts.
            if problem := content_problem(text, f"text {index} of system {system!r}", may_be_blank=True):
                results.append(problem)
    return results


def _gold_problem(gold: object, systems: set[str]) -> Reason | None:
    if gold is None:
        return None
    if not isinstance(gold, dict) or set(gold) - {"why"} not in ({"better"}, {"scores"}):
        return refusal("not_gold")
    if "why" in gold and (problem := text_problem(gold["why"], "why of the gold", longest=LONGEST_WHY)):
        return problem
    if "better" in gold:
        is_known = isinstance(gold["better"], str) and gold["better"] in (systems | {"tie"})
        return None if is_known else refusal("gold_of_other", system=repr(gold["better"]))
    scores = gold["scores"]
    if not isinstance(scores, dict) or not set(scores) <= systems or not scores:
        return refusal("scores_of_others")
    wrong = next((name for name, score in scores.items() if not _is_number(score)), None)
    return None if wrong is None else refusal("score_not_number", system=repr(wrong))


def _is_number(value: object) -> bool:
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # an int too large for a float
        return False


def _from_wide(
    header: list[str], records: Iterator[Record], *, sources_only: bool
) -> tuple[Iterator[Record], list[BadLine]]:
    """Convert records of a wide CSV to those of the JSON format."""
    if any(column.startswith(("Input.", "Answer.")) for column in header):
        return iter(()), [BadLine(1, refusal("file_of_mturk"))]
    columns: dict[str, list[tuple[int, str]]] = {}
    reasons = []
    for column in header:
        if match := _SYSTEM_COLUMN.fullmatch(column):
            columns.setdefault(trim(match["system"]), []).append((int(match["index"]), column))
        elif column not in (*NEEDED, "dataset"):
            reasons.append(refusal("unknown_column", column=repr(column)))
    reasons += [refusal("missing_column", column=column) for column in NEEDED if column not in header]
    for system, named in columns.items():
        named.sort()
        missing = next((n for n, (index, _) in enumerate(named, start=1) if index != n), None)
        if missing is not None:
            reasons.append(refusal("missing_column_of_system", system=system, number=missing))
    if sources_only and columns:
        reasons.append(refusal("columns_of_texts", systems=", ".join(columns)))
    if len(columns) < 2 and not sources_only:
        reasons.append(refusal("columns_of_few_systems", number=len(columns)))
    bad = [BadLine(1, reason) for reason in reasons]
    return (iter(()) if bad else _wide_records(records, columns)), bad


def _wide_records(records: Iterator[Record], columns: dict[str, list[tuple[int, str]]]) -> Iterator[Record]:
    for number, record in records:
        generations: dict[str, list[Any]] = {}
        for system, named in columns.items():
            cells = [record[column] for _, column in named]
            # Cells after the last filled one are none. Earlier empty cells are empty texts, and so is a single cell.
            while len(named) > 1 and cells and not cells[-1].strip():
                cells.pop()
            generations[system] = [from_cell(cell) for cell in cells]
        row = {"instance_id": record["instance_id"], "source": record["source"], "generations": generations}
        if record.get("dataset"):
            row["dataset"] = record["dataset"]
        yield number, row
