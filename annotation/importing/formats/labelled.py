"""Instances with two outputs of which one is better: labelled outputs and preference pairs, as JSON Lines or array.

Labelled outputs (LLMBar's format) have `input, output_1, output_2, label`, where `label` is 1 or 2: the better one.
Preference pairs have `prompt, chosen, rejected`. An answer is a text, or a list of messages `{"role", "content"}` that may
repeat the conversation. Without a `prompt`, the source is the common beginning of the two transcripts, up to the last speaker.
"""

import hashlib
import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from annotation.core.conversations import as_content, content_problem
from annotation.core.errors import BadLine
from annotation.core.files import lines
from annotation.core.files.file_bounds import FOR_COMMANDS, Bound
from annotation.core.files.json_values import count_values
from annotation.core.files.lines import FileData, text_problem, unstorable_key
from annotation.core.names import trim
from annotation.core.reasons import Reason
from annotation.core.refusals import refusal
from annotation.importing.formats.study_file import LONGEST_ID, InstanceRow

SYSTEMS = ("output_1", "output_2")
LABELLED, PREFERENCES = "labelled", "preferences"
ANSWERS = ("chosen", "rejected")
FIELDS = {LABELLED: ("input", *SYSTEMS, "label"), PREFERENCES: ("prompt", *ANSWERS)}
KNOWN_BY = {LABELLED: FIELDS[LABELLED], PREFERENCES: ANSWERS}
KNOWN_TAGS = ("natural", "adversarial")  # if the file's name contains one
LONGEST_TAG = 100
_IDS = ("instance_id", "id")
# A line that starts a turn in a written conversation, such as "Assistant:".
_TURN = re.compile(r"(?:^|\n)[ \t]*(?:Human|User|Assistant|AI|Bot)[ \t]*:", re.IGNORECASE)
Compared = tuple[str, str, str]  # a source, and two outputs


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
    dataset = dataset or stem
    of_file = list(tags) or [tag for tag in KNOWN_TAGS if tag in re.split(r"[^a-z]+", stem.lower())]
    records, bad = lines.read_file(data, name)
    rows: list[InstanceRow] = []
    first_seen: dict[str, int] = {}
    values = 0
    for index, (number, record) in enumerate(lines.watched(records, bad, f"files of kind {form}")):
        bound.refuse_more(name, index + 1, "instances")
        identifier = next((record[key] for key in _IDS if record.get(key) is not None), f"{dataset}-{index}")
        is_id = isinstance(identifier, str | int) and not isinstance(identifier, bool)
        instance_id = trim(str(identifier)) if is_id else ""
        compared = _labelled(record) if form == LABELLED else _preference(record)
        problems = [*(compared if isinstance(compared, list) else ()), *_problems(record, FIELDS[form], instance_id)]
        if line := first_seen.get(instance_id):
            problems.append(refusal("repeated_on", field="instance", value=repr(instance_id), line=line))
        first_seen.setdefault(instance_id, number)
        bad.extend(BadLine(number, problem) for problem in problems)
        if problems or isinstance(compared, list):
            continue
        source, *outputs = compared
        if form == LABELLED:
            better = int(record["label"]) - 1
        else:  # the chosen text is on a random side
            better = hashlib.sha256(f"{seed}\x00{instance_id}".encode("utf-8", "surrogatepass")).digest()[0] & 1
            outputs = outputs[::-1] if better else outputs
        metadata = {key: value for key, value in record.items() if key not in (*FIELDS[form], *_IDS, "tags")}
        if together := list(dict.fromkeys([*(record.get("tags") or []), *of_file])):
            metadata["tags"] = together
        generations = {system: [text] for system, text in zip(SYSTEMS, outputs, strict=True)}
        gold = {"better": SYSTEMS[better]}
        rows.append(InstanceRow(number, instance_id, dataset, source, generations, gold, metadata))
        values += count_values(metadata)
        bound.refuse_metadata(name, values)
    if not rows and not bad:
        bad.append(BadLine(1, refusal("no_rows", what="instance")))
    lines.refuse(name, bad)
    return rows


def _problems(record: dict[str, Any], fields: Sequence[str], instance_id: str) -> list[Reason]:
    results = []
    if not instance_id.strip():
        results.append(refusal("no_id"))
    elif problem := text_problem(instance_id, "the id", longest=LONGEST_ID):
        results.append(problem)
    tags = record.get("tags")
    if tags is not None and (not isinstance(tags, list) or any(text_problem(tag, longest=LONGEST_TAG) for tag in tags)):
        results.append(refusal("not_a", field="tags", kind="a list of short texts"))
    if broken := unstorable_key({key: value for key, value in record.items() if key not in fields}):
        results.append(refusal("unstorable", key=repr(broken)))
    return results


def _labelled(record: dict[str, Any]) -> Compared | list[Reason]:
    problems = []
    for field in FIELDS[LABELLED]:
        if field not in record:
            problems.append(refusal("missing", field=field))
        elif field == "label":
            if isinstance(record[field], bool) or str(record[field]) not in ("1", "2"):
                words = "1 or 2, the better output"
                problems.append(refusal("not_one_of", field="label", words=words, value=repr(record[field])))
        elif problem := content_problem(record[field], field, may_be_blank=field != "input"):
            problems.append(problem)
    return problems or (as_content(record["input"]), as_content(record[SYSTEMS[0]]), as_content(record[SYSTEMS[1]]))


def _preference(record: dict[str, Any]) -> Compared | list[Reason]:
    problems = []
    for name in FIELDS[PREFERENCES]:
        if name in record:  # an answer may be empty, a prompt not
            problems.append(content_problem(record[name], name, may_be_blank=name in ANSWERS))
        elif name in ANSWERS:
            problems.append(refusal("missing", field=name))
    if refused := [problem for problem in problems if problem]:
        return refused
    prompt, preferred, rejected = (record.get(name) for name in FIELDS[PREFERENCES])
    if isinstance(preferred, str) != isinstance(rejected, str):
        return [refusal("two_kinds")]
    compared = (_of_texts if isinstance(preferred, str) else _of_messages)(prompt, preferred, rejected)
    if isinstance(compared, Reason):
        return [compared]
    return compared if compared[0].strip() else [refusal("empty", field="the prompt")]


def _of_texts(prompt: Any, preferred: Any, rejected: Any) -> Compared | Reason:
    if prompt is not None:
        return as_content(prompt), preferred, rejected
    common = _common(preferred, rejected)
    turns = [turn for turn in _TURN.finditer(preferred) if turn.end() <= common]
    if not turns:
        return refusal("no_common_conversation")
    begin, end = turns[-1].span()
    return preferred[:begin].strip(), preferred[end:].strip(), rejected[end:].strip()


def _of_messages(prompt: Any, preferred: Any, rejected: Any) -> Compared | Reason:
    common = min(_common(preferred, rejected), len(preferred) - 1, len(rejected) - 1)  # two answers may be equal
    before = preferred[:common]
    if not before and prompt is None:
        return refusal("no_common_message")
    return as_content(before or prompt), as_content(preferred[common:]), as_content(rejected[common:])


def _common(first: Sequence[Any], second: Sequence[Any]) -> int:
    """Return the length of the common beginning of two sequences."""
    equal = (a == b for a, b in zip(first, second, strict=False))
    return next((index for index, is_equal in enumerate(equal) if not is_equal), min(len(first), len(second)))
