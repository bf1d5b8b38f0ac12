"""Importing the changes of imported votes, as they are exported."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from django.db.models import OuterRef, Subquery

from annotation.core.database.aggregates import grouped
from annotation.core.errors import MOST_BAD_LINES, BadLine
from annotation.core.files import lines
from annotation.importing.formats.raters_work import ChangeRow, parse_history
from annotation.importing.rating_files import RatingPlaces
from annotation.importing.rating_rows import RatingRow, are_opposite
from annotation.importing.staging import open_import
from annotation.models import Assignment, Batch, Display, Rating, Study, VoteChange
from annotation.studies.services import record_import

_CHUNK = 500
IMPORTED = Batch.Origin.IMPORTED
ANSWER = ("verdict", "strength", "tie_kind")
_OF_VOTE = ("stage", "question", *ANSWER, "reason", "active_seconds", "wall_seconds", "late", "software_version")
_OF_CHANGE = ("received_at", "chosen_at", "page", "source_opened")
PairOf = tuple[str, str, str, int]  # batch, HIT, rater, and the primary key of the pair


class Shown(NamedTuple):
    """A pair as a rater was shown it."""

    display: int
    assignment: int
    a_is_left: bool | None
    collected_here: bool


def import_history(*, data: bytes, name: str, slug: str) -> tuple[Study, int, int]:
    """Import exported changes of votes, whole or not at all; return the study, and how many were added and unchanged.

    The ratings come first: the last change of a pair, stage and question has the answer of its rating. No file adds to the
    history of a vote that was given here. Changes of votes in qualifications and hidden checks are left out, as these are.
    Raises: BadFile listing the bad lines; UnknownStudy.
    """
    given, bad = parse_history(data, name)
    with open_import(slug, rows=0) as target:
        study = target.given
        found = _Changes(study)
        rows = [row for row in given if not row.vote.is_check]
        votes, unknown = RatingPlaces(study).resolve([row.vote for row in rows])
        lines.refuse(name, [*bad, *unknown])
        for row, vote in zip(rows, votes, strict=True):
            if len(found.bad) < MOST_BAD_LINES and (problem := found.problem(row, vote)):
                found.bad.append(BadLine(vote.number, problem))
        lines.refuse(name, found.bad or list(found.other_answers()))
        found.store()
        if added := len(found.fresh):
            record_import(study=study, kind="history", name=name, data=data, counts={"added": added})
        return study, added, len(rows) - added


class _Changes:
    """The changes of a file, beside those that a study has."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.shown = shown_in(study)
        self.tables = dict(study.tables.values_list("table_id", "pk"))
        ours = {"display__assignment__hit__batch__study": study}
        changes = VoteChange.objects.of_every_question().filter(**ours).order_by("pk")
        self.stored = grouped(
            (display, tuple(values))
            for display, *values in changes.values_list("display", *_OF_VOTE, *_OF_CHANGE).iterator(chunk_size=_CHUNK)
        )
        ratings = Rating.objects.of_every_question().filter(**ours)
        self.answers = {
            tuple(row[:3]): tuple(row[3:]) for row in ratings.values_list("display", "stage", "question", *ANSWER)
        }
        self.number: Counter[int] = Counter()  # by display, how many changes of the file came before
        self.last: dict[tuple[Any, ...], RatingRow] = {}
        self.second: dict[Shown, tuple[str, int | None]] = {}  # arm and table of the second stage
        self.fresh: list[VoteChange] = []
        self.bad: list[BadLine] = []

    def problem(self, row: ChangeRow, vote: RatingRow) -> str | None:
        """Take a change in, or return why it does not fit."""
        shown = self.shown.get((vote.batch, vote.hit, vote.rater, vote.pair.pk))
        if shown is None:
            return f"the study has no rating of this pair by {vote.rater} on this HIT: read the ratings first"
        if are_opposite(shown.a_is_left, vote.a_is_left):
            return f"rater {vote.rater} was shown the other text first"
        values = {**{name: getattr(vote, name) for name in _OF_VOTE}, **row.more}
        before, place = self.stored.get(shown.display, []), self.number[shown.display]
        self.number[shown.display] += 1
        self.last[shown.display, vote.stage, vote.question] = vote
        if place < len(before):
            return None if before[place] == tuple(values.values()) else "the study has another history of this pair"
        if shown.collected_here:
            return f"batch {vote.batch!r} collects ratings here, with their history"
        self.fresh.append(VoteChange(display_id=shown.display, **values))
        return self._second_problem(row, shown) if vote.stage == Rating.Stage.REVISED else None

    def _second_problem(self, row: ChangeRow, shown: Shown) -> str | None:
        """Note arm and table of a second vote, or return why they don't fit."""
        if row.table_id and row.table_id not in self.tables:
            return f"the study has no comparison table {row.table_id!r}"
        second = (row.vote.arm, self.tables.get(row.table_id))
        same = self.second.setdefault(shown, second) == second
        return None if same else "arm or table differ from those of the same pair on a line before"

    def other_answers(self) -> Iterator[BadLine]:
        """Yield the last changes whose answer is not that of the rating."""
        for key, vote in self.last.items():
            if self.answers.get(key) != tuple(getattr(vote, name) for name in ANSWER):
                yield BadLine(
                    vote.number, "the last change of a vote has the answer of its rating, and this one hasn't"
                )

    def store(self) -> None:
        """Store the changes in the order of the file, and what the second stage showed."""
        VoteChange.objects.bulk_create(self.fresh, batch_size=_CHUNK)
        displays = [Display(pk=shown.display, table_id=table) for shown, (_, table) in self.second.items()]
        Display.objects.bulk_update(displays, ["table"], batch_size=_CHUNK)
        arms = {shown.assignment: arm for shown, (arm, _) in self.second.items()}
        assignments = [Assignment(pk=pk, arm=arm) for pk, arm in arms.items()]
        Assignment.objects.bulk_update(assignments, ["arm"], batch_size=_CHUNK)
        if displays:  # a file of ratings does not identify the tables of placebos
            shown = Display.objects.filter(pk=OuterRef("display_id")).values("table_id")
            imported = {
                "display__assignment__hit__batch__study": self.study,
                "display__assignment__hit__batch__origin": IMPORTED,
            }
            Rating.objects.of_every_question().filter(**imported, stage=Rating.Stage.REVISED, table=None).update(
                table_id=Subquery(shown)
            )


def shown_in(study: Study) -> dict[PairOf, Shown]:
    """Return the pairs that were shown for rating."""
    displays = Display.objects.filter(
        assignment__hit__batch__study=study, assignment__purpose=Assignment.Purpose.RATING
    ).values_list(
        *("assignment__hit__batch__name", "assignment__hit__external_id", "assignment__hit__key"),
        *("assignment__annotator__code", "pair_id", "pk", "assignment_id", "a_is_left"),
        "assignment__hit__batch__origin",
    )
    return {
        (batch, external or key, rater, pair): Shown(pk, assignment, left, origin != IMPORTED)
        for batch, external, key, rater, pair, pk, assignment, left, origin in displays.iterator(chunk_size=_CHUNK)
    }
