"""One rater's work, and what a study admin may decide about it; and what raters are owed and told."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation.access import MANAGERS, READERS, account_of, study_view
from annotation.errors import AnnotationError, Unacceptable
from annotation.formats.spreadsheet import csv_lines
from annotation.middleware import status_of
from annotation.models import Annotator, Study
from annotation.rater_work import summary_of, work_of
from annotation.services import exclusion
from annotation.services.messages import send_message
from annotation.services.payments import COLUMNS, payment_rows, payments_of
from annotation.steering_forms import LeaveOutForm, MessageForm, OptionalReasonForm

HITS_A_PAGE = 50
OF_RATER: dict[str, type[forms.Form]] = {
    "exclude": LeaveOutForm,
    "include": OptionalReasonForm,
    "message": MessageForm,
    "unblock": forms.Form,
}
OF_ASSIGNMENT: dict[str, type[forms.Form]] = {
    "reject": LeaveOutForm,
    "accept": OptionalReasonForm,
    "release": OptionalReasonForm,
}
DECISIONS: dict[str, Callable[..., exclusion.Effect]] = {
    "exclude": exclusion.exclude_annotator,
    "include": exclusion.include_annotator,
    "unblock": exclusion.let_go_on,
    "reject": exclusion.reject_assignment,
    "accept": exclusion.accept_assignment,
    "release": exclusion.release_claim,
}


@study_view(*READERS)
@require_http_methods(["GET", "HEAD", "POST"])
def rater(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """Show one rater's work; a study admin decides about it and writes to them."""
    annotator = get_object_or_404(study.annotators.present().select_related("study", "user"), pk=pk)
    may_manage = Study.objects.seen_by(request.user, *MANAGERS).filter(pk=study.pk).exists()
    if request.method != "POST":
        return _page(request, annotator, may_manage)
    if not may_manage:
        raise PermissionDenied
    action = request.POST.get("action", "")
    if action not in OF_RATER and action not in OF_ASSIGNMENT:
        raise Unacceptable(_("There is no such decision about a rater."))
    form = {**OF_RATER, **OF_ASSIGNMENT}[action](request.POST, prefix=action)
    if form.is_valid():
        try:
            messages.success(request, _act(request, annotator, action, form.cleaned_data))
        except AnnotationError as error:
            form.add_error(None, str(error))
            return _page(request, annotator, may_manage, {action: form}, status=status_of(error))
        return redirect("annotation:rater", study.slug, pk)
    return _page(request, annotator, may_manage, {action: form}, status=422)


def _act(request: HttpRequest, annotator: Annotator, action: str, cleaned: dict[str, Any]) -> str:
    decided = {**cleaned, "by": account_of(request), "at": timezone.now()}
    if action == "message":
        send_message(annotator=annotator, **decided)
        return _("Sent. They see it on their next page.")
    if action in OF_ASSIGNMENT:
        assignment = get_object_or_404(annotator.assignments, key=_key(request.POST.get("assignment", "")))
        return DECISIONS[action](assignment=assignment, **decided).told
    return DECISIONS[action](annotator=annotator, **decided).told


def _page(
    request: HttpRequest,
    annotator: Annotator,
    may_manage: bool,
    bound: dict[str, forms.Form] | None = None,
    status: int = 200,
) -> HttpResponse:
    """Render the page; `bound` is the form that was refused, with what was filled in."""
    page = Paginator(work_of(annotator), HITS_A_PAGE).get_page(request.GET.get("page"))
    chosen_key = _key(request.POST.get("assignment", "") or request.GET.get("assignment", ""))
    chosen = annotator.assignments.select_related("hit__batch", "hit__matchup__instance").filter(key=chosen_key).first()
    kinds = {name: form(prefix=name) for name, form in {**OF_RATER, **OF_ASSIGNMENT}.items()}
    context = {
        "study": annotator.study,
        "rater": annotator,
        "summary": summary_of(annotator),
        "page": page,
        "claim": next((one for one in annotator.assignments.claimed().select_related("hit__batch")), None),
        "chosen": chosen,
        "forms": {**kinds, **(bound or {})},
        "refused": next(iter(bound or {}), ""),
        "problems": [problem for form in (bound or {}).values() for problem in form.non_field_errors()],
        "may_manage": may_manage,
    }
    return render(request, "annotation/rater.html", context, status=status)


def _key(text: str) -> str:
    return text.replace("\x00", "")[:32]


@study_view(*MANAGERS)
@require_safe
def payments(request: HttpRequest, study: Study) -> HttpResponse:
    """Send what each rater is owed as CSV; `?platforms=1` lists those too whom a platform pays."""
    rows = payment_rows(payments_of(study, platforms=request.GET.get("platforms") == "1"))
    response = HttpResponse("".join(csv_lines(rows, COLUMNS)), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{study.slug}-payments.csv"'
    response["Cache-Control"] = "private, no-store"
    return response
