"""Batch results of Mechanical Turk, converted from screen order to study order."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from annotation.core.errors import MOST_BAD_LINES, BadLine
from annotation.core.files import lines
from annotation.core.files.file_bounds import FOR_COMMANDS, Bound
from annotation.core.files.lines import FileData, parse_number
from annotation.core.names import trim
from annotation.core.reasons import Reason
from annotation.core.refusals import refusal
from annotation.questions.questions import CHOICES, MAIN, Answer, Question

# {j}: number of the pair on the page; `first`: text shown first; `order`: its system (1 or 2).
DEFAULT_COLUMNS = {
    "worker": "WorkerId",
    "hit": "HITId",
    "seconds": "WorkTimeInSeconds",
    "status": "AssignmentStatus",
    "source": "Input.source",
    "first": "Input.model1_summary{j}",
    "second": "Input.model2_summary{j}",
    "order": "Input.id{j}",
    "answer": "Answer.pref{j}",
    "reason": "Answer.reason{j}",
}
PLAIN = (Question(number=MAIN, key="", text=""),)
Asked = Sequence[tuple[Question, Mapping[str, Answer]]]  # each question with the codes of its answers
_PER_PAIR = ("first", "second", "order", "answer")


@dataclass(frozen=True, slots=True)
class MturkPair:
    """One pair of a row, in study order. `further` has the answers to further questions, by their numbers."""

    text_1: str
    text_2: str
    first_is_1: bool
    answer: Answer | None
    further: tuple[tuple[int, Answer], ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class MturkRow:
    """One worker's answers on one HIT."""

    number: int
    worker: str
    hit: str
    named_hit: bool
    source: str
    seconds: float | None
    rejected: bool
    pairs: tuple[MturkPair, ...]


def parse_mturk(
    data: FileData,
    name: str,
    *,
    columns: Mapping[str, str] | None = None,
    bound: Bound = FOR_COMMANDS,
    questions: Sequence[Question] = PLAIN,
) -> list[MturkRow]:
    """Parse a results CSV. `columns` overrides `DEFAULT_COLUMNS`, `bound` limits the ratings.

    questions : what the study asks of a pair; the answers to a further one are in the main one's columns with its key
    Raises: BadFile listing the bad lines.
    """
    columns = {**DEFAULT_COLUMNS, **(columns or {})}
    header, records, bad = lines.read_csv(data)
    if not bad:
        numbers, problems = _pair_numbers(header, columns)
        # Not another list: reading the records adds to this one.
        bad += [BadLine(1, problem) for problem in problems or _strange_questions(header, columns["answer"], questions)]
    lines.refuse(name, bad)
    asked = [(question, _answers_by_code(question)) for question in questions]
    used = {columns[field].replace("{j}", str(j)) for field in ("first", "second", "order") for j in numbers}
    inputs = [column for column in header if column.startswith("Input.") or column in used]
    rows: list[MturkRow] = []
    cached: dict[str, str] = {}  # shares equal cells: every worker's row repeats the HIT's texts
    for number, cells in records:
        if len(bad) >= MOST_BAD_LINES:
            break
        problems = []
        record = {column: cached.setdefault(cell, cell) for column, cell in cells.items()}
        worker, hit = trim(record[columns["worker"]]), trim(record.get(columns["hit"], ""))
        if not worker:
            problems.append(refusal("empty", field=columns["worker"]))
        pairs = [_pair(record, columns, j, asked, problems) for j in numbers]
        cell = record.get(columns["seconds"], "")
        seconds = parse_number(cell, minimum=0)
        if cell.strip() and seconds is None:
            kind = "a number of seconds"
            problems.append(refusal("not_kind", field=columns["seconds"], kind=kind, value=repr(cell)))
        bad.extend(BadLine(number, problem) for problem in problems)
        if problems:
            continue
        row = MturkRow(
            number=number,
            worker=worker,
            # Rows with the same input cells are one HIT. Sorted, since the order of columns may differ between exports.
            hit=hit or sha256(json.dumps({name: record[name] for name in sorted(inputs)}).encode()).hexdigest(),
            named_hit=bool(hit),
            source=record.get(columns["source"], "").strip(),
            seconds=seconds,
            rejected=record.get(columns["status"], "").strip().lower() == "rejected",
            pairs=tuple(pair for pair in pairs if pair is not None),
        )
        rows.append(row)
        bound.refuse_more(name, len(rows) * len(numbers) * len(questions), "ratings")
    if not rows and not bad:
        bad.append(BadLine(1, refusal("no_rows", what="answers")))
    bad.extend(_contradictions(rows))
    lines.refuse(name, bad)
    return rows


