"""Views of one annotator's work, with the decisions of study admins, and of payments."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone

from annotation.annotators.messages import send_message
from annotation.annotators.payments import COLUMNS, payments_of
from annotation.core.counting import to_cents
from annotation.core.errors import AnnotationError, Unacceptable
from annotation.core.files.spreadsheet import csv_lines
from annotation.core.http import as_download, status_of
from annotation.members.permissions import FORM, MANAGERS, READERS, account_of, may_manage, study_view
from annotation.models import Annotator, Assignment, Event, Rating, Study
from annotation.models.rating import COUNTS
from annotation.monitoring.batch_annotators import CHOSE_LEFT
from annotation.monitoring.forms import EraseForm, LeaveOutForm, MessageForm, NothingForm, OptionalReasonForm
from annotation.privacy.erasing import erase_rater
from annotation.quality import exclusion
from annotation.quality.hidden_checks import scores_of
from annotation.questions.questions import MAIN

MOST_EVENTS = 50


def assignments_of(annotator: Annotator) -> QuerySet[Assignment]:
    """Return an annotator's assignments, the latest first, with counts of first votes and active seconds."""
    votes = Rating.objects.for_question(MAIN).filter(display__assignment=OuterRef("pk")).order_by()
    by_assignment = votes.values("display__assignment")

    def first_votes(condition: Q) -> Coalesce:
        n = Count("pk", filter=Q(stage=Rating.Stage.FIRST) & condition)
        return Coalesce(Subquery(by_assignment.annotate(n=n).values("n")), 0)

    return (
        annotator.assignments.select_related("hit__batch", "hit__matchup__instance", "slot")
        .defer("hit__matchup__instance__source", "hit__matchup__instance__metadata", "hit__matchup__instance__gold")
        .annotate(
            for_a=first_votes(Q(verdict=-1)),
            ties=first_votes(Q(verdict=0)),
            for_b=first_votes(Q(verdict=1)),
            on_left=first_votes(CHOSE_LEFT),
            seconds=Subquery(by_assignment.annotate(n=Sum("active_seconds")).values("n")),
        )
        .order_by("-pk")
    )


def summary_of(annotator: Annotator) -> dict[str, Any]:
    """Return an annotator's sums over a study, the decisions about them, and the messages to them, in seven queries.

    translated : choices made on a page that the browser had translated
    """
    own = Q(state=Assignment.State.SUBMITTED) & ~Q(purpose=Assignment.Purpose.QUALIFICATION)
    sums = annotator.assignments.order_by().aggregate(
        submitted=Count("pk", filter=own), counted=Count("pk", filter=own & COUNTS), pay=Sum("pay_due")
    )
    events = annotator.events.exclude(kind=Event.Kind.MESSAGE).select_related("by").order_by("-happened_at", "-pk")
    translated = Rating.objects.for_question(MAIN).filter(
        display__assignment__annotator=annotator, stage=Rating.Stage.FIRST, translated=True
    )
    return {
        **sums,
        "pay": to_cents(sums["pay"]),
        "checks": scores_of([annotator.pk])[annotator.pk],
        "translated": translated.count(),
        "events": list(events[:MOST_EVENTS]),
        "messages": list(annotator.messages.order_by("-sent_at", "-pk")[:MOST_EVENTS]),
    }


HITS_A_PAGE = 50
DECISIONS: dict[str, tuple[type[forms.Form], Callable[..., Any]]] = {
    "exclude": (LeaveOutForm, exclusion.exclude_annotator),
    "include": (OptionalReasonForm, exclusion.include_annotator),
    "message": (MessageForm, send_message),
    "unblock": (NothingForm, exclusion.unblock_annotator),
    "erase": (EraseForm, erase_rater),
    "reject": (LeaveOutForm, exclusion.reject_assignment),
    "accept": (OptionalReasonForm, exclusion.accept_assignment),
    "release": (OptionalReasonForm, exclusion.release_claim),
}
OF_ASSIGNMENT = ("reject", "accept", "release")  # the others are about the rater


@study_view(*READERS, methods=FORM)
def rater(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """Show one annotator's work. Study admins decide about it and send messages."""
    annotator = get_object_or_404(study.annotators.present().select_related("study", "user"), pk=pk)
    if request.method != "POST":
        return _page(request, annotator)
    if not may_manage(request.user, study):
        raise PermissionDenied
    action = request.POST.get("action", "")
    if action not in DECISIONS:
        raise Unacceptable("There is no such decision about a rater.")
    form_class, decide = DECISIONS[action]
    form = form_class(request.POST, prefix=action)
    if form.is_valid():
        arguments = {**form.cleaned_data, "by": account_of(request), "at": timezone.now()}
        arguments.pop("sure", None)
        try:
            if action in OF_ASSIGNMENT:
                key = _key(request.POST.get("assignment", ""))
                result = decide(assignment=get_object_or_404(annotator.assignments, key=key), **arguments)
            else:
                result = decide(annotator=annotator, **arguments)
        except AnnotationError as error:
            form.add_error(None, str(error))
            return _page(request, annotator, {action: form}, status=status_of(error))
        success = {
            "message": "Sent. They see it on their next page.",
            "erase": f"The data of rater {annotator.code} have been deleted.",
        }
        messages.success(request, success.get(action) or result.message)
        if study.annotators.present().filter(pk=pk).exists():
            return redirect("annotation:rater", study.slug, pk)
        return redirect("annotation:study", study.slug)  # withdrawn annotators have no page
    return _page(request, annotator, {action: form}, status=422)


def _page(
    request: HttpRequest, annotator: Annotator, bound: dict[str, forms.Form] | None = None, status: int = 200
) -> HttpResponse:
    """Render the page. `bound` is the invalid form."""
    page = Paginator(assignments_of(annotator), HITS_A_PAGE).get_page(request.GET.get("page"))
    chosen_key = _key(request.POST.get("assignment", "") or request.GET.get("assignment", ""))
    assignment = (
        annotator.assignments.select_related("hit__batch", "hit__matchup__instance").filter(key=chosen_key).first()
    )
    kinds = {name: form(prefix=name) for name, (form, _decide) in DECISIONS.items()}
    context = {
        "study": annotator.study,
        "rater": annotator,
        "summary": summary_of(annotator),
        "page": page,
        "claim": next((claim for claim in annotator.assignments.claimed().select_related("hit__batch")), None),
        "chosen": assignment,
        "forms": {**kinds, **(bound or {})},
        "refused": next(iter(bound or {}), ""),
        "problems": [problem for form in (bound or {}).values() for problem in form.non_field_errors()],
        "may_manage": may_manage(request.user, annotator.study),
    }
    return render(request, "annotation/monitoring/annotator.html", context, status=status)


def _key(text: str) -> str:
    return text.replace("\x00", "")[:32]


@study_view(*MANAGERS)
def payments(request: HttpRequest, study: Study) -> HttpResponse:
    """Send the pay due to each rater as CSV. `?platforms=1` includes those paid by a platform."""
    rows = payments_of(study, platforms=request.GET.get("platforms") == "1")
    response = HttpResponse("".join(csv_lines(rows, COLUMNS)), content_type="text/csv; charset=utf-8")
    return as_download(response, f"{study.slug}-payments.csv")
