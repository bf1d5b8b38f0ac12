"""Rating rows of a file, compared with each other and with the stored ratings."""

from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import F, QuerySet

from annotation.core.errors import MOST_BAD_LINES, BadLine
from annotation.core.names import lookalike_lines
from annotation.core.reasons import Reason
from annotation.core.refusals import refusal
from annotation.importing.formats.ratings_file import LONGEST
from annotation.importing.staging import Target
from annotation.models import Annotator, Assignment, ComparisonTable, Display, Pair, Rating, Study
from annotation.questions.questions import MAIN, MOST_QUESTIONS, Answer


@dataclass(frozen=True, slots=True)
class RatingRow:
    """One checked rating, in study order. `verdict` is None if the pair was shown but not answered."""

    number: int
    batch: str
    hit: str
    pair: Pair
    rater: str
    verdict: int | None
    a_is_left: bool | None
    stage: str = Rating.Stage.FIRST
    arm: str = ""
    table: ComparisonTable | None = None
    reason: str = ""
    active_seconds: float | None = None
    wall_seconds: float | None = None
    work_seconds: float | None = None
    rated_at: datetime | None = None
    late: bool = False
    excluded: bool = False
    exclusion_reason: str = ""
    software_version: str = ""
    translated: bool | None = None
    question: int = MAIN
    strength: int | None = None
    tie_kind: str = ""

    @property
    def answer(self) -> Answer | None:
        """The whole answer."""
        return None if self.verdict is None else Answer(self.verdict, self.strength, self.tie_kind)


def are_opposite(first: bool | None, second: bool | None) -> bool:
    """Tell whether two orders of a pair contradict each other. An unknown one contradicts none."""
    return None not in (first, second) and first != second


def default_batch(dataset: str, system_a: str, system_b: str) -> str:
    """Return the default name of the batch of a configuration's imported ratings."""
    return f"{dataset}: {system_a} / {system_b}"


@dataclass
class ClassifiedRows:
    """New rows, and bad ones. The others are stored already."""

    fresh: list[RatingRow] = field(default_factory=list)
    bad: list[BadLine] = field(default_factory=list)


class RowChecks:
    """Comparison of a file's rows, some at a time, with each other and with the stored ratings."""

    def __init__(self, target: Target, kind: str) -> None:
        self.target, self.kind = target, kind
        self._lines: list[tuple[array[int], array[int]]] = []
        self._raters = {code: (stored, user) for code, stored, user in _raters(target.study)}
        self._existing = set(self._raters)

    def classify(self, rows: Sequence[RatingRow]) -> ClassifiedRows:
        """Find new rows, and rows that contradict the stored ratings or each other."""
        stored, of_file = self._stored(rows)
        in_chunk = _EarlierRows()
        classified = ClassifiedRows()
        for row in rows:
            if len(classified.bad) >= MOST_BAD_LINES:
                break
            problem = of_file.contradiction(row, self._line) or in_chunk.problem(row) or stored.problem(row)
            if problems := [*_too_long(row), *([problem] if problem else [])]:
                classified.bad.extend(BadLine(row.number, item) for item in problems)
            elif not stored.holds(row):
                classified.fresh.append(row)
        classified.bad.extend(self._bad_raters(rows, classified.fresh))
        keys = (_key(row.rater, row.pair.pk, row.stage, row.question) for row in rows)
        self._lines.append((array("q", keys), array("q", (row.number for row in rows))))
        return classified

    def _stored(self, rows: Sequence[RatingRow]) -> tuple["_StoredRatings", "_StoredRatings"]:
        """Return the ratings of the raters and pairs of some rows: those that were stored before, and those of the file."""
        is_staged = bool(self.target.staged.importer)
        before = _StoredRatings(self.target.study, rows if self.target.is_apart or not is_staged else [])
        return before, _StoredRatings(self.target.staged, rows if is_staged and self._lines else [])

    def _line(self, row: RatingRow, *stages_and_questions: tuple[str, int]) -> int:
        """Return the number of the first line on which a row's rater rated its pair, at one of these stages."""
        keys = {_key(row.rater, row.pair.pk, *item) for item in stages_and_questions}
        return next(
            number for some, numbers in self._lines for key, number in zip(some, numbers, strict=True) if key in keys
        )

    def _bad_raters(self, rows: Iterable[RatingRow], fresh: Iterable[RatingRow]) -> Iterator[BadLine]:
        """Find ratings by programs under a person's code, and vice versa, under an account's code, and codes that look alike."""
        scripted = self.kind == Annotator.Kind.SCRIPTED
        in_study, in_file = ("a person", "scripted") if scripted else ("scripted", "a person")
        for code, row in {row.rater: row for row in reversed([*fresh]) if row.rater in self._raters}.items():
            stored, user = self._raters[code]
            if user is not None:
                yield BadLine(row.number, refusal("has_account", rater=code))
            elif (stored == Annotator.Kind.SCRIPTED) != scripted:
                yield BadLine(row.number, refusal("other_kind", rater=code, there=in_study, here=in_file))
            else:
                continue
            del self._raters[code]  # said once
        codes = [(row.number, row.rater) for row in rows if row.rater not in self._existing]
        if codes:
            yield from lookalike_lines("rater", codes, self._existing)
            self._existing.update(code for _, code in codes)


