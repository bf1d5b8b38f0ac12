"""Joining a study and leaving it: consent, qualification, one's own progress."""

from dataclasses import replace

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from annotation.access import account_of, own_assignment
from annotation.markdown import render_generation
from annotation.models import Annotator, Assignment, Study
from annotation.models.people import Role
from annotation.progress import history_of, history_rows, progress_of
from annotation.services import consent as consents
from annotation.services import qualification as qualifications
from annotation.services.accounts import annotator_for
from annotation.wording import spoken

HISTORY_A_PAGE = 25


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def consent(request: HttpRequest, study_key: str) -> HttpResponse:
    """Ask before the first HIT; an answer can be changed here later."""
    study = get_object_or_404(Study.objects.seen_by(request.user, Role.ANNOTATOR), key=study_key)
    annotator = annotator_for(user=account_of(request), study=study)
    if annotator.withdrawn_at:
        return render(request, "annotation/withdraw.html", {"study": study, "annotator": annotator})
    latest = consents.latest_consent(annotator)
    context = {"study": study, "latest": latest, "qualifies": qualifications.standing(annotator).required}
    if request.method == "POST":
        answer = request.POST.get("answer")
        if answer not in ("accept", "decline"):
            return render(request, "annotation/consent.html", {**context, "unclear": True}, status=422)
        consents.answer_consent(annotator=annotator, accepted=answer == "accept", at=timezone.now())
        return redirect("annotation:rate")
    return render(request, "annotation/consent.html", context)


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def withdraw(request: HttpRequest, study_key: str) -> HttpResponse:
    """Say what taking consent back does, and do it; whoever rated may, also after losing the role."""
    annotator = _me(request, study_key)
    context = {"study": annotator.study, "annotator": annotator}
    if request.method == "POST":
        if request.POST.get("confirm") != "yes":
            return render(request, "annotation/withdraw.html", {**context, "unclear": True}, status=422)
        consents.withdraw(annotator=annotator, at=timezone.now())
        return redirect("annotation:withdraw", study_key)
    return render(request, "annotation/withdraw.html", context)


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def qualification(request: HttpRequest, study_key: str) -> HttpResponse:
    """Tell how the last attempt went; another is begun here where one is allowed."""
    annotator = _me(request, study_key)
    if not Study.objects.seen_by(request.user, Role.ANNOTATOR).filter(pk=annotator.study_id).exists():
        raise Http404("not an annotator of this study any more")
    if request.method == "POST":
        qualifications.begin_attempt(annotator=annotator, at=timezone.now())
        return redirect("annotation:rate")
    standing = qualifications.standing(annotator)
    under_way = standing.attempts_left > 0 and not standing.awaits_retry
    if standing.last is None or (under_way and not standing.passed):
        return redirect("annotation:rate")
    context = {
        "study": annotator.study,
        "standing": standing,
        "needed": qualifications.pairs_needed(standing.last.needed_share, standing.last.pairs),
    }
    return render(request, "annotation/qualification.html", context)


@login_required
@never_cache
@require_safe
def progress(request: HttpRequest) -> HttpResponse:
    """Show an annotator what they have done, and what is due to them for it."""
    user = account_of(request)
    page = Paginator(history_of(user), HISTORY_A_PAGE).get_page(request.GET.get("page"))
    rows = history_rows(list(page))
    context = {"studies": progress_of(user), "page": page, "rows": rows}
    return render(request, "annotation/progress.html", context)


@login_required
@never_cache
@require_safe
def feedback(request: HttpRequest, assignment_key: str) -> HttpResponse:
    """Show a rated qualification HIT with what was expected; no other HIT's answers are ever shown."""
    assignment = own_assignment(request, assignment_key)
    asked = assignment.purpose == Assignment.Purpose.QUALIFICATION
    if not asked or assignment.state != Assignment.State.SUBMITTED or assignment.annotator.withdrawn_at:
        raise Http404("no feedback on this HIT")
    if not qualifications.is_latest(assignment):
        return redirect("annotation:rate")
    study = assignment.hit.batch.study
    rows, labels = qualifications.feedback(assignment), study.offered_choices
    ended = assignment.annotator.qualification_results.filter(attempt=assignment.attempt).exists()
    if study.render_markdown:
        rows = [replace(row, left=render_generation(row.left), right=render_generation(row.right)) for row in rows]
    context = {
        "study": study,
        "source_label": spoken(study.source_label),
        "source": assignment.hit.matchup.instance.source,
        "label_left": labels["left"],
        "label_right": labels["right"],
        "rows": [(row, labels.get(row.chosen or ""), labels.get(row.expected or "")) for row in rows],
        "right": sum(row.is_right for row in rows),
        "go_on": reverse("annotation:qualification", args=[study.key]) if ended else reverse("annotation:rate"),
    }
    return render(request, "annotation/feedback.html", context)


def _me(request: HttpRequest, study_key: str) -> Annotator:
    mine = Annotator.objects.filter(user=account_of(request)).select_related("study")
    return get_object_or_404(mine, study__key=study_key)
