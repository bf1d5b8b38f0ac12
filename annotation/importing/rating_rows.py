"""Rating rows of a file, compared with each other and with the stored ratings."""

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import F, QuerySet

from annotation.core.database.aggregates import grouped
from annotation.core.errors import MOST_BAD_LINES, BadLine
from annotation.core.names import lookalike_lines
from annotation.core.reasons import Reason
from annotation.core.refusals import refusal
from annotation.importing.formats.ratings_file import LONGEST
from annotation.importing.staging import Target
from annotation.models import Annotator, Assignment, Batch, ComparisonTable, Display, Hit, Pair, Rating, Study
from annotation.questions.questions import MAIN, Answer

SCRIPTED = "scripted"  # how the codes of programs begin


@dataclass(frozen=True, slots=True)
class RatedPair:
    """The keys of a stored pair, and the data set of its instance. Objects of Django would take ten times the memory."""

    pk: int
    matchup_id: int
    dataset: str
    system_a_id: int
    system_b_id: int

    @classmethod
    def of(cls, pair: Pair) -> "RatedPair":
        """Return the keys of a pair that was read with its matchup and instance."""
        matchup = pair.matchup
        return cls(pair.pk, matchup.pk, matchup.instance.dataset, matchup.system_a_id, matchup.system_b_id)

    @property
    def configuration(self) -> tuple[str, int, int]:
        """The data set and the systems that are compared."""
        return self.dataset, self.system_a_id, self.system_b_id


@dataclass(frozen=True, slots=True)
class RatingRow:
    """One checked rating, in study order. `verdict` is None if the pair was shown but not answered."""

    number: int
    batch: str
    hit: str
    pair: RatedPair
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
    other_reasons: int = 0


class _FirstRows:
    """The first value of each key in a file, and its line, in a temporary database: memory might not hold them."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute("CREATE TABLE first (key PRIMARY KEY, value, line) WITHOUT ROWID")
        self._database.execute("BEGIN")

    def find(self, row: RatingRow, value: Any, *key: object) -> tuple[Any, int]:
        """Return the first value of a key, which is this one if there is none yet, and its line."""
        name = "\0".join(map(str, key))  # no name has this character
        insert = "INSERT OR IGNORE INTO first VALUES (?, ?, ?)"
        if self._database.execute(insert, (name, value, row.number)).rowcount:
            return value, row.number
        first: tuple[Any, int] = self._database.execute(
            "SELECT value, line FROM first WHERE key = ?", (name,)
        ).fetchone()
        return first

    def close(self) -> None:
        """Remove the database."""
        self._database.close()


class RowChecks:
    """Comparison of a file's rows, some at a time, with each other and with the stored ratings."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._first = _FirstRows()
        self._raters = {code: (stored, user) for code, stored, user in _raters(target.study)}
        self._existing = set(self._raters)
        self._bad_batches: set[tuple[str, str]] = set()

    def close(self) -> None:
        """Remove what was noted of the rows."""
        self._first.close()

    def classify(self, rows: Sequence[RatingRow]) -> ClassifiedRows:
        """Find new rows, and rows that contradict the stored ratings or each other."""
        has_stored = self.target.is_apart or not self.target.staged.importer
        stored = _StoredRatings(self.target.study, rows if has_stored else [])
        classified = ClassifiedRows()
        for row in rows:
            if len(classified.bad) >= MOST_BAD_LINES:
                break
            problem = self._repetition(row) or stored.problem(row)
            if problems := [*_too_long(row), *([problem] if problem else [])]:
                classified.bad.extend(BadLine(row.number, item) for item in problems)
            elif not stored.holds(row):
                classified.fresh.append(row)
                if problem := self._misplacement(row):
                    classified.bad.append(BadLine(row.number, problem))
            elif stored.has_other_reason(row):
                classified.other_reasons += 1
        if has_stored:
            classified.bad.extend(self._stored_misplacements(classified.fresh))
        classified.bad.extend(self._bad_raters(rows, classified.fresh))
        return classified

    def _repetition(self, row: RatingRow) -> Reason | None:
        """Return how a row contradicts an earlier one of its rater and pair, or None."""
        of_pair = (row.rater, row.pair.pk)
        _, line = self._first.find(row, None, "answer", *of_pair, row.stage, row.question)
        if line != row.number:
            code = "pair_rated_before" if row.question == MAIN else "question_rated_before"
            return refusal(code, rater=row.rater, line=line)
        if row.a_is_left is not None:
            a_is_left, line = self._first.find(row, row.a_is_left, "order", *of_pair)
            if a_is_left != row.a_is_left:
                return refusal("other_text_first", rater=row.rater, line=line)
        hit = f"{row.batch}\0{row.hit}"
        first_hit, line = self._first.find(row, hit, "hit", *of_pair)
        return refusal("on_another_hit", rater=row.rater, line=line) if first_hit != hit else None

    def _misplacement(self, row: RatingRow) -> Reason | None:
        """Return how a new row does not fit the earlier ones of its batch, HIT or assignment, or None."""
        systems = repr(row.pair.configuration)
        if self._first.find(row, systems, "batch", row.batch)[0] != systems:
            return self._once("batch_of_several", row.batch, "file")
        if self._first.find(row, row.pair.matchup_id, "matchup", row.batch, row.hit)[0] != row.pair.matchup_id:
            return refusal("hit_of_several", hit=repr(row.hit))
        excluded, _ = self._first.find(row, row.excluded, "excluded", row.batch, row.hit, row.rater)
        return refusal("excluded_differs") if excluded != row.excluded else None

    def _once(self, code: str, batch: str, compared_with: str) -> Reason | None:
        """Return the reason that is the same for all rows of a batch, once."""
        if (batch, compared_with) in self._bad_batches:
            return None
        self._bad_batches.add((batch, compared_with))
        return refusal(code, batch=repr(batch))

    def _stored_misplacements(self, rows: Sequence[RatingRow]) -> Iterator[BadLine]:
        """Find new rows that do not fit the stored batches, HITs and assignments, which they will join."""
        of_file = grouped((row.batch, row) for row in rows)
        batches = {batch.name: batch for batch in self.target.study.batches.filter(name__in=of_file)}
        for name, batch in batches.items():
            for row in of_file[name]:
                collects = batch.origin != Batch.Origin.IMPORTED
                if collects or row.pair.configuration != (batch.dataset, batch.system_a_id, batch.system_b_id):
                    if problem := self._once("batch_collects" if collects else "batch_of_several", name, "study"):
                        yield BadLine(row.number, problem)
                    break
        names, raters = {row.hit for row in rows}, {row.rater for row in rows}
        on_hits = Hit.objects.filter(batch__in=list(batches.values()), external_id__in=names).order_by()
        matchups = {tuple(key): pk for *key, pk in on_hits.values_list("batch__name", "external_id", "matchup_id")}
        if not matchups:
            return
        work = Assignment.objects.filter(hit__in=on_hits, annotator__code__in=raters)
        columns = ("hit__batch__name", "hit__external_id", "annotator__code", "excluded")
        excluded = {tuple(key): value for *key, value in work.values_list(*columns).iterator()}
        for row in rows:
            if matchups.get((row.batch, row.hit), row.pair.matchup_id) != row.pair.matchup_id:
                yield BadLine(row.number, refusal("hit_of_several", hit=repr(row.hit)))
            elif excluded.get((row.batch, row.hit, row.rater), row.excluded) != row.excluded:
                yield BadLine(row.number, refusal("excluded_differs"))

    def _bad_raters(self, rows: Iterable[RatingRow], fresh: Iterable[RatingRow]) -> Iterator[BadLine]:
        """Find ratings by programs under a person's code, and vice versa, under an account's code, and codes that look alike."""
        for code, row in {row.rater: row for row in reversed([*fresh]) if row.rater in self._raters}.items():
            stored, user = self._raters[code]
            if user is not None:
                yield BadLine(row.number, refusal("has_account", rater=code))
            elif (stored == Annotator.Kind.SCRIPTED) != (kind_of(code) == Annotator.Kind.SCRIPTED):
                in_study, in_file = (
                    ("scripted", "a person") if stored == Annotator.Kind.SCRIPTED else ("a person", "scripted")
                )
                yield BadLine(row.number, refusal("other_kind", rater=code, there=in_study, here=in_file))
            else:
                continue
            del self._raters[code]  # said once
        codes = [(row.number, row.rater) for row in rows if row.rater not in self._existing]
        if codes:
            yield from lookalike_lines("rater", codes, self._existing)
            self._existing.update(code for _, code in codes)


