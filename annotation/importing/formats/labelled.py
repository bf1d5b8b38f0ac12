"""Instances with two outputs of which one is better: labelled outputs and preference pairs, as JSON Lines or array.

Labelled outputs (LLMBar's format) have `input, output_1, output_2, label`, where `label` is 1 or 2: the better one.
Preference pairs have `prompt, chosen, rejected`, see `annotation.importing.formats.preferences`.
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from annotation.core.conversations import as_content, content_problem
from annotation.core.errors import MOST_BAD_LINES, BadLine
from annotation.core.files import lines
from annotation.core.files.file_bounds import FOR_COMMANDS, Bound
from annotation.core.files.json_values import count_values
from annotation.core.files.lines import FileData, text_problem, unstorable_key
from annotation.core.names import trim
from annotation.core.reasons import Reason
from annotation.core.refusals import refusal
from annotation.importing.formats.preferences import NEEDED, read_preference
from annotation.importing.formats.study_file import LONGEST_ID, InstanceRow

SYSTEMS = ("output_1", "output_2")
LABELLED, PREFERENCES = "labelled", "preferences"
FIELDS = {LABELLED: ("input", *SYSTEMS, "label"), PREFERENCES: ("prompt", *NEEDED)}
KNOWN_BY = {LABELLED: FIELDS[LABELLED], PREFERENCES: NEEDED}
KNOWN_TAGS = ("natural", "adversarial")  # if the file's name contains one
LONGEST_TAG = 100
_IDS = ("instance_id", "id")


@dataclass(frozen=True)
class _Compared:
    """An input, its two outputs in study order, and the better one."""

    source: str
    outputs: tuple[str, str]
    better: str


def detect_form(data: FileData) -> str | None:
    """Return the form of a file by the fields of its first record, or None."""
    fields = set(lines.first_json_record(data))
    return next((form for form, needed in KNOWN_BY.items() if fields >= set(needed)), None)


def parse_labelled(
    data: FileData,
    name: str,
    *,
    form: str,
    dataset: str = "",
    tags: Sequence[str] = (),
    seed: int = 0,
    bound: Bound = FOR_COMMANDS,
) -> list[InstanceRow]:
    """Parse a file of `form`, one instance a record. The outputs become two systems, `output_1` (A) and `output_2`.

    dataset : by default the file's name without suffix; an instance without an id is named by it and its index
    tags    : of every instance; by default `natural` or `adversarial` if the file's name contains it
    seed    : of the draw that makes the chosen text of a preference pair output 1 or 2, against position bias
    bound   : of instances, and of values of metadata
    Raises: BadFile listing the bad lines.
    """
    stem = PurePath(name).stem
    tags_kept = list(dict.fromkeys(tags)) or [tag for tag in KNOWN_TAGS if tag in re.split(r"[^a-z]+", stem.lower())]
    records, bad = lines.read_csv(data)[1:] if lines.is_csv(name) else lines.read_json(data)
    rows: list[InstanceRow] = []
    first_seen: dict[str, int] = {}
    values = 0
    absent = lines.AbsentFields(f"files of kind {form}")
    for index, (number, record) in enumerate(absent.watch(records)):
        if len(bad) >= MOST_BAD_LINES:
            break
        bound.refuse_more(name, index + 1, "instances")
        instance_id = _instance_id(record, f"{dataset or stem}-{index}")
        compared = _READ[form](record, instance_id, seed)
        problems = [*(compared if isinstance(compared, list) else ()), *_problems(record, FIELDS[form], instance_id)]
        if instance_id in first_seen:
            problems.append(
                refusal("repeated_on", field="instance", value=repr(instance_id), line=first_seen[instance_id])
            )
        first_seen.setdefault(instance_id, number)
        bad.extend(BadLine(number, problem) for problem in problems)
        if not problems and isinstance(compared, _Compared):
            rows.append(_row(number, instance_id, dataset or stem, compared, _extra(record, FIELDS[form], tags_kept)))
            values += count_values(rows[-1].metadata)
            bound.refuse_metadata(name, values)
    if not rows and not bad:
        bad.append(BadLine(1, refusal("no_rows", what="instance")))
    lines.refuse(name, absent.summarised(bad))
    return rows


def _labelled(record: dict[str, Any], instance_id: str, seed: int) -> _Compared | list[Reason]:
    problems = []
    for field in FIELDS[LABELLED]:
        if field not in record:
            problems.append(refusal("missing", field=field))
        elif field == "label":
            if isinstance(record[field], bool) or str(record[field]) not in ("1", "2"):
                problems.append(
                    refusal("not_one_of", field="label", words="1 or 2, the better output", value=repr(record[field]))
                )
        elif problem := content_problem(record[field], field, may_be_blank=field != "input"):
            problems.append(problem)
    if problems:
        return problems
    source, first, second = (as_content(record[name]) for name in ("input", *SYSTEMS))
    return _Compared(source, (first, second), SYSTEMS[int(record["label"]) - 1])


def _preference(record: dict[str, Any], instance_id: str, seed: int) -> _Compared | list[Reason]:
    """Return the pair with the chosen text on a random side."""
    preference = read_preference(record)
    if isinstance(preference, list):
        return preference
    second = hashlib.sha256(f"{seed}\x00{instance_id}".encode("utf-8", "surrogatepass")).digest()[0] & 1
    outputs = (preference.chosen, preference.rejected)
    return _Compared(preference.source, outputs[::-1] if second else outputs, SYSTEMS[second])


_READ: dict[str, Callable[[dict[str, Any], str, int], _Compared | list[Reason]]] = {
    LABELLED: _labelled,
    PREFERENCES: _preference,
}


def _row(number: int, instance_id: str, dataset: str, compared: _Compared, metadata: dict[str, Any]) -> InstanceRow:
    return InstanceRow(
        number=number,
        instance_id=instance_id,
        dataset=dataset,
        source=compared.source,
        generations={system: [text] for system, text in zip(SYSTEMS, compared.outputs, strict=True)},
        gold={"better": compared.better},
        metadata=metadata,
    )


def _instance_id(record: dict[str, Any], otherwise: str) -> str:
    identifier = next((record[key] for key in _IDS if record.get(key) is not None), otherwise)
    return trim(str(identifier)) if isinstance(identifier, str | int) and not isinstance(identifier, bool) else ""


def _extra(record: dict[str, Any], fields: Sequence[str], tags: list[str]) -> dict[str, Any]:
    """Return the record's other fields, and its tags with those of the whole file."""
    extra = {key: value for key, value in record.items() if key not in (*fields, *_IDS, "tags")}
    together = list(dict.fromkeys([*(record.get("tags") or []), *tags]))
    return {**extra, "tags": together} if together else extra


def _problems(record: dict[str, Any], fields: Sequence[str], instance_id: str) -> list[Reason]:
    results = []
    if not instance_id.strip():
        results.append(refusal("no_id"))
    elif problem := text_problem(instance_id, "the id", longest=LONGEST_ID):
        results.append(problem)
    tags = record.get("tags")
    if tags is not None and (
        not isinstance(tags, list) or any(text_problem(tag, longest=LONGEST_TAG) is not None for tag in tags)
    ):
        results.append(refusal("not_a", field="tags", kind="a list of short texts"))
    if broken := unstorable_key({key: value for key, value in record.items() if key not in fields}):
        results.append(refusal("unstorable", key=repr(broken)))
    return results
