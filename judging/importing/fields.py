"""A row of a judgments file in any form, and the parsing of its fields."""

import re
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from analysis.types import Verdict
from annotation.core.files.lines import text_problem
from annotation.core.files.record_fields import RecordFields, number_as_text
from annotation.core.names import trim
from annotation.core.refusals import refusal

LONGEST = 200
LONGEST_NAME = 80  # of a judge
LONGEST_FAMILY = 100
MOST_TOKENS = 10**9
_NO_NAME = re.compile(r"[^A-Za-z0-9_.:/@-]+")


@dataclass(frozen=True, slots=True)
class PairReference:
    """The pair that a row refers to: by the instance's id, or by data set and position in it, from 0.

    pair               : its index, from 0; None if the instance has only one
    system_a, system_b : the row's own A and B; empty if the instance has only one matchup
    """

    instance: str = ""
    subset: str = ""
    idx: int | None = None
    pair: int | None = None
    system_a: str = ""
    system_b: str = ""

    def __str__(self) -> str:
        if self.idx is not None:
            return f"number {self.idx} of {self.subset}"
        return f"instance {self.instance!r}" + ("" if self.pair is None else f", pair {self.pair}")


@dataclass(frozen=True, slots=True)
class JudgmentRow:
    """One presentation in a file. `gold`: the text that the file says is better, if it does.

    question : its key; empty for the main one

    Fields after `completion_tokens` are in the long form only.
    """

    number: int
    place: PairReference
    judge: str
    order: str
    verdict: Verdict | None
    gold: Verdict | None = None
    question: str = ""
    family: str = ""
    rationale: str = ""
    calls: int = 0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    status: str = ""
    repeat: int = 0
    negated: bool = False
    reason: str = ""
    p_b: float | None = None
    score_a: float | None = None
    score_b: float | None = None
    token_mass: float | None = None
    cost: Decimal | None = None
    prompt_version: str = ""
    judged_at: datetime | None = None


def judge_name(label: str) -> str:
    """Turn a file's label of a judge into a name: `GPT-4 (CoT)` into `GPT-4-CoT`."""
    return _NO_NAME.sub("-", label).strip("-").lstrip(".:/@")


class JudgmentFields(RecordFields):
    """The fields of one judgment. White space around a text does not count."""

    def __init__(self, line: int, record: dict[str, Any]) -> None:
        super().__init__(record)
        self.line = line

    def text(self, field: str, *, longest: int | None = LONGEST) -> str:
        """Return a text, or that of a number, or an empty string where there is none."""
        value = self.record.get(field)
        if value is None:
            return ""
        value = number_as_text(value)
        if problem := text_problem(value, field, longest=longest, may_be_blank=True):
            self.problems.append(problem)
            return ""
        return trim(str(value))

    def whole(self, field: str, *, maximum: int = MOST_TOKENS, is_needed: bool = False) -> int | None:
        """Return a whole number from 0 to `maximum`, or None where there is none."""
        if is_needed and not self.needed(field):
            return None
        return super().whole(field, maximum=maximum)

    def judge(self, label: str) -> str:
        """Return the file's label of the judge, if a name can be made from it."""
        name = judge_name(label)
        if label and not name:
            self.problems.append(refusal("judge_without_name", judge=repr(label)))
        elif len(name) > LONGEST_NAME:
            self.problems.append(refusal("judge_name_too_long", judge=repr(label), most=LONGEST_NAME))
        return label
