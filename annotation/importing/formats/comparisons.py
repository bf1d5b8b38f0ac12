"""Comparisons made elsewhere, each with its two texts: what files of AlpacaEval, Arena, Label Studio and votes have in common."""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from annotation.core.conversations import as_content, content_problem
from annotation.core.errors import MOST_BAD_LINES, BadLine
from annotation.core.files import lines
from annotation.core.files.file_bounds import FOR_COMMANDS, Bound
from annotation.core.files.lines import FileData, text_problem
from annotation.core.files.mapping import NOTHING, FieldMapping, read_mapped
from annotation.core.names import trim
from annotation.core.reasons import Reason
from annotation.core.refusals import refusal
from annotation.importing.formats.study_file import LONGEST_DATASET, LONGEST_ID, LONGEST_SYSTEM, InstanceRow

LONGEST_RATER = 200  # as of any rater: exports write every code


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two texts for one source, in the order in which they were shown, and what one rater said of them.

    index    : of the pair, where a system has several texts for a source
    system_a : which of the systems is the study's A; where it is empty, the one that was first in the first comparison
    verdict  : -1 the first, 0 neither, +1 the second; None: there is no answer that could be read
    p_second : probability that the judge prefers the second text
    order_known : whether `systems` are in the order in which a person saw them
    hit      : the name of its HIT; by default one for each instance and pair of systems
    """

    number: int
    instance_id: str
    dataset: str
    source: str
    systems: tuple[str, str]
    texts: tuple[str, str]
    rater: str
    by_judge: bool
    verdict: int | None
    index: int = 0
    system_a: str = ""
    reason: str = ""
    tie_kind: str = ""
    rated_at: datetime | None = None
    p_second: float | None = None
    repeat: int = 0
    order_known: bool = True
    hit: str = ""


class Fields:
    """The fields of one record, and what is wrong with them."""

    def __init__(self, number: int, record: dict[str, Any]) -> None:
        self.number = number
        self.record = record
        self.problems: list[Reason] = []

    def content(self, name: str, *, may_be_blank: bool = False) -> str:
        """Return a text or a conversation. A missing one is a problem."""
        if not isinstance(value := self.record.get(name), list):
            return self.text(name, may_be_blank=may_be_blank)
        if problem := content_problem(value, name, may_be_blank=may_be_blank):
            self.problems.append(problem)
            return ""
        return as_content(value)

    def text(self, name: str, *, longest: int | None = None, may_be_blank: bool = False, default: str = "") -> str:
        """Return a text. A missing one is a problem unless there is a default."""
        value = self.record.get(name)
        if value is None and default:
            return default
        if problem := text_problem(value, name, longest=longest, may_be_blank=may_be_blank):
            self.problems.append(refusal("missing", field=name) if value is None else problem)
            return ""
        return str(value)

    def name(self, field: str, *, longest: int = LONGEST_SYSTEM, default: str = "") -> str:
        """Return a name or code without blanks around it."""
        return trim(self.text(field, longest=longest, default=default))

    def whole(self, name: str) -> int:
        """Return a whole number from 0 on, or 0 where there is none."""
        value = self.record.get(name) or 0
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1000:
            self.refuse(name, "a whole number from 0 to 999", value)
            return 0
        return value

    def refuse(self, field: str, allowed: str, value: object) -> None:
        """Add the problem that a field's value is not allowed."""
        self.problems.append(refusal("not_one_of", field=field, words=allowed, value=repr(value)))

    def place(self, source: str, dataset: str, prefix: str) -> dict[str, Any]:
        """Return what says which pair it is: as Tandem has written it, or made of the source."""
        made_id = f"{prefix}-{hashlib.sha256(source.encode()).hexdigest()[:16]}"
        return {
            "instance_id": self.name("instance_id", longest=LONGEST_ID, default=made_id),
            "dataset": self.name("dataset", longest=LONGEST_DATASET, default=dataset),
            "source": source,
            "index": self.whole("pair_index"),
            "system_a": self.name("system_a") if self.record.get("system_a") else "",
        }


def moment(value: Any) -> datetime | None:
    """Return a time in ISO form, if it is one."""
    return lines.parse_time(value) if isinstance(value, str) else None


