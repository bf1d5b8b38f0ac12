"""Parsing judgments made elsewhere: plain or exported rows of one presentation, votes with a winner, or LLMBar's rows of two."""

from collections.abc import Iterator
from dataclasses import dataclass

from analysis.types import Verdict
from annotation.core.errors import MOST_BAD_LINES, BadLine
from annotation.core.files import lines
from annotation.core.files.lines import FileData, Record
from annotation.core.files.mapping import NOTHING, FieldMapping, read_mapped
from annotation.core.files.record_fields import SIGNS_TO_LETTERS
from annotation.core.files.spreadsheet import restore
from annotation.core.refusals import refusal
from annotation.importing.formats.votes import instance_of_prompt
from judging.importing import columns
from judging.importing.fields import LONGEST_FAMILY, JudgmentFields, JudgmentRow, PairReference
from judging.importing.long_form import LongFields, latest
from judging.models import Judge, Judgment

PLAIN = ("instance", "judge", "order", "verdict")
OPTIONAL = (
    *("pair", "system_a", "system_b", "family", "rationale", "calls", "prompt_tokens", "completion_tokens"),
    columns.QUESTION,
)
TABLE = ("subset", "llm", "strategy", "idx", "label", "winner_noswap", "winner_swap")
VOTES = ("prompt", "left", "right", "winner")
VERDICTS = {"a": Verdict.A, "tie": Verdict.TIE, "b": Verdict.B, "": None}
WINNERS = {"1": Verdict.A, "2": Verdict.B, "": None}
SIDES = {"left": Verdict.A, "tie": Verdict.TIE, "right": Verdict.B, "": None}


@dataclass(frozen=True)
class JudgmentFile:
    """The parsed rows of a file, its bad lines, and its unknown columns."""

    rows: list[JudgmentRow]
    bad: list[BadLine]
    unread: list[str]


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
    is_table = "winner_noswap" in header and not is_long
    is_votes = "winner" in header and not is_long
    if judge and not is_votes:
        lines.refuse(name, [BadLine(1, refusal("judges_named"))])
    needed: tuple[str, ...] = columns.NEEDED if is_long else TABLE if is_table else VOTES if is_votes else PLAIN
    long = (*columns.JUDGMENT_COLUMNS, columns.QUESTION)
    fields: tuple[str, ...] = long if is_long else TABLE if is_table else PLAIN + OPTIONAL
    fields = (*VOTES, "id", "judge") if is_votes else fields
    lines.refuse(
        name, [BadLine(1, refusal("missing_column", column=column)) for column in needed if column not in header]
    )
    rows: list[JudgmentRow] = []
    for number, record in records:
        if len(bad) >= MOST_BAD_LINES:
            break
        if record.get("method") == Judge.JURY:  # made of the verdicts in other rows
            continue
        cells = (LongFields if is_long else JudgmentFields)(number, record)
        if is_table:
            derived = _table_rows(cells)
        elif is_votes:
            derived = [_vote(cells, judge)]
        else:
            derived = [cells.row() if isinstance(cells, LongFields) else _plain(cells)]
        bad.extend(BadLine(number, problem) for problem in cells.problems)
        rows.extend(derived if not cells.problems else [])
    if not rows and not bad:
        bad.append(BadLine(1, refusal("no_rows", what="judgments")))
    rows = latest(rows) if is_long else rows
    return JudgmentFile(rows, bad, [column for column in header if column not in fields])


def _records(data: FileData, mapping: FieldMapping) -> tuple[list[str], Iterator[Record], list[BadLine]]:
    """Read CSV or JSON. The header of JSON, and of what is mapped, is every field that occurs."""
    if not (mapping or lines.is_json(data)):
        header, records, bad = lines.read_csv(data)
        if set(header) >= set(columns.NEEDED):  # exports prefix formulas with an apostrophe
            records = ((number, {name: restore(cell) for name, cell in row.items()}) for number, row in records)
        return header, records, bad
    records, bad = read_mapped(data, mapping)
    header = list(dict.fromkeys(field for _, record in records for field in record))
    if not header:
        return [], iter(()), bad
    return header, *read_mapped(data, mapping)  # read twice: keeping every record would take too much memory


def _plain(cells: JudgmentFields) -> JudgmentRow:
    place = PairReference(
        instance=cells.needed("instance"),
        pair=cells.whole("pair"),
        system_a=cells.text("system_a"),
        system_b=cells.text("system_b"),
    )
    if bool(place.system_a) != bool(place.system_b):
        cells.problems.append(refusal("one_of_two_systems"))
    return JudgmentRow(
        number=cells.line,
        place=place,
        judge=cells.judge(cells.needed("judge")),
        order=cells.one_of("order", Judgment.Order.values),
        verdict=VERDICTS.get(cells.one_of("verdict", VERDICTS, synonyms=SIGNS_TO_LETTERS)),
        question=cells.text(columns.QUESTION),
        family=cells.text("family", longest=LONGEST_FAMILY),
        rationale=cells.text("rationale", longest=None),
        calls=cells.whole("calls") or 0,
        prompt_tokens=cells.whole("prompt_tokens"),
        completion_tokens=cells.whole("completion_tokens"),
    )


def _vote(cells: JudgmentFields, judge: str) -> JudgmentRow:
    """Return one vote, in which the text on the left was shown first."""
    left, right = cells.needed("left"), cells.needed("right")
    return JudgmentRow(
        number=cells.line,
        place=PairReference(instance_of_prompt(cells.needed("prompt")), system_a=left, system_b=right),
        judge=cells.judge(judge or cells.needed("judge")),
        order=Judgment.Order.AB,
        verdict=SIDES.get(cells.one_of("winner", SIDES)),
    )


def _table_rows(cells: JudgmentFields) -> list[JudgmentRow]:
    """Return a row's two presentations: the first output shown first, and swapped."""
    reference = PairReference(subset=cells.needed("subset"), idx=cells.whole("idx", is_needed=True), pair=0)
    judge = cells.judge(f"{cells.needed('llm')}-{cells.needed('strategy')}")
    gold = WINNERS.get(cells.one_of("label", ("1", "2")))
    verdicts = {
        Judgment.Order.AB: cells.one_of("winner_noswap", WINNERS),
        Judgment.Order.BA: cells.one_of("winner_swap", WINNERS),
    }
    return [
        JudgmentRow(cells.line, reference, judge, str(order), WINNERS.get(winner), gold)
        for order, winner in verdicts.items()
    ]
