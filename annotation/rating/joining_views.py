"""Views for joining and leaving a study: consent, withdrawal, qualification, an annotator's own progress."""

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme

from annotation.annotators import consent as consents
from annotation.annotators.messages import mark_read
from annotation.core.http import is_htmx
from annotation.core.markdown import shown_texts
from annotation.members.accounts import annotator_for
from annotation.members.permissions import FORM, account_of, account_view
from annotation.models import Annotator, Assignment, Study
from annotation.models.members import Role
from annotation.quality import qualification as qualifications
from annotation.questions.labels import side_name, translate_default
from annotation.questions.questions import choice_label
from annotation.rating.access import own_assignment
from annotation.rating.presenters import source_of
from annotation.rating.progress import history_of, history_rows, progress_of

HISTORY_A_PAGE = 25


@account_view(FORM)
def consent(request: HttpRequest, study_key: str) -> HttpResponse:
    """Ask for consent before the first HIT. The answer can be changed here later."""
    study = get_object_or_404(Study.objects.visible_to(request.user, Role.ANNOTATOR), key=study_key)
    annotator = annotator_for(user=account_of(request), study=study)
    if annotator.withdrawn_at:
        return render(request, "annotation/rating/withdraw.html", {"study": study, "annotator": annotator})
    answer = request.POST.get("answer")
    if answer in ("accept", "decline"):
        consents.answer_consent(annotator=annotator, accepted=answer == "accept", at=timezone.now())
        return redirect("annotation:rate")
    unclear = request.method == "POST"
    context = {
        "study": study,
        "latest": consents.latest_consent(annotator),
        "qualifies": qualifications.qualification_status(annotator).required,
        "unclear": unclear,
    }
    return render(request, "annotation/rating/consent.html", context, status=422 if unclear else 200)


@account_view(FORM)
def withdraw(request: HttpRequest, study_key: str) -> HttpResponse:
    """Explain what withdrawing does, and do it. Open to every rater, also after losing the role."""
    annotator = _me(request, study_key)
    if request.POST.get("confirm") == "yes":
        consents.withdraw(annotator=annotator, at=timezone.now())
        return redirect("annotation:withdraw", study_key)
    unclear = request.method == "POST"
    context = {"study": annotator.study, "annotator": annotator, "unclear": unclear}
    return render(request, "annotation/rating/withdraw.html", context, status=422 if unclear else 200)


@account_view(FORM)
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


@account_view()
def progress(request: HttpRequest) -> HttpResponse:
    """Show an annotator what they have done, and the pay due for it."""
    user = account_of(request)
    page = Paginator(history_of(user), HISTORY_A_PAGE).get_page(request.GET.get("page"))
    context = {"studies": progress_of(user), "page": page, "rows": history_rows(list(page))}
    return render(request, "annotation/rating/progress.html", context)


@account_view()
def feedback(request: HttpRequest, assignment_key: str) -> HttpResponse:
    """Show a submitted qualification HIT with the expected answers. Those of other HITs are never shown."""
    assignment = own_assignment(request, assignment_key)
    is_qualification = assignment.purpose == Assignment.Purpose.QUALIFICATION
    if not is_qualification or assignment.state != Assignment.State.SUBMITTED or assignment.annotator.withdrawn_at:
        raise Http404("no feedback on this HIT")
    if not qualifications.may_show_answers(assignment.annotator):
        return redirect("annotation:rate")
    study = assignment.hit.batch.study
    names = {side: side_name(choice_label(side, *study.side_labels)) for side in ("left", "none", "right")}
    ended = assignment.annotator.qualification_results.filter(attempt=assignment.attempt).exists()
    rows = qualifications.feedback(assignment)
    for row in rows:
        row["left"], row["right"] = shown_texts((row["left"], row["right"]), **study.text_options)
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


@account_view(FORM)
def message_read(request: HttpRequest) -> HttpResponse:
    """Mark a message to the signed-in rater as read, and return to the page they were on."""
    if request.method == "POST":
        mark_read(user=account_of(request), key=request.POST.get("key", ""), at=timezone.now())
        if is_htmx(request):
            return render(request, "annotation/rating/_messages.html")
    back = request.POST.get("next", "")
    local = url_has_allowed_host_and_scheme(back, allowed_hosts={request.get_host()}, require_https=request.is_secure())
    return redirect(back if local else "annotation:rate")
