"""Votes with a winner between two named systems, with the texts in a second file."""

from dataclasses import replace
from itertools import islice
from typing import Any

from annotation.core.errors import MOST_BAD_LINES, BadLine
from annotation.core.files import lines
from annotation.core.files.lines import FileData, text_problem
from annotation.core.names import trim
from annotation.core.refusals import refusal
from annotation.importing.formats.comparisons import Comparison, instances_of
from annotation.importing.formats.study_file import InstanceRow

_LONGEST = {"id": 200, "prompt": 190, "left": 200, "right": 200, "worker": 200, "winner": 200}
_WINNERS = {"left": -1, "right": 1, "tie": 0}
# Published files use different names for these texts.
_TEXT_FIELDS = {"source": ("text", "source"), "left": ("left", "result_x"), "right": ("right", "result_y")}
Vote = tuple[int, dict[str, str]]  # the number of its line, and its cells
Texts = dict[str, dict[str, str]]  # by the id of a pair


def parse_votes(
    data: FileData, name: str, texts: FileData, texts_name: str, *, dataset: str
) -> tuple[list[InstanceRow], list[Comparison]]:
    """Parse votes and texts, joined on `id`: one instance a prompt, with every system that has votes on it.

    Raises: BadFile listing the bad lines.
    """
    votes, bad = _votes(data, name)
    texts_by_id, bad_texts = _texts(texts, texts_name)
    # Where the id of a text can't be read, a vote on it has its text all the same.
    have_ids = all(line.reason.values.get("field") not in (None, "id") for line in bad_texts)
    without = ((number, cells["id"]) for number, cells in votes if have_ids and cells["id"] not in texts_by_id)
    bad += [
        BadLine(number, refusal("no_texts_of_id", name=texts_name, value=repr(pair_id)))
        for number, pair_id in islice(without, MOST_BAD_LINES)
    ]
    complete = {pair_id: parts for pair_id, parts in texts_by_id.items() if len(parts) == len(_TEXT_FIELDS)}
    comparisons = [
        _comparison(number, cells, complete[cells["id"]], dataset) for number, cells in votes if cells["id"] in complete
    ]
    # A system with two texts on one prompt is bad, as pairs would be ambiguous.
    instances, contradictions = instances_of(comparisons, other_source="other_source")
    bad += contradictions
    if not bad:
        lines.refuse(texts_name, bad_texts)
    lines.refuse(name, [*bad, *(replace(line, file=texts_name) for line in bad_texts)])
    return instances, comparisons


def instance_of_prompt(prompt: str) -> str:
    """Return the id of the instance that a prompt becomes."""
    return f"prompt-{prompt}" if prompt else ""


def _comparison(number: int, cells: dict[str, str], texts: dict[str, str], dataset: str) -> Comparison:
    instance_id, left, right = instance_of_prompt(cells["prompt"]), cells["left"], cells["right"]
    return Comparison(
        number,
        instance_id,
        dataset,
        texts["source"],
        systems=(left, right),
        texts=(texts["left"], texts["right"]),
        rater=cells["worker"],
        by_judge=False,
        verdict=_WINNERS[cells["winner"]],
        hit=f"{instance_id}/{left}/{right}",
    )


def _votes(data: FileData, name: str) -> tuple[list[Vote], list[BadLine]]:
    rows: list[Vote] = []
    records, bad = lines.read_file(data, name)
    for number, record in lines.watched(records, bad, "votes"):
        cells = {field: _word(record.get(field)) for field in _LONGEST}
        problems = [refusal("missing", field=field) for field, value in cells.items() if not value]
        checked = (text_problem(cells[field], field, longest=longest) for field, longest in _LONGEST.items())
        problems += [problem for problem in checked if problem and problem.code != "empty"]
        if cells["winner"] and cells["winner"] not in _WINNERS:
            words = "left, right or tie"
            problems.append(refusal("not_one_of", field="winner", words=words, value=repr(cells["winner"])))
        if cells["left"] and cells["left"] == cells["right"]:
            problems.append(refusal("same_sides", system=repr(cells["left"])))
        bad.extend(BadLine(number, problem) for problem in problems)
        if not problems:
            rows.append((number, cells))
    if not rows and not bad:
        bad.append(BadLine(1, refusal("no_rows", what="votes")))
    return rows, bad


def _texts(data: FileData, name: str) -> tuple[Texts, list[BadLine]]:
    result: Texts = {}
    records, bad = lines.read_file(data, name)
    for number, record in records:
        if len(bad) >= MOST_BAD_LINES:
            break
        pair_id, texts = _word(record.get("id")), {}
        for field, names in _TEXT_FIELDS.items():
            key = next((key for key in names if key in record), None)
            if key is None:
                bad.append(BadLine(number, refusal("missing", field=" or ".join(names))))
            elif problem := text_problem(
                record[key], key, may_be_blank=field != "source"
            ):  # systems may give empty texts
                bad.append(BadLine(number, problem))
            else:
                texts[field] = record[key]
        if not pair_id:
            bad.append(BadLine(number, refusal("missing", field="id")))
        elif pair_id in result:
            bad.append(BadLine(number, refusal("repeated", field="id", value=repr(pair_id))))
        else:
            result[pair_id] = texts
    return result, bad


def _word(value: Any) -> str:
    return trim(str(value)) if isinstance(value, str | int) and not isinstance(value, bool) else ""
