"""Judgments made elsewhere: one presentation a row, or LLMBar's table with both presentations in a row."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.types import Verdict
from annotation.errors import MOST_BAD_LINES, BadLine
from annotation.formats import lines
from annotation.formats.lines import Record, text_problem
from judging.models import Judgment

PLAIN = ("instance", "pair", "judge", "order", "verdict")
OPTIONAL = ("system_a", "system_b", "family", "rationale", "calls", "prompt_tokens", "completion_tokens")
TABLE = ("subset", "llm", "strategy", "idx", "label", "winner_noswap", "winner_swap")
VERDICTS = {"a": Verdict.A, "tie": Verdict.TIE, "b": Verdict.B, "": None}
WINNERS = {"1": Verdict.A, "2": Verdict.B, "": None}
LONGEST = 200
LONGEST_NAME = 80  # of a judge
LONGEST_FAMILY = 100
MOST_TOKENS = 10**9
_NO_SLUG = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(frozen=True)
class Place:
    """Which pair a row speaks of: by the instance's id, or by its data set and its place in that, from 0.

    pair               : its index, from 0; None where the instance has only one
    system_a, system_b : the row's own A and B; empty where the instance has only one matchup
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


@dataclass(frozen=True)
class JudgmentRow:
    """One presentation as the file has it. `gold` is which text the file says is better, where it does."""

    number: int
    place: Place
    judge: str
    order: str
    verdict: Verdict | None
    gold: Verdict | None = None
    family: str = ""
    rationale: str = ""
    calls: int = 0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass(frozen=True)
class JudgmentFile:
    """The rows of a file that can be read, the lines that can't, and the columns that nothing was made of."""

    rows: list[JudgmentRow]
    bad: list[BadLine]
    unread: list[str]


def judge_name(label: str) -> str:
    """Turn what a file calls a judge into a name as judges have it: `GPT-4 (CoT)` into `GPT-4-CoT`."""
    return _NO_SLUG.sub("-", label).strip("-")


def parse_judgments(data: bytes, name: str) -> JudgmentFile:
    """Read judgments: CSV, or the same fields as JSON. The header says which of the two forms it is.

    Raises: BadFile for a file without the columns, or without any rows.
    """
    header, records, bad = _records(data)
    if not records:
        lines.refuse(name, bad)
    is_table = "winner_noswap" in header
    needed, known = (TABLE, TABLE) if is_table else (PLAIN, PLAIN + OPTIONAL)
    lines.refuse(name, [BadLine(1, f"column {column} is missing") for column in needed if column not in header])
    rows: list[JudgmentRow] = []
    for number, record in records:
        if len(bad) >= MOST_BAD_LINES:
            break
        cells = _Cells(number, record)
        made = _of_table(cells) if is_table else [_plain(cells)]
        bad.extend(BadLine(number, problem) for problem in cells.problems)
        rows.extend(made if not cells.problems else [])
    if not rows and not bad:
        bad.append(BadLine(1, "the file holds no judgments"))
    return JudgmentFile(rows, bad, [column for column in header if column not in known])


def _records(data: bytes) -> tuple[list[str], list[Record], list[BadLine]]:
    """Read CSV or JSON, told apart by how the file begins; the header of JSON is every field that occurs."""
    if data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] not in (b"{", b"["):
        return lines.read_csv(data)
    records, bad = lines.read_json(data)
    return list(dict.fromkeys(field for _, record in records for field in record)), records, bad


def _plain(cells: "_Cells") -> JudgmentRow:
    place = Place(
        instance=cells.needed("instance"),
        pair=cells.whole("pair"),
        system_a=cells.text("system_a"),
        system_b=cells.text("system_b"),
    )
    if bool(place.system_a) != bool(place.system_b):
        cells.problems.append("system_a and system_b go together: one of them is missing")
    return JudgmentRow(
        number=cells.number,
        place=place,
        judge=cells.judge(cells.needed("judge")),
        order=cells.one_of("order", Judgment.Order.values),
        verdict=VERDICTS.get(cells.one_of("verdict", VERDICTS)),
        family=cells.text("family", longest=LONGEST_FAMILY),
        rationale=cells.text("rationale", longest=None),
        calls=cells.whole("calls") or 0,
        prompt_tokens=cells.whole("prompt_tokens"),
        completion_tokens=cells.whole("completion_tokens"),
    )


def _of_table(cells: "_Cells") -> list[JudgmentRow]:
    """Make two presentations of a row: the first output shown first, and the second one (swapped)."""
    place = Place(subset=cells.needed("subset"), idx=cells.whole("idx", is_needed=True), pair=0)
    judge = cells.judge(f"{cells.needed('llm')}-{cells.needed('strategy')}")
    gold = WINNERS.get(cells.one_of("label", ("1", "2")))
    verdicts = {
        Judgment.Order.AB: cells.one_of("winner_noswap", WINNERS),
        Judgment.Order.BA: cells.one_of("winner_swap", WINNERS),
    }
    return [
        JudgmentRow(cells.number, place, judge, str(order), WINNERS.get(winner), gold)
        for order, winner in verdicts.items()
    ]


class _Cells:
    """One record's fields, read as what they should be; every problem is noted."""

    def __init__(self, number: int, record: dict[str, Any]) -> None:
        self.number = number
        self.record = record
        self.problems: list[str] = []

    def text(self, field: str, *, longest: int | None = LONGEST) -> str:
        value = self.record.get(field)
        if value is None:
            return ""
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if problem := text_problem(value, longest=longest, may_be_blank=True):
            self.problems.append(f"{field} {problem}")
            return ""
        return str(value).strip()

    def needed(self, field: str) -> str:
        value = self.text(field)
        if not value and not any(problem.startswith(f"{field} ") for problem in self.problems):
            self.problems.append(f"{field} is missing")
        return value

    def one_of(self, field: str, offered: Iterable[str]) -> str:
        value, known = self.text(field).lower(), list(offered)
        if value not in known:
            named: Sequence[str] = [one or "empty" for one in known]
            self.problems.append(f"{field} is {value!r}; it must be {', '.join(named[:-1])} or {named[-1]}")
        return value

    def whole(self, field: str, *, is_needed: bool = False) -> int | None:
        value = self.needed(field) if is_needed else self.text(field)
        if not value:
            return None
        if not value.isascii() or not value.isdigit() or len(value) > 10 or int(value) > MOST_TOKENS:
            self.problems.append(f"{field} is {value[:40]!r}, not a whole number from 0 to {MOST_TOKENS:,}")
            return None
        return int(value)

    def judge(self, label: str) -> str:
        """Return what the file calls the judge, if a name can be made of it."""
        name = judge_name(label)
        if label and not name:
            self.problems.append(f"judge {label!r} can't be named: a name needs a letter from A to Z, or a digit")
        elif len(name) > LONGEST_NAME:
            self.problems.append(f"judge {label!r} is too long a name; at most {LONGEST_NAME} characters are taken")
        return label
