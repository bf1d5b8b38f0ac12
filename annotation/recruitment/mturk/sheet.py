"""The CSV formats of Mechanical Turk's requester site: input rows of a batch, and result rows.

MTurk inserts cells into the page unescaped. So every cell is HTML in which texts can't begin a tag or a placeholder
`${…}`, without line breaks, characters that MTurk refuses, or formulas that a spreadsheet would run.
"""

import csv
import html
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from annotation.core.errors import MOST_BAD_LINES, BadLine
from annotation.core.files import lines
from annotation.questions.answer_codes import answers_of, column_of
from annotation.questions.questions import Answer, Question

HIT, SOURCE = "hit", "source"
FIRST, SECOND, ORDER, ANSWER, REASON = "model1_summary{}", "model2_summary{}", "id{}", "pref{}", "reason{}"
CONSENT = "Answer.consent"
_FORMULA = "=+-@\t＝＋－＠"
_ZONES = {"UTC": 0, "GMT": 0, "PST": -8, "PDT": -7}
_TIME = re.compile(r"\w{3} (\w{3} \d{1,2} \d{2}:\d{2}:\d{2}) (UTC|GMT|PST|PDT) (\d{4})")


@dataclass(frozen=True)
class AskedOfPair:
    """What was asked of each pair of a HIT.

    least : characters that a reason must have at least; None where none is needed
    """

    pairs: int
    questions: tuple[Question, ...]
    least: int | None = None

    @property
    def answer_columns(self) -> tuple[tuple[str, ...], ...]:
        """For each pair, the columns of its answers, in the order of the questions."""
        return tuple(
            tuple(column_of(f"Answer.{ANSWER.format(place)}", question) for question in self.questions)
            for place in range(1, self.pairs + 1)
        )

    @property
    def reason_columns(self) -> tuple[str, ...]:
        """For each pair, the column of its reason."""
        return tuple(f"Answer.{REASON.format(place)}" for place in range(1, self.pairs + 1))


@dataclass(frozen=True)
class ResultRow:
    """One worker's answers on one HIT, by place on the page.

    answers : for each pair, its answers in the order of the questions; −1 is the text shown first
    reasons : for each pair, the reason that was given
    """

    number: int
    hit: str
    worker: str
    assignment_id: str
    rejected: bool
    agreed: bool
    answers: tuple[tuple[Answer, ...], ...]
    reasons: tuple[str, ...]
    seconds: float | None
    submitted_at: datetime | None


def cell(text: str) -> str:
    """Escape a text as HTML that is safe in the CSV, in a spreadsheet and in MTurk's page."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    return guard("".join(map(_character, html.escape(plain))))


def guard(markup: str) -> str:
    """Escape placeholders, line breaks, formulas and outer spaces in HTML."""
    cell = markup.replace("$", "&#36;").replace("\n", "&#10;")
    cell = "".join(char if ord(char) < 0x10000 else f"&#{ord(char)};" for char in cell)
    if cell[:1] in _FORMULA or cell[:1].isspace():
        cell = f"&#{ord(cell[0])};{cell[1:]}" if cell else cell
    return f"{cell[:-1]}&#{ord(cell[-1])};" if cell[-1:].isspace() else cell


def _character(char: str) -> str:
    """Replace control characters, which HTML doesn't allow."""
    return "&#65533;" if ord(char) < 32 and char not in "\n\t" else char


def columns(pairs: int) -> list[str]:
    """Return the columns of a batch with this number of pairs per HIT."""
    per_pair = [name.format(place) for place in range(1, pairs + 1) for name in (FIRST, SECOND, ORDER)]
    return [HIT, SOURCE, *per_pair]


def write_sheet(rows: Iterable[Mapping[str, str]], names: Sequence[str]) -> bytes:
    """Write the CSV: in UTF-8 without a byte order mark, as MTurk requires."""
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, names, lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def read_results(
    data: bytes, name: str, *, expected: Mapping[str, Mapping[str, str]], asked: AskedOfPair
) -> tuple[list[ResultRow], list[BadLine]]:
    """Read a results CSV and compare it with what was exported; returns the good rows and the bad lines.

    expected : HIT → its row as exported
    Raises: BadFile when the file is no CSV, or lacks columns.
    """
    header, records, bad = lines.read_csv(data)
    lines.refuse(name, bad)
    inputs = [f"Input.{column}" for column in columns(asked.pairs)]
    answers = [column for of_pair in asked.answer_columns for column in of_pair]
    reasons = [] if asked.least is None else asked.reason_columns
    needed = ["WorkerId", "AssignmentId", "AssignmentStatus", CONSENT, *inputs, *answers, *reasons]
    lines.refuse(name, [BadLine(1, f"column {column} is missing") for column in needed if column not in header])
    found: list[ResultRow] = []
    seen: dict[str, int] = {}
    for number, record in records:
        if len(bad) >= MOST_BAD_LINES:
            break
        problems: list[str] = []
        row = _row(number, record, asked, problems)
        earlier = seen.setdefault(row.assignment_id, number)
        if row.assignment_id and earlier != number:
            problems.append(f"assignment {row.assignment_id} is on line {earlier} already")
        problems += _differences(record, inputs, expected.get(row.hit), row.hit)
        bad += [BadLine(number, problem) for problem in problems]
        if not problems:
            found.append(row)
    if not found and not bad:
        bad.append(BadLine(1, "the file holds no answers"))
    return found, bad


