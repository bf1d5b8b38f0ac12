"""What raters report: flags and returned HITs, as they make them and as researchers read them."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotation.access import MANAGERS, READERS, account_of, form_of_hit, own_assignment, study_view
from annotation.errors import Unacceptable
from annotation.forms import PAIR_FLAGS, FlagForm, ReturnForm
from annotation.models import Assignment, Display, Flag, Study
from annotation.reports import RETURNED, flags_of, kind_counts, reported_raters, returned_of, with_rows
from annotation.services import claims, flags
from annotation.services.exclusion import let_go_on
from annotation.services.second_stage import shown_rows

REPORTS_A_PAGE = 50


@form_of_hit
def flag(request: HttpRequest, assignment_key: str) -> HttpResponse:
    """Take a report about a pair, or about a row of the table beside it."""
    assignment = own_assignment(request, assignment_key)
    form = FlagForm(request.POST)
    if not form.is_valid():
        raise Unacceptable(" ".join(str(problem) for problems in form.errors.values() for problem in problems))
    sent, now = form.cleaned_data, timezone.now()
    pair_key, row = sent["pair_key"], sent["row"]
    if row is None:
        made = flags.flag_pair(
            assignment=assignment, pair_key=pair_key, kind=sent["kind"], comment=sent["comment"], at=now
        )
    else:
        made = flags.flag_row(assignment=assignment, pair_key=pair_key, row=row, take_back=sent["take_back"], at=now)
    if not getattr(request, "htmx", False):
        return redirect(f"{reverse('annotation:hit', args=[assignment.key])}#pair-{pair_key}")
    display = Display.objects.select_related("pair", "table").get(pk=made.display_id)
    context: dict[str, Any] = {"assignment": assignment, "pair_key": display.pair.key}
    if row is not None:
        context["row"] = shown_rows(display)[row]
        return TemplateResponse(request, "annotation/_row_flag.html", context)
    standing = display.flags.filter(row=None, taken_back_at=None)
    context |= {"place": display.position + 1, "flags": standing, "flag_kinds": PAIR_FLAGS}
    return TemplateResponse(request, "annotation/_flag.html", context)


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def return_hit(request: HttpRequest, assignment_key: str) -> HttpResponse:
    """Ask why a HIT is given back, and take it back."""
    assignment = own_assignment(request, assignment_key)
    if assignment.state in (Assignment.State.SUBMITTED, Assignment.State.RETURNED) and request.method != "POST":
        return redirect("annotation:rate")
    form = ReturnForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        claims.return_hit(assignment=assignment, **form.cleaned_data, at=timezone.now())
        messages.success(request, _("The HIT is given back. Thank you for telling us why."))
        return redirect("annotation:rate")
    context = {"assignment": assignment, "study": assignment.hit.batch.study, "form": form}
    return render(request, "annotation/return.html", context, status=422 if request.method == "POST" else 200)


@study_view(*READERS)
@require_http_methods(["GET", "HEAD", "POST"])
def reports(request: HttpRequest, study: Study) -> HttpResponse:
    """List what raters reported; a study admin lets a blocked rater go on."""
    may_manage = Study.objects.seen_by(request.user, *MANAGERS).filter(pk=study.pk).exists()
    if request.method == "POST":
        if not may_manage:
            raise PermissionDenied
        blocked = study.annotators.present().exclude(blocked_at=None)
        rater = get_object_or_404(blocked, code=request.POST.get("unblock", "").replace("\x00", ""))
        let_go_on(annotator=rater, by=account_of(request), at=timezone.now())
        messages.success(request, _("%(code)s may go on.") % {"code": rater.code})
        return redirect("annotation:reports", study.slug)
    kind = request.GET.get("kind", "")
    if kind not in ("", RETURNED, *Flag.Kind.values):
        raise Http404(f"no reports of kind {kind}")
    found: Any = returned_of(study) if kind == RETURNED else flags_of(study, kind)
    page = Paginator(found, REPORTS_A_PAGE).get_page(request.GET.get("page"))
    context = {
        "study": study,
        "kind": kind,
        "kinds": kind_counts(study),
        "page": page,
        "returned": list(page) if kind == RETURNED else [],
        "flags": [] if kind == RETURNED else with_rows(page),
        "query": f"kind={kind}" if kind else "",
        "raters": reported_raters(study),
        "may_manage": may_manage,
    }
    return render(request, "annotation/reports.html", context)
