"""Views for joining and leaving a study: consent, withdrawal, qualification, an annotator's own progress."""

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from annotation.annotators import consent as consents
from annotation.annotators.messages import mark_read
from annotation.core.http import is_htmx
from annotation.core.markdown import shown_texts
from annotation.members.accounts import annotator_for
from annotation.members.permissions import account_of
from annotation.models import Annotator, Assignment, Study
from annotation.models.members import Role
from annotation.quality import qualification as qualifications
from annotation.questions.labels import side_name, translate_default
from annotation.questions.questions import choice_label
from annotation.rating.access import own_assignment
from annotation.rating.presenters import source_of
from annotation.rating.progress import history_of, history_rows, progress_of

HISTORY_A_PAGE = 25


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def consent(request: HttpRequest, study_key: str) -> HttpResponse:
    """Ask for consent before the first HIT. The answer can be changed here later."""
    study = get_object_or_404(Study.objects.visible_to(request.user, Role.ANNOTATOR), key=study_key)
    annotator = annotator_for(user=account_of(request), study=study)
    if annotator.withdrawn_at:
        return render(request, "annotation/rating/withdraw.html", {"study": study, "annotator": annotator})
    latest = consents.latest_consent(annotator)
    context = {"study": study, "latest": latest, "qualifies": qualifications.qualification_status(annotator).required}
    if request.method == "POST":
        answer = request.POST.get("answer")
        if answer not in ("accept", "decline"):
            return render(request, "annotation/rating/consent.html", {**context, "unclear": True}, status=422)
        consents.answer_consent(annotator=annotator, accepted=answer == "accept", at=timezone.now())
        return redirect("annotation:rate")
    return render(request, "annotation/rating/consent.html", context)


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def withdraw(request: HttpRequest, study_key: str) -> HttpResponse:
    """Explain what withdrawing does, and do it. Open to every rater, also after losing the role."""
    annotator = _me(request, study_key)
    context = {"study": annotator.study, "annotator": annotator}
    if request.method == "POST":
        if request.POST.get("confirm") != "yes":
            return render(request, "annotation/rating/withdraw.html", {**context, "unclear": True}, status=422)
        consents.withdraw(annotator=annotator, at=timezone.now())
        return redirect("annotation:withdraw", study_key)
    return render(request, "annotation/rating/withdraw.html", context)


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def qualification(request: HttpRequest, study_key: str) -> HttpResponse:
    """Show the result of the last attempt. POST begins another where one is allowed."""
    annotator = _me(request, study_key)
    if not Study.objects.visible_to(request.user, Role.ANNOTATOR).filter(pk=annotator.study_id).exists():
        raise Http404("not an annotator of this study any more")
    if request.method == "POST":
        qualifications.begin_attempt(annotator=annotator, at=timezone.now())
        return redirect("annotation:rate")
    standing = qualifications.qualification_status(annotator)
    under_way = standing.attempts_left > 0 and not standing.awaits_retry
    if standing.last is None or (under_way and not standing.passed):
        return redirect("annotation:rate")
    context = {
        "study": annotator.study,
        "standing": standing,
        "needed": qualifications.pairs_needed(standing.last.needed_share, standing.last.pairs),
        "answered": qualifications.answered(annotator) if qualifications.may_show_answers(annotator) else (),
    }
    return render(request, "annotation/rating/qualification.html", context)


@login_required
@never_cache
@require_safe
def progress(request: HttpRequest) -> HttpResponse:
    """Show an annotator what they have done, and the pay due for it."""
    user = account_of(request)
    page = Paginator(history_of(user), HISTORY_A_PAGE).get_page(request.GET.get("page"))
    rows = history_rows(list(page))
    context = {"studies": progress_of(user), "page": page, "rows": rows}
    return render(request, "annotation/rating/progress.html", context)


@login_required
@never_cache
@require_safe
def feedback(request: HttpRequest, assignment_key: str) -> HttpResponse:
    """Show a submitted qualification HIT with the expected answers. Those of other HITs are never shown."""
    assignment = own_assignment(request, assignment_key)
    is_qualification = assignment.purpose == Assignment.Purpose.QUALIFICATION
    if not is_qualification or assignment.state != Assignment.State.SUBMITTED or assignment.annotator.withdrawn_at:
        raise Http404("no feedback on this HIT")
    if not qualifications.may_show_answers(assignment.annotator):
        return redirect("annotation:rate")
    study = assignment.hit.batch.study
    rows = qualifications.feedback(assignment)
    names = {side: side_name(choice_label(side, *study.side_labels)) for side in ("left", "none", "right")}
    ended = assignment.annotator.qualification_results.filter(attempt=assignment.attempt).exists()
    options = study.text_options
    pairs = (shown_texts((row["left"], row["right"]), **options) for row in rows)
    rows = [{**row, "left": left, "right": right} for row, (left, right) in zip(rows, pairs, strict=True)]
    context = {
        "study": study,
        "source_label": translate_default(study.source_label),
        "source": source_of(assignment.hit),
        "side_names": names,
        "rows": [(row, names.get(row["chosen"] or ""), names.get(row["expected"] or "")) for row in rows],
        "right": sum(row["is_right"] for row in rows),
        "go_on": reverse("annotation:qualification", args=[study.key]) if ended else reverse("annotation:rate"),
    }
    return render(request, "annotation/rating/feedback.html", context)


def _me(request: HttpRequest, study_key: str) -> Annotator:
    mine = Annotator.objects.filter(user=account_of(request)).select_related("study")
    return get_object_or_404(mine, study__key=study_key)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def message_read(request: HttpRequest) -> HttpResponse:
    """Mark a message to the signed-in rater as read, and return to the page they were on."""
    if request.method == "POST":
        mark_read(user=account_of(request), key=request.POST.get("key", ""), at=timezone.now())
        if is_htmx(request):
            return render(request, "annotation/rating/_messages.html")
    back = request.POST.get("next", "")
    local = url_has_allowed_host_and_scheme(back, allowed_hosts={request.get_host()}, require_https=request.is_secure())
    return redirect(back if local else "annotation:rate")
