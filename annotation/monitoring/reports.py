"""The page of reports: flags, returned HITs and submissions, and warned or blocked raters. Withdrawn raters are left out."""

from collections.abc import Iterable
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import Count, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone

from annotation.members.permissions import FORM, READERS, account_of, may_manage, study_view
from annotation.models import Annotator, Assignment, Batch, Flag, Study, Submission
from annotation.quality.exclusion import unblock_annotator
from annotation.quality.hidden_checks import CheckScores, scores_of

RETURNED = "returned"
MOST_RATERS_SHOWN = 100


def flags_of(study: Study, kind: str = "") -> QuerySet[Flag]:
    """Return a study's flags, of one kind or all, the latest first."""
    flags = Flag.objects.filter(
        display__assignment__hit__batch__study=study, display__assignment__annotator__withdrawn_at=None
    )
    if kind:
        flags = flags.filter(kind=kind)
    return flags.select_related(
        "display__assignment__annotator", "display__pair__matchup__instance", "display__assignment__hit__batch", "table"
    ).order_by("-flagged_at", "-pk")


def with_rows(flags: Iterable[Flag]) -> list[tuple[Flag, dict[str, str] | None]]:
    """Return each flag with the table row that it is about."""
    return [(flag, None if flag.table is None or flag.row is None else flag.table.rows[flag.row]) for flag in flags]


def returned_of(study: Study) -> QuerySet[Assignment]:
    """Return a study's returned HITs, the latest first."""
    returned = Assignment.objects.present().filter(hit__batch__study=study, state=Assignment.State.RETURNED)
    return returned.select_related("annotator", "hit__batch", "hit__matchup__instance").order_by("-returned_at", "-pk")


def kind_counts(study: Study) -> list[tuple[str, str, int]]:
    """Return kind, label and count for each kind of report. Flags taken back don't count."""
    standing = flags_of(study).filter(taken_back_at=None).order_by()
    counts = dict(standing.values_list("kind").annotate(Count("pk")))
    kinds = [(kind.value, str(kind.label), counts.get(kind.value, 0)) for kind in Flag.Kind]
    total = ("", "All flags", sum(counts.values()))
    return [total, *kinds, (RETURNED, "Returned HITs", returned_of(study).count())]


def counts_of(batch: Batch) -> tuple[int, int]:
    """Count a batch's standing flags and returned HITs."""
    flags = flags_of(batch.study).filter(display__assignment__hit__batch=batch, taken_back_at=None)
    return flags.count(), returned_of(batch.study).filter(hit__batch=batch).count()


def returned_submissions(study: Study) -> list[tuple[Submission, list[Assignment]]]:
    """Return submissions whose participants returned them after the work, each with its HITs, until they are decided on.

    A decision is to keep the work, or to exclude the HITs or their rater.
    """
    submissions = Submission.objects.filter(
        channel__study=study,
        state=Submission.State.RETURNED,
        details__has_key="unpaid",
        participant__annotator__withdrawn_at=None,
        participant__annotator__excluded=False,
    ).exclude(details__has_key="work_kept")
    returned = list(submissions.select_related("channel", "participant__annotator").order_by("-ended_at", "-pk"))
    hits = Assignment.objects.filter(
        pk__in=[pk for submission in returned for pk in submission.details["unpaid"]], excluded=False
    )
    by_key = {str(hit.pk): hit for hit in hits.select_related("hit__batch")}
    work = [
        (submission, [by_key[pk] for pk in submission.details["unpaid"] if pk in by_key]) for submission in returned
    ]
    return [(submission, own) for submission, own in work if own]


@transaction.atomic
def keep_returned_work(*, submission: Submission) -> None:
    """Note that the work of a returned submission stays, so that it is not listed any more."""
    submission = Submission.objects.select_for_update(of=("self",)).get(pk=submission.pk)
    submission.details = {**submission.details, "work_kept": True}
    submission.save(update_fields=["details"])


def reported_raters(study: Study) -> list[tuple[Annotator, CheckScores]]:
    """Return blocked, then warned raters with their check scores."""
    present = study.annotators.present().select_related("study")
    raters = present.filter(blocked_at__isnull=False) | present.filter(warned_at__isnull=False)
    ordered = raters.order_by("blocked_at", "-warned_at", "code")
    first = sorted(ordered[:MOST_RATERS_SHOWN], key=lambda rater: rater.blocked_at is None)
    scores = scores_of([rater.pk for rater in first])
    return [(rater, scores[rater.pk]) for rater in first]


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
        else:
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
