"""The second stage: each pair is shown with a comparison table, and its first vote is kept, or revised with a reason."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import Any

from django.db import transaction
from django.db.models import Case, Exists, F, Func, IntegerField, OuterRef, Q, QuerySet, TextField, Value, When
from django.db.models.functions import MD5, Abs, Cast, Concat, Length
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.allocation.lease import extend_lease, lock_hit
from annotation.allocation.queue import ANY_ARM
from annotation.core.arms import Arm
from annotation.core.errors import SecondStageClosed, Unacceptable
from annotation.hits.displays import derived_seed
from annotation.models import Assignment, Batch, ComparisonTable, Display, HitPair, Rating, Slot
from annotation.questions.questions import MAIN
from annotation.rating.store_vote import ClientReport, cleaned_reason, display_of, record_vote

_NO_REPORT = ClientReport()
_Tables = QuerySet[ComparisonTable]


@dataclass(frozen=True)
class ShownRow:
    """One row of a comparison table on the rater's sides. `number` is its index in the stored table, from 0."""

    number: int
    aspect: str
    left: str
    both: str
    right: str
    flagged: bool


def current_display(assignment: Assignment) -> Display | None:
    """Return the first display without a second vote, or None when all have one, or in the first stage."""
    if assignment.locked_at is None:
        return None
    decided = Rating.objects.for_question(MAIN).filter(display__assignment=assignment, stage=Rating.Stage.REVISED)
    return assignment.displays.exclude(pk__in=decided.values("display_id")).order_by("position").first()


@transaction.atomic
def reveal(*, assignment: Assignment, at: datetime) -> Display | None:
    """Return the current display of the second stage, with its table chosen and marked as shown."""
    display = current_display(assignment)
    if display is None or display.second_shown_at is not None:
        return display
    display = Display.objects.select_for_update(of=("self",)).get(pk=display.pk)
    if display.second_shown_at is None:
        display.table = choose_table(assignment, display)
        display.second_shown_at = at
        display.save(update_fields=["table", "second_shown_at"])
    return display


def choose_table(assignment: Assignment, display: Display) -> ComparisonTable | None:
    """Return the table that the arm shows beside a pair: one of its own, drawn by the assignment's seed, or a placebo.

    None where the arm shows none, or where the table is missing, although batches without their arms' tables don't open.
    """
    arm = Arm.parse(assignment.arm)
    if not arm.shows_table:
        return None
    tables = ComparisonTable.objects.filter(study_id=assignment.hit.batch.study_id, variant=arm.variant)
    if arm.kind == "table":
        return _drawn(tables.filter(pair=display.pair_id), assignment, display)
    return _placebo(tables, assignment, display)


def _drawn(tables: _Tables, assignment: Assignment, display: Display) -> ComparisonTable | None:
    count = tables.count()
    if not count:
        return None
    index = Random(derived_seed(assignment.seed, display.pair.key, "table")).randrange(count)
    return tables.order_by("table_id")[index]


class _RowCount(Func):
    """The number of elements of a JSON array."""

    function = "JSON_ARRAY_LENGTH"
    output_field = IntegerField()

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, function="JSONB_ARRAY_LENGTH", **context)


def _placebo(tables: _Tables, assignment: Assignment, display: Display) -> ComparisonTable | None:
    """Return the table of other texts to show beside a pair, or None when all are of the pair's own HIT.

    A placebo should resemble the pair's own table and influence no first vote. Candidates, in this order:

    1. of the same source, of a pair without any text of the HIT: another pair of the matchup, or other systems';
    2. of another source of the same data set;
    3. of a pair that the rater is still to rate: of a matchup of which they have seen a table already, so that at most one
       HIT is affected, then of the same source, then of the data set;
    4. of another data set.

    Tables of 1, 2 and 4 are of pairs that this rater will not get, or has rated. Within each group, tables that the rater
    has not seen come first, then those closest in rows, then in length, to the pair's own table.
    """
    sized = tables.annotate(row_count=_RowCount("rows"), length=Length(Cast("rows", TextField())))
    own = sized.filter(pair=display.pair_id).order_by("table_id").first()
    displays = Display.objects.filter(assignment__annotator=assignment.annotator_id, table=OuterRef("pk"))
    order: list[Any] = [Case(When(Exists(displays), then=1), default=0)]
    if own is not None:
        order += [Abs(F("row_count") - own.row_count), Abs(F("length") - own.length)]
    seed = derived_seed(assignment.seed, display.pair.key, "table")
    order.append(MD5(Concat(Value(str(seed)), "table_id")))
    return next(
        (table for pool in _pools(sized, assignment, display) if (table := pool.order_by(*order).first())), None
    )