def read_comparisons(
    data: FileData,
    name: str,
    read: Callable[[Fields], list[Comparison]],
    bound: Bound = FOR_COMMANDS,
    mapping: FieldMapping = NOTHING,
) -> list[Comparison]:
    """Read JSON Lines, a JSON array or CSV, a record at a time. `mapping`: see `annotation.core.files.mapping`.

    Raises: BadFile listing the bad lines.
    """
    records, bad = read_mapped(data, mapping)
    comparisons: list[Comparison] = []
    for number, record in lines.watched(records, bad, "comparisons"):
        fields = Fields(number, record)
        of_record = read(fields)
        found = [problem for comparison in of_record for problem in _problems(comparison)]
        # An empty name is one that was said to be missing.
        problems = [*fields.problems, *(item for item in found if item.code != "empty" or not fields.problems)]
        bad.extend(BadLine(number, problem) for problem in dict.fromkeys(problems))
        comparisons += of_record if not problems else []
        bound.refuse_more(name, len(comparisons), "comparisons")
    if not comparisons and not bad:
        bad.append(BadLine(1, refusal("no_rows", what="comparisons")))
    if bad:  # where a bad record is left out, there may be gaps
        bad += [line for line in instances_of(comparisons)[1] if line.reason.code != "gaps"]
    lines.refuse(name, bad)
    return comparisons


def _problems(comparison: Comparison) -> list[Reason]:
    first, second = comparison.systems
    names = [("the name of a system", first), ("the name of a system", second), ("the rater", comparison.rater)]
    checked = (text_problem(value, subject, longest=LONGEST_RATER) for subject, value in names)
    problems = [problem for problem in checked if problem]
    if first == second != "":
        problems.append(refusal("one_system", system=repr(first)))
    if comparison.system_a and comparison.system_a not in comparison.systems:
        problems.append(refusal("a_not_compared", system=repr(comparison.system_a)))
    return problems


def instances_of(
    comparisons: Iterable[Comparison], *, other_source: str = "other_source_or_set"
) -> tuple[list[InstanceRow], list[BadLine]]:
    """Collect the texts of each instance's systems, and which systems are compared, A first.

    Bad are another source or text under the same name, and pairs that are left out between others.
    other_source : the code of the first problem
    """
    rows: dict[str, InstanceRow] = {}
    texts: dict[str, dict[str, dict[int, str]]] = {}  # instance → system → index → text
    matchups: dict[str, dict[frozenset[str], tuple[str, str]]] = {}
    orders: dict[frozenset[str], tuple[str, str]] = {}
    bad: list[BadLine] = []
    for comparison in comparisons:
        if len(bad) >= MOST_BAD_LINES:
            break
        key, number = comparison.instance_id, comparison.number
        row = rows.setdefault(key, InstanceRow(number, key, comparison.dataset, comparison.source, {}))
        if (row.source, row.dataset) != (comparison.source, comparison.dataset):
            bad.append(BadLine(number, refusal(other_source, instance=key, line=row.number)))
        for system, text in zip(comparison.systems, comparison.texts, strict=True):
            if texts.setdefault(key, {}).setdefault(system, {}).setdefault(comparison.index, text) != text:
                bad.append(BadLine(number, refusal("other_text_before", system=repr(system), instance=key)))
        both = frozenset(comparison.systems)
        a = comparison.system_a or comparison.systems[0]
        order = orders.setdefault(both, (a, *(both - {a})))  # type: ignore[arg-type]  # of two
        if comparison.system_a and order[0] != a:
            bad.append(BadLine(number, refusal("other_a_before", system=repr(a), earlier=repr(order[0]))))
        matchups.setdefault(key, {})[both] = order
    for key, row in rows.items():
        for system, by_index in texts[key].items():
            if set(by_index) != set(range(len(by_index))):
                bad.append(BadLine(row.number, refusal("gaps", system=repr(system))))
            row.generations[system] = [by_index[index] for index in sorted(by_index)]
    return [replace(row, matchups=tuple(matchups[key].values())) for key, row in rows.items()], bad
