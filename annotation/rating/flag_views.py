"""Flags that raters set on pairs and on rows of comparison tables, and returned HITs."""

from datetime import datetime
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.allocation import claims
from annotation.allocation.lease import require_open
from annotation.core.errors import SecondStageClosed, Unacceptable, UnknownName
from annotation.core.http import is_htmx
from annotation.members.permissions import FORM, account_view
from annotation.models import Annotator, Assignment, Display, Flag
from annotation.rating.access import hit_form_view, own_assignment
from annotation.rating.forms import FlagForm, ReturnForm
from annotation.rating.hit_views import CLOSED_STATES
from annotation.rating.second_stage import shown_rows
from annotation.rating.store_vote import display_of
from annotation.rating.vote_context import flag_choices


@transaction.atomic
def flag_pair(
    *, assignment: Assignment, pair_key: str, kind: str, comment: str = "", take_back: bool = False, at: datetime
) -> Flag:
    """Flag a pair as broken, or take that back. Flagging the same kind again replaces the comment.

    A flag taken back is kept and marked: researchers may have read it.
    Raises: UnknownName when the pair isn't on the HIT; Unacceptable to take back what was not flagged;
    AssignmentClosed; ConsentNeeded.
    """
    _lock_annotator(assignment)
    display = display_of(assignment, pair_key)
    if take_back:
        return _taken_back(display, kind, at)
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
    values = {"kind": Flag.Kind.UNSUPPORTED_ROW, "flagged_at": at}
    flag, _created = Flag.objects.get_or_create(display=display, table=display.table, row=row, defaults=values)
    if flag.taken_back_at and not take_back:
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


@hit_form_view
def flag(request: HttpRequest, assignment_key: str) -> HttpResponse:
    """Set or take back a flag on a pair, or on a row of the table beside it."""
    assignment = own_assignment(request, assignment_key)
    form = FlagForm(request.POST)
    if not form.is_valid():
        raise Unacceptable(form.problem)
    data, now = form.cleaned_data, timezone.now()
    pair_key, row = data["pair_key"], data["row"]
    if row is None:
        del data["row"]
        changed = flag_pair(assignment=assignment, **data, at=now)
    else:
        changed = flag_row(assignment=assignment, pair_key=pair_key, row=row, take_back=data["take_back"], at=now)
    address = reverse("annotation:hit", args=[assignment.key])
    if not is_htmx(request):
        return redirect(f"{address}#pair-{pair_key}")
    display = Display.objects.select_related("pair", "table").get(pk=changed.display_id)
    context: dict[str, Any] = {"here": address, "pair_key": display.pair.key}
    if row is not None:
        context["row"] = shown_rows(display)[row]
        return TemplateResponse(request, "annotation/rating/_row_flag.html", context)
    standing = display.flags.filter(row=None, taken_back_at=None)
    context |= {"place": display.position + 1, "flags": standing, "flag_choices": flag_choices()}
    context |= {"taken_back": changed if changed.taken_back_at else None}
    return TemplateResponse(request, "annotation/rating/_flag.html", context)


@account_view(FORM)
def return_hit(request: HttpRequest, assignment_key: str) -> HttpResponse:
    """Ask for a reason, and return a HIT."""
    assignment = own_assignment(request, assignment_key)
    if assignment.state in CLOSED_STATES and request.method != "POST":
        return redirect("annotation:rate")
    form = ReturnForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        claims.return_hit(assignment=assignment, **form.cleaned_data, at=timezone.now())
        messages.success(request, _("The HIT is returned. Thank you for telling us why."))
        return redirect("annotation:rate")
    context = {"assignment": assignment, "study": assignment.hit.batch.study, "form": form}
    return render(request, "annotation/rating/return.html", context, status=422 if request.method == "POST" else 200)