def _differences(
    record: Mapping[str, str], inputs: Sequence[str], expected: Mapping[str, str] | None, hit: str
) -> list[str]:
    if expected is None:
        return [f"the batch has no HIT {hit!r}"]
    changed = [column for column in inputs if record[column] != expected[column.removeprefix("Input.")]]
    return [f"{column} is not what was exported" for column in changed]


def _row(number: int, record: Mapping[str, Any], asked: AskedOfPair, problems: list[str]) -> ResultRow:
    worker, assignment_id = record["WorkerId"].strip(), record["AssignmentId"].strip()
    for column, value in (("WorkerId", worker), ("AssignmentId", assignment_id)):
        if not re.fullmatch(r"[A-Z0-9]{1,64}", value):
            problems.append(f"{column} is {value[:80]!r}; it must be capitals and digits")
    rejected = record["AssignmentStatus"].strip().lower() == "rejected"
    return ResultRow(
        number=number,
        hit=record[f"Input.{HIT}"].strip(),
        worker=worker,
        assignment_id=assignment_id,
        rejected=rejected,
        agreed=record[CONSENT].strip().lower() in ("yes", "true", "on"),
        # Answers of rejected assignments are ignored: rejecting is how to deal with empty ones.
        answers=() if rejected else _answers(record, asked, problems),
        reasons=() if rejected else _reasons(record, asked, problems),
        seconds=_seconds(record.get("WorkTimeInSeconds", ""), problems),
        submitted_at=_time(record.get("SubmitTime", "")),
    )


def _answers(record: Mapping[str, str], asked: AskedOfPair, problems: list[str]) -> tuple[tuple[Answer, ...], ...]:
    meanings = [answers_of(question) for question in asked.questions]
    found = []
    for columns in asked.answer_columns:
        of_pair = []
        for column, meaning in zip(columns, meanings, strict=True):
            text = record[column].strip().removesuffix(".0")
            if text in meaning:
                of_pair.append(meaning[text])
            elif text == "0":
                problems.append(f"{column} is 0, and this study offers no “no preference”")
            else:
                codes = sorted(meaning)
                offered = f"{', '.join(codes[:-1])} or {codes[-1]}"
                problems.append(f"{column} is {record[column][:80]!r}; it must be {offered}")
        found.append(tuple(of_pair))
    return tuple(found)


def _reasons(record: Mapping[str, str], asked: AskedOfPair, problems: list[str]) -> tuple[str, ...]:
    """Return what the worker wrote on each pair; MTurk leaves out the columns without any text."""
    found = tuple(record.get(column, "") for column in asked.reason_columns)
    for column, reason in zip(asked.reason_columns, found, strict=True):
        # Counted as the worker's browser does, which lets blanks pass: what MTurk's page took is not refused here.
        length = len(reason.encode("utf-16-le")) // 2
        if asked.least is not None and length < asked.least:
            problems.append(f"{column} has {length} characters; this study needs {asked.least} on every pair")
    return tuple(reason.strip() for reason in found)


def _seconds(text: str, problems: list[str]) -> float | None:
    if not text.strip():
        return None
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]+)?", text.strip()):
        problems.append(f"WorkTimeInSeconds is {text[:80]!r}, not a number of seconds")
        return None
    return float(text)


def _time(text: str) -> datetime | None:
    """Parse MTurk's time, `Wed May 01 12:00:00 PDT 2024`; None if invalid."""
    match = _TIME.fullmatch(text.strip())
    if match is None:
        return None
    try:
        local = datetime.strptime(f"{match[1]} {match[3]}", "%b %d %H:%M:%S %Y").replace(tzinfo=UTC)
    except ValueError:
        return None
    return local - timedelta(hours=_ZONES[match[2]])