def of_raters(rows: QuerySet[Any], keys: Collection[int], path: str = "") -> Any:
    """Return the rows of some raters. By no index: SQLite would rather read all work of each than look at some rows."""
    return rows.annotate(rater=F(f"{path}annotator_id") + 0).filter(rater__in=keys).order_by()


def _raters(study: Study) -> Any:
    return study.annotators.values_list("code", "kind", "user")


def _key(*values: object) -> int:
    return hash(values)


class _EarlierRows:
    """Earlier rows of the file, of those that are read together."""

    def __init__(self) -> None:
        self._lines: dict[tuple[str, int, str, int], int] = {}
        self._shown: dict[tuple[str, int], RatingRow] = {}

    def problem(self, row: RatingRow) -> Reason | None:
        """Return how a row contradicts an earlier one, or None."""
        earlier = self._lines.setdefault((row.rater, row.pair.pk, row.stage, row.question), row.number)
        if earlier != row.number:
            return _rated_before(row, earlier)
        first = self._shown.setdefault((row.rater, row.pair.pk), row)
        return _shown_otherwise(row, first.a_is_left, (first.batch, first.hit), first.number)


def _rated_before(row: RatingRow, line: int) -> Reason:
    return refusal("pair_rated_before" if row.question == MAIN else "question_rated_before", rater=row.rater, line=line)


def _shown_otherwise(row: RatingRow, a_is_left: bool | None, hit: tuple[str, str], line: int) -> Reason | None:
    """Return how a row contradicts an earlier one of the same rater and pair, or None."""
    if are_opposite(a_is_left, row.a_is_left):
        return refusal("other_text_first", rater=row.rater, line=line)
    if hit != (row.batch, row.hit):
        return refusal("on_another_hit", rater=row.rater, line=line)
    return None


class _StoredRatings:
    """The ratings of a study by the raters and on the pairs of some rows, without checks: a repeat is a second vote on a pair."""

    def __init__(self, study: Study, rows: Sequence[RatingRow]) -> None:
        raters = Annotator.objects.filter(study=study, code__in={row.rater for row in rows}).values_list("pk", "code")
        codes = dict(raters)
        displays = Display.objects.filter(
            pair__in={row.pair.pk for row in rows}, assignment__purpose=Assignment.Purpose.RATING
        )
        columns = (
            "pk",
            "rater",
            "pair_id",
            "a_is_left",
            "assignment__hit__batch__name",
            "assignment__hit__external_id",
        )
        self._shown: dict[tuple[str, int], tuple[bool | None, tuple[str, str]]] = {}
        keys: dict[int, tuple[str, int]] = {}
        if codes:
            for pk, rater, pair, a_is_left, *hit in of_raters(displays, codes, "assignment__").values_list(*columns):
                keys[pk] = (codes[rater], pair)
                self._shown[keys[pk]] = (a_is_left, (hit[0], hit[1]))
        ratings = Rating.objects.filter(display__in=keys).order_by() if keys else Rating.objects.none()
        self._answers = {
            (*keys[display], stage, question): Answer(*statement)
            for display, stage, question, *statement in ratings.values_list(
                *("display_id", "stage", "question", "verdict", "strength", "tie_kind")
            )
        }

    def problem(self, row: RatingRow) -> Reason | None:
        """Return how a row contradicts the stored ratings, or None."""
        a_is_left, _ = self._shown.get((row.rater, row.pair.pk), (None, None))
        is_same_order = not are_opposite(a_is_left, row.a_is_left)
        stored = self._answers.get((row.rater, row.pair.pk, row.stage, row.question), row.answer)
        if is_same_order and stored == row.answer:
            return None
        answer = row.answer
        if is_same_order and stored and answer and stored.verdict == answer.verdict:
            return refusal("refined_otherwise", rater=row.rater, stored=_degree(stored), given=_degree(answer))
        return refusal("rated_otherwise", rater=row.rater)

    def contradiction(self, row: RatingRow, line: Callable[..., int]) -> Reason | None:
        """Return how a row contradicts an earlier one of its file that is stored, or None. `line`: finds its number."""
        if (row.rater, row.pair.pk) not in self._shown:
            return None
        if (row.rater, row.pair.pk, row.stage, row.question) in self._answers:
            return _rated_before(row, line(row, (row.stage, row.question)))
        a_is_left, names = self._shown[row.rater, row.pair.pk]
        if not _shown_otherwise(row, a_is_left, names, 0):
            return None
        every = [(stage, question) for stage in Rating.Stage.values for question in range(MAIN, MOST_QUESTIONS)]
        return _shown_otherwise(row, a_is_left, names, line(row, *every))

    def holds(self, row: RatingRow) -> bool:
        """Tell whether the row is stored already."""
        if row.verdict is None:
            return (row.rater, row.pair.pk) in self._shown
        return (row.rater, row.pair.pk, row.stage, row.question) in self._answers


def _degree(answer: Answer) -> str:
    """Name what refines a verdict."""
    if answer.verdict:
        return f"strength {answer.strength or 'unknown'}"
    return f"tie_kind {answer.tie_kind or 'unknown'}"


def _too_long(row: RatingRow) -> list[Reason]:
    """List the names that are too long."""
    return [
        refusal("too_long", field=name, number=len(value), longest=longest)
        for name, longest in LONGEST.items()
        if len(value := getattr(row, name)) > longest
    ]
