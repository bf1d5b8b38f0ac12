"""The second stage: each pair is shown with a comparison table, and its first vote is kept, or revised with a reason."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from random import Random

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.allocation.lease import extend_lease, lock_hit
from annotation.core.arms import Arm
from annotation.core.errors import SecondStageClosed, Unacceptable
from annotation.hits.displays import derived_seed
from annotation.models import Assignment, ComparisonTable, Display, Rating
from annotation.questions.questions import MAIN
from annotation.rating.placebos import choose_placebo
from annotation.rating.store_vote import ClientReport, cleaned_reason, display_of, record_vote

_NO_REPORT = ClientReport()


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
    return choose_placebo(tables, assignment, display)


def _drawn(tables: QuerySet[ComparisonTable], assignment: Assignment, display: Display) -> ComparisonTable | None:
    count = tables.count()
    if not count:
        return None
    index = Random(derived_seed(assignment.seed, display.pair.key, "table")).randrange(count)
    return tables.order_by("table_id")[index]


def shown_rows(display: Display) -> Sequence[ShownRow]:
    """Return the rows of the table shown beside a pair, on the rater's sides, or an empty string when none was shown."""
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
