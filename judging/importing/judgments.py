"""Judgments in files: plain rows of one presentation, rows as they are exported, votes with a winner, or LLMBar's rows of two."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from analysis.types import Verdict
from annotation.core.errors import MOST_BAD_LINES, BadLine
from annotation.core.files import lines
from annotation.core.files.lines import FileData, Record, text_problem
from annotation.core.files.mapping import NOTHING, FieldMapping, read_mapped
from annotation.core.files.record_fields import SIGNS, SIGNS_TO_LETTERS, RecordFields, number_as_text
from annotation.core.files.spreadsheet import restore
from annotation.core.names import trim
from annotation.core.refusals import refusal
from annotation.importing.formats.long_form import RATING_COLUMNS
from annotation.importing.formats.votes import instance_of_prompt
from annotation.models import Study
from judging.models import Judge, Judgment

# What exports write; those that no import needs may be missing.
JUDGMENT_COLUMNS = (
    *RATING_COLUMNS,
    *("judge", "method", "model", "params", "prompt_version", "order", "repeat", "negated", "status", "verdict"),
    *("p_b", "score_a", "score_b", "rationale", "calls", "prompt_tokens", "completion_tokens", "cost", "latency_ms"),
    *("completion_keys", "token_mass", "served_models", "fingerprints", "providers", "prompt_cut"),
)
QUESTION = "question"  # its key; written where a study asks several questions, read everywhere, empty for the main one
LONG = ("instance_id", "pair_index", "system_a", "system_b", "judge", "order", "status", "verdict")
PLAIN = ("instance", "judge", "order", "verdict")
OPTIONAL = (
    "pair",
    "system_a",
    "system_b",
    "family",
    "rationale",
    "calls",
    "prompt_tokens",
    "completion_tokens",
    QUESTION,
)
TABLE = ("subset", "llm", "strategy", "idx", "label", "winner_noswap", "winner_swap")
VOTES = ("prompt", "left", "right", "winner")
# Verdicts by the words of each form.
VERDICTS = {"a": Verdict.A, "tie": Verdict.TIE, "b": Verdict.B, "": None}
NUMBERS = {"-1": Verdict.A, "0": Verdict.TIE, "1": Verdict.B, "": None}
WINNERS = {"1": Verdict.A, "2": Verdict.B, "": None}
SIDES = {"left": Verdict.A, "tie": Verdict.TIE, "right": Verdict.B, "": None}
LONGEST, LONGEST_FAMILY, LONGEST_VERSION = 200, 100, 160
LONGEST_NAME = 80  # of a judge
MOST_TOKENS, MOST_COST = 10**9, 10**5
_STATUSES = [status for status in Judgment.Status.values if status != Judgment.Status.PENDING]
_NO_NAME = re.compile(r"[^A-Za-z0-9_.:/@-]+")


def judgment_columns(study: Study) -> tuple[str, ...]:
    """Return the columns of a study's judgments."""
    return (*JUDGMENT_COLUMNS, QUESTION) if len(study.questions) > 1 else JUDGMENT_COLUMNS


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


@dataclass(frozen=True)
class JudgmentFile:
    """The parsed rows of a file, its bad lines, and its unknown columns."""

    rows: list[JudgmentRow]
    bad: list[BadLine]
    unread: list[str]


def judge_name(label: str) -> str:
    """Turn a file's label of a judge into a name: `GPT-4 (CoT)` into `GPT-4-CoT`."""
    return _NO_NAME.sub("-", label).strip("-").lstrip(".:/@")


