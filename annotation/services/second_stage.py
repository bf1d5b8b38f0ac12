"""The second stage: pair by pair a comparison table is shown, and the first vote is kept or revised with a reason."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from random import Random

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.arms import Arm
from annotation.errors import SecondStageClosed, Unacceptable
from annotation.models import Assignment, Batch, ComparisonTable, Display, Hit, Rating
from annotation.services.displays import derived_seed, placebos_seen
from annotation.services.holding import hold
from annotation.services.recording import display_of, record
from annotation.services.scoring import study_verdict
from annotation.services.sending import Sent

LONGEST_REASON = 5000
_NOTHING_SENT = Sent()


@dataclass(frozen=True)
class ShownRow:
    """One row of a comparison table on the sides that its rater sees; `number` counts from 0 in the stored table."""

    number: int
    aspect: str
    left: str
    both: str
    right: str
    flagged: bool


def current_display(assignment: Assignment) -> Display | None:
    """Return the first pair, by place, without a second vote; None when all have one, or before first votes closed."""
    if assignment.locked_at is None:
        return None
    decided = Rating.objects.filter(display__assignment=assignment, stage=Rating.Stage.REVISED)
    return assignment.displays.exclude(pk__in=decided.values("display_id")).order_by("position").first()


@transaction.atomic
def reveal(*, assignment: Assignment, at: datetime) -> Display | None:
    """Return the pair that the second stage is at, with its table chosen and marked as shown."""
    display = current_display(assignment)
    if display is None or display.second_shown_at is not None:
        return display
    display = Display.objects.select_for_update(of=("self",)).get(pk=display.pk)
    if display.second_shown_at is None:
        display.table = _choose_table(assignment, display)
        display.second_shown_at = at
        display.save(update_fields=["table", "second_shown_at"])
    return display


def _choose_table(assignment: Assignment, display: Display) -> ComparisonTable | None:
    """Pick the table of the arm: of several one by the assignment's seed. A placebo is another instance's."""
    arm = Arm.parse(assignment.arm)
    if not arm.shows_table:
        return None
    tables = ComparisonTable.objects.filter(study_id=assignment.hit.batch.study_id, variant=arm.variant)
    if arm.kind == "table":
        return _drawn(tables.filter(pair=display.pair_id), assignment, display)
    return _placebo(tables, assignment, display)


def _placebo(tables: QuerySet[ComparisonTable], assignment: Assignment, display: Display) -> ComparisonTable | None:
    """Pick another instance's table that colours no first vote of this rater, if there is one.

    That is one of a matchup on no HIT for rating; or of one that they have rated before; or of one whose table they
    have seen already. Else it is any, and its matchup is given to them no more. Of those, the same systems' come first.
    """
    matchup = display.pair.matchup
    others = tables.exclude(pair__matchup__instance_id=matchup.instance_id)
    on_hits = Hit.objects.filter(batch__origin=Batch.Origin.COLLECTED, batch__study_id=assignment.hit.batch.study_id)
    rated = assignment.annotator.assignments.filter(state=Assignment.State.SUBMITTED)
    pools = (
        others.exclude(pair__matchup_id__in=on_hits.values("matchup_id")),
        others.filter(pair__matchup_id__in=rated.values("hit__matchup_id")),
        others.filter(pair__matchup_id__in=placebos_seen(assignment.annotator)),
        others,
    )
    for pool in pools:
        alike = pool.filter(
            pair__matchup__system_a=matchup.system_a_id,
            pair__matchup__system_b=matchup.system_b_id,
            pair__matchup__instance__dataset=matchup.instance.dataset,
        )
        if table := _drawn(alike, assignment, display) or _drawn(pool, assignment, display):
            return table
    return None  # batches are refused when tables are missing; a missing one is recorded as none shown


def _drawn(tables: QuerySet[ComparisonTable], assignment: Assignment, display: Display) -> ComparisonTable | None:
    count = tables.count()
    if not count:
        return None
    place = Random(derived_seed(assignment.seed, display.pair.key, "table")).randrange(count)
    return tables.order_by("table_id")[place]


def shown_rows(display: Display) -> Sequence[ShownRow]:
    """Return the table that was shown beside a pair, turned to this rater's sides; empty when none was."""
    if display.table is None or display.second_shown_at is None:
        return []
    flagged = set(display.flags.filter(table=display.table_id, taken_back_at=None).values_list("row", flat=True))
    return turned_rows(display.table, a_is_left=display.a_is_left, flagged=flagged)


def turned_rows(table: ComparisonTable, *, a_is_left: bool, flagged: Collection[int | None] = ()) -> Sequence[ShownRow]:
    """Turn a table to the sides that show A on the left, or on the right."""
    left, right = ("only_a", "only_b") if a_is_left else ("only_b", "only_a")
    return [
        ShownRow(number, row["aspect"], row[left], row["both"], row[right], number in flagged)
        for number, row in enumerate(table.rows)
    ]


@transaction.atomic
def save_second_vote(
    *, assignment: Assignment, pair_key: str, choice: str, reason: str, at: datetime, sent: Sent = _NOTHING_SENT
) -> Rating:
    """Take the second vote on a pair: the first choice again keeps it; another revises it and needs a reason.

    Raises: UnknownName; Unacceptable when the choice isn't offered or the reason is too short or too long;
    SecondStageClosed before the first votes are closed or before the pair's turn; AssignmentClosed; VoteConflict.
    """
    held = hold(assignment, at)
    display = display_of(held.assignment, pair_key)
    if held.assignment.locked_at is None:
        raise SecondStageClosed(_("Please rate every pair once and close your first choices before looking again."))
    if display.second_shown_at is None:
        raise SecondStageClosed(_("This pair's turn comes after the ones above it. Please load the page again."))
    reason = reason.replace("\x00", "").replace("\r\n", "\n").strip()
    if choice in held.assignment.hit.batch.study.offered_choices:
        _refuse_reason(held.assignment, display, choice, reason)
    return record(held, display, Rating.Stage.REVISED, choice, at=at, sent=sent, reason=reason, arm=held.assignment.arm)


def _refuse_reason(assignment: Assignment, display: Display, choice: str, reason: str) -> None:
    if len(reason) > LONGEST_REASON:
        raise Unacceptable(_("The reason is longer than %(most)d characters.") % {"most": LONGEST_REASON})
    first = display.ratings.get(stage=Rating.Stage.FIRST)
    least = assignment.hit.batch.study.reason_min_length
    if study_verdict(choice, display) != first.verdict and len(reason) < least:
        raise Unacceptable(
            ngettext(
                "Please say why you changed your choice, in %(least)d character or more.",
                "Please say why you changed your choice, in %(least)d characters or more.",
                least,
            )
            % {"least": least}
        )
