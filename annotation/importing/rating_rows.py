"""Rating rows of a file, compared with each other and with the stored ratings."""

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import F, QuerySet

from annotation.core.database.aggregates import grouped
from annotation.core.errors import MOST_BAD_LINES, BadLine
from annotation.core.names import lookalike_lines
from annotation.core.reasons import Reason
from annotation.core.refusals import refusal
from annotation.importing.formats.ratings_file import LONGEST, RatingValues
from annotation.importing.staging import Target
from annotation.models import Annotator, Assignment, Batch, ComparisonTable, Display, Hit, Rating, Study
from annotation.questions.questions import MAIN, Answer

SCRIPTED = "scripted"  # how the codes of programs begin


@dataclass(frozen=True, slots=True)
class RatedPair:
    """The keys of a stored pair, and the data set of its instance. Objects of Django would take ten times the memory.

    index, index_a, index_b : of the pair, and of its generations; for files that name pairs by them
    """

    pk: int
    matchup_id: int
    dataset: str
    system_a_id: int
    system_b_id: int
    index: int = 0
    index_a: int = 0
    index_b: int = 0

    @property
    def configuration(self) -> tuple[str, int, int]:
        """The data set and the systems that are compared."""
        return self.dataset, self.system_a_id, self.system_b_id

    def has(self, indexes: tuple[int | None, int | None, int | None]) -> bool:
        """Tell whether these are the pair's indexes. None stands for any."""
        own = (self.index, self.index_a, self.index_b)
        return all(requested in (None, index) for requested, index in zip(indexes, own, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingRow(RatingValues):
    """One checked rating, in study order. `verdict` is None if the pair was shown but not answered."""

    pair: RatedPair
    verdict: int | None
    a_is_left: bool | None
    table: ComparisonTable | None = None
    work_seconds: float | None = None
    question: int = MAIN

    @property
    def answer(self) -> Answer | None:
        """The whole answer."""
        return None if self.verdict is None else Answer(self.verdict, self.strength, self.tie_kind)


def default_batch(dataset: str, system_a: str, system_b: str) -> str:
    """Return the default name of the batch of a configuration's imported ratings."""
    return f"{dataset}: {system_a} / {system_b}"


class RowChecks:
    """Comparison of a file's rows, some at a time, with each other and with the stored ratings.

    The first value of each key in the file, and its line, are in a temporary database: memory might not hold them.
    """

    def __init__(self, target: Target) -> None:
        self.target = target
        self._first = sqlite3.connect("", isolation_level=None)
        self._first.execute("CREATE TABLE first (key PRIMARY KEY, value, line) WITHOUT ROWID")
        self._first.execute("BEGIN")
        raters: Any = target.study.annotators.values_list("code", "kind", "user")
        self._raters = {code: (kind, user) for code, kind, user in raters}
        self._existing = set(self._raters)
        self._bad_batches: set[tuple[str, str]] = set()
        self._count = self.other_reasons = 0

    def close(self) -> None:
        """Remove what was noted of the rows."""
        self._first.close()

    def classify(self, rows: Sequence[RatingRow]) -> tuple[list[RatingRow], list[BadLine]]:
        """Return new rows, and the lines that contradict the stored ratings or each other. Other rows are stored already.

        Those among the last that give another reason are counted.
        """
        has_stored = self.target.is_apart or not self.target.staged.importer
        stored = _StoredRatings(self.target.study, rows if has_stored else [])
        fresh: list[RatingRow] = []
        bad: list[BadLine] = []
        for row in rows:
            if len(bad) >= MOST_BAD_LINES:
                break
            problem = self._repetition(row) or stored.problem(row)
            if problems := [*_too_long(row), *([problem] if problem else [])]:
                bad.extend(BadLine(row.number, item) for item in problems)
            elif not stored.holds(row):
                fresh.append(row)
                if problem := self._misplacement(row):
                    bad.append(BadLine(row.number, problem))
            else:
                self.other_reasons += stored.has_other_reason(row)
        if has_stored:
            bad.extend(self._stored_misplacements(fresh))
        bad.extend(self._bad_raters(rows, fresh))
        return fresh, bad

    def _first_of(self, row: RatingRow, value: Any, *key: object) -> tuple[Any, int]:
        """Return the first value of a key, which is this one if there is none yet, and its line."""
        name = "\0".join(map(str, key))  # no name has this character
        insert = "INSERT OR IGNORE INTO first VALUES (?, ?, ?)"
        if self._first.execute(insert, (name, value, row.number)).rowcount:
            return value, row.number
        first, line = self._first.execute("SELECT value, line FROM first WHERE key = ?", (name,)).fetchone()
        return first, line

    def _repetition(self, row: RatingRow) -> Reason | None:
        """Return how a row contradicts an earlier one of its rater and pair, or None."""
        of_pair = (row.rater, row.pair.pk)
        self._count += 1  # several rows may be of one line
        first, line = self._first_of(row, self._count, "answer", *of_pair, row.stage, row.question)
        if first != self._count:
            code = "pair_rated_before" if row.question == MAIN else "question_rated_before"
            return refusal(code, rater=row.rater, line=line)
        if row.a_is_left is not None:
            a_is_left, line = self._first_of(row, row.a_is_left, "order", *of_pair)
            if a_is_left != row.a_is_left:
                return refusal("other_text_first", rater=row.rater, line=line)
        hit = f"{row.batch}\0{row.hit}"
        first_hit, line = self._first_of(row, hit, "hit", *of_pair)
        return refusal("on_another_hit", rater=row.rater, line=line) if first_hit != hit else None

    def _misplacement(self, row: RatingRow) -> Reason | None:
        """Return how a new row does not fit the earlier ones of its batch, HIT or assignment, or None."""
        systems = repr(row.pair.configuration)
        if self._first_of(row, systems, "batch", row.batch)[0] != systems:
            return self._once("batch_of_several", row.batch, "file")
        if self._first_of(row, row.pair.matchup_id, "matchup", row.batch, row.hit)[0] != row.pair.matchup_id:
            return refusal("hit_of_several", hit=repr(row.hit))
        excluded, _ = self._first_of(row, row.excluded, "excluded", row.batch, row.hit, row.rater)
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
            collects = batch.origin != Batch.Origin.IMPORTED
            own = (batch.dataset, batch.system_a_id, batch.system_b_id)
            other = next((row for row in of_file[name] if collects or row.pair.configuration != own), None)
            code = "batch_collects" if collects else "batch_of_several"
            if other is not None and (problem := self._once(code, name, "study")):
                yield BadLine(other.number, problem)
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

    def _bad_raters(self, rows: Iterable[RatingRow], fresh: Sequence[RatingRow]) -> Iterator[BadLine]:
        """Find ratings by programs under a person's code, and vice versa, under an account's code, and codes that look alike."""
        for code, row in {row.rater: row for row in reversed(fresh) if row.rater in self._raters}.items():
            kind, user = self._raters[code]
            is_program = kind == Annotator.Kind.SCRIPTED
            if user is not None:
                yield BadLine(row.number, refusal("has_account", rater=code))
            elif is_program != (kind_of(code) == Annotator.Kind.SCRIPTED):
                in_study, in_file = ("scripted", "a person") if is_program else ("a person", "scripted")
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


class _StoredRatings:
    """The ratings of a study by the raters and on the pairs of some rows, without checks: a repeat is a second vote on a pair."""

    def __init__(self, study: Study, rows: Sequence[RatingRow]) -> None:
        raters = Annotator.objects.filter(study=study, code__in={row.rater for row in rows})
        codes = dict(raters.values_list("pk", "code"))
        displays = Display.objects.filter(
            pair__in={row.pair.pk for row in rows}, assignment__purpose=Assignment.Purpose.RATING
        )
        self._shown: dict[tuple[str, int], bool | None] = {}
        self._answers: dict[tuple[str, int, str, int], Answer] = {}
        self._reasons: dict[tuple[str, int, str, int], str] = {}
        keys: dict[int, tuple[str, int]] = {}
        if codes:
            shown = of_raters(displays, codes, "assignment__").values_list("pk", "rater", "pair_id", "a_is_left")
            for pk, rater, pair, a_is_left in shown:
                keys[pk] = (codes[rater], pair)
                self._shown[keys[pk]] = a_is_left
        if keys:
            columns = ("display_id", "stage", "question", "reason", "verdict", "strength", "tie_kind")
            ratings = Rating.objects.filter(display__in=keys).order_by().values_list(*columns)
            for display, stage, question, why, *statement in ratings:
                self._answers[*keys[display], stage, question] = Answer(*statement)
                self._reasons[*keys[display], stage, question] = why

    def problem(self, row: RatingRow) -> Reason | None:
        """Return how a row contradicts the stored ratings, or None."""
        orders = (self._shown.get((row.rater, row.pair.pk)), row.a_is_left)
        is_same_order = None in orders or orders[0] == orders[1]  # an unknown order contradicts none
        answer = row.answer
        stored = self._answers.get((row.rater, row.pair.pk, row.stage, row.question), answer)
        if is_same_order and stored == answer:
            return None
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