def parse_judgments(data: FileData, name: str, judge: str = "", mapping: FieldMapping = NOTHING) -> JudgmentFile:
    """Parse judgments from CSV or JSON, in the form that the header indicates.

    judge   : who gave votes with a winner whose rows name no judge
    mapping : field → column, see `annotation.core.files.mapping`
    Raises: BadFile for a file without the columns, or without rows.
    """
    header, records, bad = _records(data, mapping)
    if not header:
        lines.refuse(name, bad)
    is_long = "instance_id" in header and "instance" not in header
    needed: tuple[str, ...] = PLAIN
    fields: tuple[str, ...] = (*PLAIN, *OPTIONAL)
    if is_long:
        needed, fields = LONG, (*JUDGMENT_COLUMNS, QUESTION)
    elif "winner_noswap" in header:
        needed, fields = TABLE, TABLE
    if is_votes := "winner" in header and not is_long:
        needed, fields = TABLE if needed is TABLE else VOTES, (*VOTES, "id", "judge")
    if judge and not is_votes:
        lines.refuse(name, [BadLine(1, refusal("judges_named"))])
    lines.refuse(name, [BadLine(1, refusal("missing_column", column=item)) for item in needed if item not in header])
    rows: list[JudgmentRow] = []
    for number, record in records:
        if len(bad) >= MOST_BAD_LINES:
            break
        if record.get("method") == Judge.JURY:  # made of the verdicts in other rows
            continue
        cells = JudgmentFields(number, record, is_long=is_long)
        parsed = (
            cells.table_rows() if needed is TABLE
            else [cells.vote(judge) if is_votes else cells.exported() if is_long else cells.plain()]
        )  # fmt: skip
        bad.extend(BadLine(number, problem) for problem in cells.problems)
        rows.extend(parsed if not cells.problems else [])
    if not rows and not bad:
        bad.append(BadLine(1, refusal("no_rows", what="judgments")))
    return JudgmentFile(latest(rows) if is_long else rows, bad, [column for column in header if column not in fields])


def _records(data: FileData, mapping: FieldMapping) -> tuple[list[str], Iterator[Record], list[BadLine]]:
    """Read CSV or JSON. The header of JSON, and of what is mapped, is every field that occurs."""
    if not (mapping or lines.is_json(data)):
        header, records, bad = lines.read_csv(data)
        if set(header) >= set(LONG):  # exports prefix formulas with an apostrophe
            records = ((number, {name: restore(cell) for name, cell in row.items()}) for number, row in records)
        return header, records, bad
    records, bad = read_mapped(data, mapping)
    header = list(dict.fromkeys(field for _, record in records for field in record))
    if not header:
        return [], iter(()), bad
    return header, *read_mapped(data, mapping)  # read twice: keeping every record would take too much memory