def _pools(tables: _Tables, assignment: Assignment, display: Display) -> Iterator[_Tables]:
    instance = display.pair.matchup.instance
    same_source = _without_texts_of_hit(tables.filter(pair__matchup__instance=instance), assignment)
    other_tables = tables.exclude(pair__matchup__instance=instance)
    same_set = other_tables.filter(pair__matchup__instance__dataset=instance.dataset)
    free = ~Exists(_to_come(assignment))
    yield same_source.filter(free)
    yield same_set.filter(free)
    displays = Display.objects.filter(assignment__annotator=assignment.annotator_id, table__isnull=False)
    yield same_set.filter(pair__matchup__in=displays.order_by().values("table__pair__matchup"))
    yield same_source
    yield same_set
    yield other_tables.filter(free)
    yield other_tables


def _without_texts_of_hit(tables: _Tables, assignment: Assignment) -> _Tables:
    """Leave out tables of any text that is on the HIT, also as another generation."""
    placed = HitPair.objects.filter(hit=assignment.hit_id)
    texts = {
        text
        for pair in placed.values_list("pair__generation_a__text_md5", "pair__generation_b__text_md5")
        for text in pair
    }
    of_hit = Q(pair__generation_a__text_md5__in=texts) | Q(pair__generation_b__text_md5__in=texts)
    return tables.exclude(of_hit)


def _to_come(assignment: Assignment) -> QuerySet[HitPair]:
    """Return a table's pair on HITs that this rater may still get, as `queue` allocates them.

    Left out: closed batches, HITs without an unfilled slot for the rater's arm, matchups that the rater has had.
    """
    rated = Assignment.objects.filter(annotator=assignment.annotator_id).exclude(state=Assignment.State.EXPIRED)
    slots = Slot.objects.filter(hit=OuterRef("hit"), arm__in=(ANY_ARM, assignment.arm))
    unfilled = Exists(slots.exclude(assignment__state=Assignment.State.SUBMITTED))
    placed = HitPair.objects.filter(
        unfilled | Q(hit__batch__purpose=Batch.Purpose.GOLD),
        pair=OuterRef("pair"),
        hit__batch__study=assignment.hit.batch.study_id,
    )
    return placed.exclude(hit__batch__status=Batch.Status.CLOSED).exclude(
        hit__matchup__in=rated.order_by().values("hit__matchup")
    )


def shown_rows(display: Display) -> Sequence[ShownRow]:
    """Return the rows of the table shown beside a pair, on the rater's sides: none when no table was shown."""
    if display.table is None or display.second_shown_at is None:
        return []
    flagged = set(display.flags.filter(table=display.table_id, taken_back_at=None).values_list("row", flat=True))
    return turned_rows(display.table, a_is_left=bool(display.a_is_left), flagged=flagged)


def turned_rows(table: ComparisonTable, *, a_is_left: bool, flagged: Collection[int | None] = ()) -> Sequence[ShownRow]:
    """Return a table's rows with A on the left, or on the right."""
    left, right = ("only_a", "only_b") if a_is_left else ("only_b", "only_a")
    return [
        ShownRow(number, row["aspect"], row[left], row["both"], row[right], number in flagged)
        for number, row in enumerate(table.rows)
    ]


@transaction.atomic
def save_second_vote(
    *,
    assignment: Assignment,
    pair_key: str,
    choice: str,
    reason: str,
    at: datetime,
    report: ClientReport = _NO_REPORT,
    revises: bool = False,
) -> Rating:
    """Save the second vote on a pair: the same choice keeps the first one. Another revises it and needs a reason.

    revises : change a HIT that was submitted shortly before, see `annotation.allocation.revision`

    Raises: UnknownName; Unacceptable when the choice isn't offered or the reason is too short or too long;
    SecondStageClosed in the first stage or before the pair's turn; AssignmentClosed; VoteConflict.
    """
    locked = extend_lease(lock_hit(assignment), at, revises=revises)
    display = display_of(locked.assignment, pair_key)
    require_second_stage(locked.assignment)
    if display.second_shown_at is None:
        raise SecondStageClosed(_("This pair's turn comes after the ones above it. Please load the page again."))
    reason = cleaned_reason(reason)
    if choice in locked.assignment.hit.batch.study.questions[MAIN].choices:
        _refuse_reason(locked.assignment, display, choice, reason)
    return record_vote(
        locked, display, Rating.Stage.REVISED, choice, at=at, report=report, reason=reason, arm=locked.assignment.arm
    )


def require_second_stage(assignment: Assignment) -> None:
    """Refuse an assignment whose first votes aren't locked. Raises: SecondStageClosed."""
    if assignment.locked_at is None:
        raise SecondStageClosed(_("Please rate every pair once and close your first choices before looking again."))


def _refuse_reason(assignment: Assignment, display: Display, choice: str, reason: str) -> None:
    first = Rating.objects.for_question(MAIN).get(display=display, stage=Rating.Stage.FIRST)
    if display.study_answer(choice) == first.answer:
        return
    minimum = assignment.hit.batch.study.reason_min_length
    if len(reason) < minimum:
        raise Unacceptable(
            ngettext(
                "Please say why you changed your choice, in %(least)d character or more.",
                "Please say why you changed your choice, in %(least)d characters or more.",
                minimum,
            )
            % {"least": minimum}
        )
