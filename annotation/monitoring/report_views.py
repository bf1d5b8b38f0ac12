"""The page that lists flags, and returned HITs and submissions, to researchers."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone

from annotation.members.permissions import FORM, READERS, account_of, may_manage, study_view
from annotation.models import Flag, Study
from annotation.monitoring.reports import (
    RETURNED,
    flags_of,
    keep_returned_work,
    kind_counts,
    reported_raters,
    returned_of,
    returned_submissions,
    with_rows,
)
from annotation.quality.exclusion import unblock_annotator

REPORTS_A_PAGE = 50


@study_view(*READERS, methods=FORM)
def reports(request: HttpRequest, study: Study) -> HttpResponse:
    """List flags, and returned HITs and submissions. Study admins unblock raters and keep returned work."""
    manages = may_manage(request.user, study)
    if request.method == "POST":
        if not manages:
            raise PermissionDenied
        if "keep" in request.POST:
            listed = {str(submission.pk): submission for submission, _hits in returned_submissions(study)}
            if request.POST["keep"] not in listed:
                raise Http404("no such returned submission")
            keep_returned_work(submission=listed[request.POST["keep"]])
            messages.success(request, "The ratings stay as they are.")
            return redirect("annotation:reports", study.slug)
        blocked = study.annotators.present().exclude(blocked_at=None)
        rater = get_object_or_404(blocked, code=request.POST.get("unblock", "").replace("\x00", ""))
        unblock_annotator(annotator=rater, by=account_of(request), at=timezone.now())
        messages.success(request, f"{rater.code} may continue.")
        return redirect("annotation:reports", study.slug)
    kind = request.GET.get("kind", "")
    if kind not in ("", RETURNED, *Flag.Kind.values):
        raise Http404(f"no reports of kind {kind}")
    rows: Any = returned_of(study) if kind == RETURNED else flags_of(study, kind)
    page = Paginator(rows, REPORTS_A_PAGE).get_page(request.GET.get("page"))
    context = {
        "study": study,
        "kind": kind,
        "kinds": kind_counts(study),
        "page": page,
        "returned": list(page) if kind == RETURNED else [],
        "flags": [] if kind == RETURNED else with_rows(page),
        "query": f"kind={kind}" if kind else "",
        "raters": reported_raters(study),
        "submissions": returned_submissions(study),
        "may_manage": manages,
    }
    return render(request, "annotation/monitoring/reports.html", context)
