"""Flags that annotators set on pairs and on rows of comparison tables."""

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.allocation.claims import LONGEST_COMMENT
from annotation.allocation.lease import require_open
from annotation.core.errors import SecondStageClosed, Unacceptable, UnknownName
from annotation.models import Annotator, Assignment, Display, Flag
from annotation.rating.store_vote import display_of


@transaction.atomic
def flag_pair(
    *, assignment: Assignment, pair_key: str, kind: str, comment: str = "", take_back: bool = False, at: datetime
) -> Flag:
    """Flag a pair as broken, or take that back. Flagging the same kind again replaces the comment.

    A flag taken back is kept and marked: researchers may have read it.
    Raises: UnknownName when the pair isn't on the HIT; Unacceptable for an unknown kind, or one that was not flagged;
    AssignmentClosed; ConsentNeeded.
    """
    _lock_annotator(assignment)
    display = display_of(assignment, pair_key)
    if kind not in Flag.Kind.values or kind == Flag.Kind.UNSUPPORTED_ROW:
        raise Unacceptable(_("Please choose what is wrong with the pair."))
    if take_back:
        return _taken_back(display, kind, at)
    comment = comment.replace("\x00", "").strip()[:LONGEST_COMMENT]
    flag, _created = Flag.objects.update_or_create(
        display=display, kind=kind, row=None, defaults={"comment": comment, "flagged_at": at, "taken_back_at": None}
    )
    return flag


@transaction.atomic
def flag_row(*, assignment: Assignment, pair_key: str, row: int, take_back: bool, at: datetime) -> Flag:
    """Flag a row of the shown table as not supported by the texts, or take that back.

    Raises: UnknownName when the pair isn't on the HIT, or the row isn't in its table; SecondStageClosed before the
    table was shown; AssignmentClosed; ConsentNeeded.
    """
    _lock_annotator(assignment)
    display = display_of(assignment, pair_key)
    if display.table is None or display.second_shown_at is None:
        raise SecondStageClosed(_("No table has been shown beside this pair."))
    if not 0 <= row < len(display.table.rows):
        raise UnknownName(_("The table has no such row. Please load the page again."))
    existing = Flag.objects.filter(display=display, table=display.table, row=row).first()
    flag = existing or Flag(
        display=display, table=display.table, row=row, kind=Flag.Kind.UNSUPPORTED_ROW, flagged_at=at
    )
    if existing and not take_back and flag.taken_back_at:
        flag.flagged_at = at
    flag.taken_back_at = at if take_back else None
    flag.save()
    return flag


def _taken_back(display: Display, kind: str, at: datetime) -> Flag:
    flag = Flag.objects.filter(display=display, kind=kind, row=None).first()
    if flag is None:
        raise Unacceptable(_("There is no such report to take back."))
    if flag.taken_back_at is None:
        flag.taken_back_at = at
        flag.save(update_fields=["taken_back_at"])
    return flag


def _lock_annotator(assignment: Assignment) -> None:
    Annotator.objects.select_for_update().get(pk=assignment.annotator_id)
    require_open(Assignment.objects.select_related("annotator__study").get(pk=assignment.pk))
