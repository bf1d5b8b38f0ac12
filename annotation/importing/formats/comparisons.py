"""Comparisons made elsewhere, each with its two texts: what AlpacaEval's, Arena's and Label Studio's files have in common."""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from annotation.core.conversations import as_content, content_problem
from annotation.core.errors import MOST_BAD_LINES, BadFile, BadLine
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

    def name(self, field: str, *, longest: int, default: str = "") -> str:
        """Return a name or code without blanks around it."""
        return trim(self.text(field, longest=longest, default=default))

    def whole(self, name: str) -> int:
        """Return a whole number from 0 on, or 0 where there is none."""
        value = self.record.get(name) or 0
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1000:
            self.problems.append(
                refusal("not_one_of", field=name, words="a whole number from 0 to 999", value=repr(value))
            )
            return 0
        return value

    def moment(self, value: Any) -> datetime | None:
        """Return a time in ISO form, if it is one."""
        return lines.parse_time(value) if isinstance(value, str) else None

    def place(self, source: str, dataset: str, prefix: str) -> dict[str, Any]:
        """Return what says which pair it is: as Tandem has written it, or made of the source."""
        made_id = f"{prefix}-{hashlib.sha256(source.encode()).hexdigest()[:16]}"
        return {
            "instance_id": self.name("instance_id", longest=LONGEST_ID, default=made_id),
            "dataset": self.name("dataset", longest=LONGEST_DATASET, default=dataset),
            "source": source,
            "index": self.whole("pair_index"),
            "system_a": self.name("system_a", longest=LONGEST_SYSTEM) if self.record.get("system_a") else "",
        }


Read = Callable[[Fields], list[Comparison]]


def read_comparisons(
    data: FileData, name: str, read: Read, bound: Bound = FOR_COMMANDS, mapping: FieldMapping = NOTHING
) -> list[Comparison]:
    """Read JSON Lines, a JSON array or CSV, a record at a time. `mapping`: see `annotation.core.files.mapping`.

    Raises: BadFile listing the bad lines.
    """
    records, bad = read_mapped(data, mapping)
    comparisons: list[Comparison] = []
    absent = lines.AbsentFields("comparisons")
    for number, record in absent.watch(records):
        if len(bad) >= MOST_BAD_LINES:
            break
        fields = Fields(number, record)
        read_here = read(fields)
        found = (problem for item in read_here for problem in _problems(item))
        # An empty name is one that was said to be missing.
        problems = [*fields.problems, *(one for one in found if one.code != "empty" or not fields.problems)]
        bad.extend(BadLine(number, problem) for problem in dict.fromkeys(problems))
        if not problems:
            comparisons += read_here
        bound.refuse_more(name, len(comparisons), "comparisons")
    if not comparisons and not bad:
        bad.append(BadLine(1, refusal("no_rows", what="comparisons")))
    if bad:
        try:
            instances_of(comparisons, name)
        except BadFile as error:  # where a bad record is left out, there may be gaps
            bad += [line for line in error.lines if line.reason.code != "gaps"]
    lines.refuse(name, absent.summarised(bad))
    return comparisons


def _problems(comparison: Comparison) -> list[Reason]:
    problems = [
        problem
        for subject, value, longest in (
            *(("the name of a system", system, LONGEST_SYSTEM) for system in comparison.systems),
            ("the rater", comparison.rater, LONGEST_RATER),
        )
        if (problem := text_problem(value, subject, longest=longest))
    ]
    if comparison.systems[0] == comparison.systems[1] != "":
        problems.append(refusal("one_system", system=repr(comparison.systems[0])))
    if comparison.system_a and comparison.system_a not in comparison.systems:
        problems.append(refusal("a_not_compared", system=repr(comparison.system_a)))
    return problems


@dataclass
class _Instance:
    """An instance as read so far."""

    row: InstanceRow
    texts: dict[str, dict[int, str]] = field(default_factory=dict)
    matchups: dict[frozenset[str], tuple[str, str]] = field(default_factory=dict)


def instances_of(comparisons: Iterable[Comparison], name: str) -> list[InstanceRow]:
    """Collect the texts of each instance's systems, and which systems are compared, A first.

    Raises: BadFile for another source or text under the same name, and for pairs that are left out between others.
    """
    result: dict[str, _Instance] = {}
    orders: dict[frozenset[str], tuple[str, str]] = {}
    bad: list[BadLine] = []
    for comparison in comparisons:
        if len(bad) >= MOST_BAD_LINES:
            break
        row = InstanceRow(comparison.number, comparison.instance_id, comparison.dataset, comparison.source, {})
        instance = result.setdefault(comparison.instance_id, _Instance(row))
        if (instance.row.source, instance.row.dataset) != (comparison.source, comparison.dataset):
            bad.append(
                BadLine(
                    comparison.number,
                    refusal("other_source_or_set", instance=comparison.instance_id, line=instance.row.number),
                )
            )
        for system, text in zip(comparison.systems, comparison.texts, strict=True):
            if instance.texts.setdefault(system, {}).setdefault(comparison.index, text) != text:
                bad.append(
                    BadLine(
                        comparison.number,
                        refusal("other_text_before", system=repr(system), instance=comparison.instance_id),
                    )
                )
        both = frozenset(comparison.systems)
        a = comparison.system_a or comparison.systems[0]
        order = orders.setdefault(both, (a, *(both - {a})))  # type: ignore[arg-type]  # of two
        if comparison.system_a and order[0] != a:
            bad.append(BadLine(comparison.number, refusal("other_a_before", system=repr(a), earlier=repr(order[0]))))
        instance.matchups[both] = order
    for one_instance in result.values():
        for system, texts in one_instance.texts.items():
            if set(texts) != set(range(len(texts))):
                bad.append(BadLine(one_instance.row.number, refusal("gaps", system=repr(system))))
            one_instance.row.generations[system] = [texts[index] for index in sorted(texts)]
    lines.refuse(name, bad)
    return [
        InstanceRow(
            present.row.number, present.row.instance_id, present.row.dataset, present.row.source, present.row.generations,
            matchups=tuple(present.matchups.values()),
        )
        for present in result.values()
    ]  # fmt: skip