def kind_of(code: str) -> Annotator.Kind:
    """Return the kind of an imported rater. The codes of programs say so, in exports and in other tools' files too."""
    return Annotator.Kind.SCRIPTED if code.startswith(SCRIPTED) else Annotator.Kind.IMPORTED


def of_raters(rows: QuerySet[Any], keys: Collection[int], path: str = "") -> Any:
    """Return the rows of some raters. By no index: SQLite would rather read all work of each than look at some rows."""
    return rows.annotate(rater=F(f"{path}annotator_id") + 0).filter(rater__in=keys).order_by()


def _raters(study: Study) -> Any:
    return study.annotators.values_list("code", "kind", "user")


class _StoredRatings:
    """The ratings of a study by the raters and on the pairs of some rows, without checks: a repeat is a second vote on a pair."""

    def __init__(self, study: Study, rows: Sequence[RatingRow]) -> None:
        raters = Annotator.objects.filter(study=study, code__in={row.rater for row in rows}).values_list("pk", "code")
        codes = dict(raters)
        displays = Display.objects.filter(
            pair__in={row.pair.pk for row in rows}, assignment__purpose=Assignment.Purpose.RATING
        )
        self._shown: dict[tuple[str, int], bool | None] = {}
        keys: dict[int, tuple[str, int]] = {}
        if codes:
            shown = of_raters(displays, codes, "assignment__").values_list("pk", "rater", "pair_id", "a_is_left")
            for pk, rater, pair, a_is_left in shown:
                keys[pk] = (codes[rater], pair)
                self._shown[keys[pk]] = a_is_left
        ratings = Rating.objects.filter(display__in=keys).order_by() if keys else Rating.objects.none()
        self._answers: dict[tuple[Any, ...], Answer] = {}
        self._reasons: dict[tuple[Any, ...], str] = {}
        for display, stage, question, why, *statement in ratings.values_list(
            *("display_id", "stage", "question", "reason", "verdict", "strength", "tie_kind")
        ):
            self._answers[*keys[display], stage, question] = Answer(*statement)
            self._reasons[*keys[display], stage, question] = why

    def problem(self, row: RatingRow) -> Reason | None:
        """Return how a row contradicts the stored ratings, or None."""
        a_is_left = self._shown.get((row.rater, row.pair.pk))
        is_same_order = not are_opposite(a_is_left, row.a_is_left)
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

    def has_other_reason(self, row: RatingRow) -> bool:
        """Tell whether a stored row gives another reason, blanks aside."""
        stored = self._reasons.get((row.rater, row.pair.pk, row.stage, row.question), "")
        return bool(row.reason) and row.reason.split() != stored.split()


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
