"""Rating rows of a file, compared with each other and with the stored ratings."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from annotation.core.errors import MOST_BAD_LINES, BadLine
from annotation.core.names import lookalike_lines
from annotation.core.reasons import Reason
from annotation.core.refusals import refusal
from annotation.importing.formats.ratings_file import LONGEST
from annotation.models import Annotator, Assignment, ComparisonTable, Display, Pair, Rating, Study
from annotation.questions.questions import MAIN, Answer


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


def classify_rows(study: Study, rows: Sequence[RatingRow], kind: str) -> ClassifiedRows:
    """Find new rows, and rows that contradict the stored ratings or each other."""
    stored = _StoredRatings(study)
    in_file = _EarlierRows()
    classified = ClassifiedRows()
    for row in rows:
        if len(classified.bad) >= MOST_BAD_LINES:
            break
        problem = in_file.problem(row) or stored.problem(row)
        if problems := [*_too_long(row), *([problem] if problem else [])]:
            classified.bad.extend(BadLine(row.number, item) for item in problems)
        elif not stored.holds(row):
            classified.fresh.append(row)
    classified.bad.extend(_wrong_kind(study, classified.fresh, kind))
    codes = ((row.number, row.rater) for row in rows)
    classified.bad.extend(lookalike_lines("rater", codes, study.annotators.values_list("code", flat=True)))
    return classified


class _EarlierRows:
    """Earlier rows of the file."""

    def __init__(self) -> None:
        self._lines: dict[tuple[str, int, str, int], int] = {}
        self._shown: dict[tuple[str, int], RatingRow] = {}

    def problem(self, row: RatingRow) -> Reason | None:
        """Return how a row contradicts an earlier one, or None."""
        earlier = self._lines.setdefault((row.rater, row.pair.pk, row.stage, row.question), row.number)
        if earlier != row.number:
            if row.question != MAIN:
                return refusal("question_rated_before", rater=row.rater, line=earlier)
            return refusal("pair_rated_before", rater=row.rater, line=earlier)
        earlier_row = self._shown.setdefault((row.rater, row.pair.pk), row)
        if are_opposite(earlier_row.a_is_left, row.a_is_left):
            return refusal("other_text_first", rater=row.rater, line=earlier_row.number)
        if (earlier_row.batch, earlier_row.hit) != (row.batch, row.hit):
            return refusal("on_another_hit", rater=row.rater, line=earlier_row.number)
        return None


class _StoredRatings:
    """The stored ratings of a study, without checks: a repeat is a second vote on a pair."""

    def __init__(self, study: Study) -> None:
        rated = Assignment.objects.filter(hit__batch__study=study, purpose=Assignment.Purpose.RATING)
        displays = Display.objects.filter(assignment__in=rated)
        self._shown = {
            (code, pair): remaining
            for code, pair, remaining in displays.values_list("assignment__annotator__code", "pair_id", "a_is_left")
        }
        ratings = Rating.objects.filter(display__assignment__in=rated)
        self._answers = {
            (code, pair, stage, question): Answer(*statement)
            for code, pair, stage, question, *statement in ratings.values_list(
                *("display__assignment__annotator__code", "display__pair_id", "stage", "question"),
                *("verdict", "strength", "tie_kind"),
            )
        }

    def problem(self, row: RatingRow) -> Reason | None:
        """Return how a row contradicts the stored ratings, or None."""
        earlier_row = self._shown.get((row.rater, row.pair.pk))
        is_same_order = not are_opposite(earlier_row, row.a_is_left)
        stored = self._answers.get((row.rater, row.pair.pk, row.stage, row.question), row.answer)
        if is_same_order and stored == row.answer:
            return None
        answer = row.answer
        if is_same_order and stored and answer and stored.verdict == answer.verdict:
            return refusal("refined_otherwise", rater=row.rater, stored=_degree(stored), given=_degree(answer))
        return refusal("rated_otherwise", rater=row.rater)

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


def _wrong_kind(study: Study, rows: Iterable[RatingRow], kind: str) -> list[BadLine]:
    """Find new ratings by programs under a person's code, and vice versa, and ratings under an account's code."""
    kinds = dict(study.annotators.values_list("code", "kind"))
    accounts = set(study.annotators.exclude(user=None).values_list("code", flat=True))
    scripted = kind == Annotator.Kind.SCRIPTED
    first: dict[str, RatingRow] = {}
    own: dict[str, RatingRow] = {}
    for row in rows:
        if row.rater in accounts:
            own.setdefault(row.rater, row)
        elif row.rater in kinds and (kinds[row.rater] == Annotator.Kind.SCRIPTED) != scripted:
            first.setdefault(row.rater, row)
    in_study, in_file = ("a person", "scripted") if scripted else ("scripted", "a person")
    bad = [
        BadLine(row.number, refusal("other_kind", rater=code, there=in_study, here=in_file))
        for code, row in first.items()
    ]
    return bad + [BadLine(row.number, refusal("has_account", rater=code)) for code, row in own.items()]