def _answers_by_code(question: Question) -> dict[str, Answer]:
    """Return the codes of answers in the cells: −1 is the text shown first, 0 neither, 1 the second.

    Where a question asks for strengths, 2 and −2 are strong preferences and 1 and −1 slight ones; where it asks for kinds
    of ties, 0good and 0bad are the two. A tie may be of unknown kind.
    """
    offered = (CHOICES[choice] for choice in question.choices)
    codes = {f"{answer.verdict * (answer.strength or 1)}{answer.tie_kind}": answer for answer in offered}
    return codes | {"0": Answer(0)}


def _pair_numbers(header: list[str], columns: Mapping[str, str]) -> tuple[list[int], list[Reason]]:
    """Return the numbers j in the header, each of which needs all four columns, and what is wrong."""
    if unnumbered := [field for field in _PER_PAIR if "{j}" not in columns[field]]:
        return [], [refusal("no_pair_number", field=field, column=repr(columns[field])) for field in unnumbered]
    present = {
        field: {int(match[1]) for name in header if (match := _pattern(columns[field]).fullmatch(name))}
        for field in _PER_PAIR
    }
    numbers = sorted(set().union(*present.values()))
    missing = [columns[field].replace("{j}", str(j)) for j in numbers for field in _PER_PAIR if j not in present[field]]
    if columns["worker"] not in header:
        missing.insert(0, columns["worker"])
    if not numbers:
        missing += [columns[field] for field in _PER_PAIR]
    return numbers, [refusal("missing_column", column=column) for column in missing]


def _pattern(column: str, ending: str = "") -> re.Pattern[str]:
    """Return the pattern of a column's name with the number of a pair."""
    return re.compile(re.escape(column).replace(re.escape("{j}"), "(0|[1-9][0-9]{0,3})") + ending)


def _strange_questions(header: list[str], column: str, questions: Sequence[Question]) -> list[Reason]:
    """Find columns of answers to questions that are not asked. With one question other columns are ignored."""
    if len(questions) == 1:
        return []
    keys = [question.key for question in questions if question.number != MAIN]
    pattern = _pattern(column, "_(.+)")
    strange = [name for name in header if (match := pattern.fullmatch(name)) and match[2] not in keys]
    return [refusal("column_of_unknown_question", column=name, questions=keys) for name in strange]


def _pair(
    record: dict[str, str], columns: Mapping[str, str], j: int, questions: Asked, problems: list[Reason]
) -> MturkPair | None:
    names = {field: columns[field].replace("{j}", str(j)) for field in (*_PER_PAIR, "reason")}
    results = []
    order = record[names["order"]].strip()
    if order not in ("1", "2", "1.0", "2.0"):
        results.append(refusal("no_order", field=names["order"], value=repr(order)))
    first_is_1 = order.startswith("1")
    answers: dict[int, Answer] = {}
    for question, meaning in questions:
        column = names["answer"] if question.number == MAIN else f"{names['answer']}_{question.key}"
        cell = record.get(column, "").strip()
        if answer := meaning.get(cell.removesuffix(".0")):
            # Answers are in screen order: -1 is the text shown first.
            answers[question.number] = answer if first_is_1 else answer.swapped()
        elif cell:
            words = ", ".join(sorted(meaning))
            results.append(refusal("not_an_answer", field=column, value=repr(cell), words=words))
    problems.extend(results)
    if results:
        return None
    texts = record[names["first"]], record[names["second"]]
    text_1, text_2 = texts if first_is_1 else texts[::-1]
    answer = answers.pop(MAIN, None)
    reason = record.get(names["reason"], "").strip()
    return MturkPair(text_1, text_2, first_is_1, answer, further=tuple(answers.items()), reason=reason)


def _contradictions(rows: list[MturkRow]) -> list[BadLine]:
    """Find HITs with different texts, and workers who answered a HIT twice."""
    bad: list[BadLine] = []
    texts: dict[str, tuple[int, object]] = {}
    answered: dict[tuple[str, str], int] = {}
    for row in rows:
        if len(bad) >= MOST_BAD_LINES:
            break
        texts_of_row = (row.source, [(pair.text_1, pair.text_2) for pair in row.pairs])
        line, first = texts.setdefault(row.hit, (row.number, texts_of_row))
        if texts_of_row != first:
            bad.append(BadLine(row.number, refusal("other_texts", hit=row.hit, line=line)))
        earlier = answered.setdefault((row.hit, row.worker), row.number)
        if earlier != row.number:
            bad.append(BadLine(row.number, refusal("answered_before", worker=row.worker, line=earlier)))
    return bad