class JudgmentFields(RecordFields):
    """The fields of one row, and the judgments in it. White space around a text does not count."""

    def __init__(self, line: int, record: dict[str, Any], *, is_long: bool) -> None:
        super().__init__(record)
        self.line, self.is_long = line, is_long

    def plain(self) -> JudgmentRow:
        """Parse a row of one presentation."""
        instance, pair = self.needed("instance"), self.whole("pair")
        pair_reference = PairReference(
            instance, pair=pair, system_a=self.text("system_a"), system_b=self.text("system_b")
        )
        if bool(pair_reference.system_a) != bool(pair_reference.system_b):
            self.problems.append(refusal("one_of_two_systems"))
        return JudgmentRow(
            self.line,
            pair_reference,
            self._judge(self.needed("judge")),
            self.one_of("order", Judgment.Order.values),
            VERDICTS.get(self.one_of("verdict", VERDICTS, synonyms=SIGNS_TO_LETTERS)),
            question=self.text(QUESTION),
            family=self.text("family", longest=LONGEST_FAMILY),
            rationale=self.text("rationale", longest=None),
            **self._usage(),
        )

    def exported(self) -> JudgmentRow:
        """Parse an exported row. Columns about the exporting installation are ignored."""
        instance, pair = self.needed("instance_id"), self.whole("pair_index", is_needed=True)
        probability: dict[str, Any] = {"minimum": 0, "maximum": 1, "kind": "a number from 0 to 1"}
        row = JudgmentRow(
            self.line,
            PairReference(instance, pair=pair, system_a=self.needed("system_a"), system_b=self.needed("system_b")),
            self._judge(self.needed("judge")),
            self.one_of("order", Judgment.Order.values),
            NUMBERS.get(self.one_of("verdict", NUMBERS, synonyms=SIGNS)),
            question=self.text(QUESTION),
            rationale=self._verbatim("rationale"),
            **self._usage(),
            status=self.one_of("status", _STATUSES),
            repeat=self.whole("repeat") or 0,
            negated=self.one_of("negated", ("", "false", "true")) == "true",
            reason=self._verbatim("reason"),
            p_b=self.number("p_b", **probability),
            score_a=self.number("score_a"),
            score_b=self.number("score_b"),
            token_mass=self.number("token_mass", **probability),
            cost=self._money("cost"),
            prompt_version=self.text("prompt_version", longest=LONGEST_VERSION),
            judged_at=self.moment("rated_at"),
        )
        if not self.problems and (row.verdict is None) == (row.status == Judgment.Status.PARSED):
            self.problems.append(refusal("verdict_and_status", status=row.status))
        return row

    def vote(self, judge: str) -> JudgmentRow:
        """Parse a vote, in which the text on the left was shown first."""
        left, right = self.needed("left"), self.needed("right")
        pair_reference = PairReference(instance_of_prompt(self.needed("prompt")), system_a=left, system_b=right)
        label = self._judge(judge or self.needed("judge"))
        return JudgmentRow(self.line, pair_reference, label, Judgment.Order.AB, SIDES.get(self.one_of("winner", SIDES)))

    def table_rows(self) -> list[JudgmentRow]:
        """Parse a row's two presentations: the first output shown first, and swapped."""
        pair_reference = PairReference(subset=self.needed("subset"), idx=self.whole("idx", is_needed=True), pair=0)
        judge = self._judge(f"{self.needed('llm')}-{self.needed('strategy')}")
        gold = WINNERS.get(self.one_of("label", ("1", "2")))
        return [
            JudgmentRow(self.line, pair_reference, judge, str(order), WINNERS.get(self.one_of(column, WINNERS)), gold)
            for order, column in ((Judgment.Order.AB, "winner_noswap"), (Judgment.Order.BA, "winner_swap"))
        ]

    def text(self, field: str, *, longest: int | None = LONGEST) -> str:
        """Return a text, or that of a number, or an empty string where there is none."""
        value = self.record.get(field)
        if value is None:
            return ""
        if self.is_long and isinstance(value, bool | float):  # as CSV writes them
            return str(value).lower()
        return trim(self._checked(number_as_text(value), field, longest))

    def whole(self, field: str, *, maximum: int = MOST_TOKENS, is_needed: bool = False) -> int | None:
        """Return a whole number from 0 to `maximum`, or None where there is none."""
        if is_needed and not self.needed(field):
            return None
        return super().whole(field, maximum=maximum)

    def _checked(self, value: Any, field: str, longest: int | None = None) -> str:
        """Return a value that can be stored as text, or an empty string."""
        if problem := text_problem(value, field, longest=longest, may_be_blank=True):
            self.problems.append(problem)
            return ""
        return str(value)

    def _verbatim(self, field: str) -> str:
        """Return a text with the white space around it."""
        return self._checked(self.record.get(field) or "", field)

    def _usage(self) -> dict[str, Any]:
        tokens = {field: self.whole(field) for field in ("calls", "prompt_tokens", "completion_tokens")}
        return {**tokens, "calls": tokens["calls"] or 0}

    def _money(self, field: str) -> Decimal | None:
        """Return an amount, to the eight decimals that are stored."""
        number = self.number(field, minimum=0, maximum=MOST_COST, kind=f"an amount from 0 to {MOST_COST:,}")
        return None if number is None else Decimal(str(number)).quantize(Decimal("1e-8"))

    def _judge(self, label: str) -> str:
        """Return the file's label of the judge, if a name can be made from it."""
        name = judge_name(label)
        if label and not name:
            self.problems.append(refusal("judge_without_name", judge=repr(label)))
        elif len(name) > LONGEST_NAME:
            self.problems.append(refusal("judge_name_too_long", judge=repr(label), most=LONGEST_NAME))
        return label


def latest(rows: Iterable[JudgmentRow]) -> list[JudgmentRow]:
    """Keep the latest outcome of each presentation, as findings do."""
    latest_rows: dict[tuple[object, ...], JudgmentRow] = {}
    repeated: list[JudgmentRow] = []
    for row in rows:
        key = (row.judge, row.place, row.order, row.repeat, row.negated, row.question)
        before = latest_rows.setdefault(key, row)
        if before.judged_at and row.judged_at and before.judged_at != row.judged_at:
            latest_rows[key] = row if row.judged_at > before.judged_at else before
        elif before is not row:
            repeated.append(row)  # a duplicate, to be refused
    return [*latest_rows.values(), *repeated]
