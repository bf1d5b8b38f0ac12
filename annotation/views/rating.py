"""The annotator's pages: to the next HIT, consent, the HIT itself."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import account_of, holds_any
from annotation.errors import ClaimRefused
from annotation.forms import VoteForm
from annotation.models import Annotator, Assignment, Display, Rating, Study
from annotation.models.people import Role
from annotation.services.accounts import annotator_for
from annotation.services.claims import claim_hit, claimable_slots, open_claim, release_expired, why_nothing
from annotation.services.consent import answer_consent, has_consented, latest_consent
from annotation.services.votes import places_without_vote, save_vote, screen_choice, submit_assignment


@dataclass(frozen=True)
class Card:
    """One pair as its rater sees it. It holds texts and opaque ids: nothing that tells which system wrote what."""

    key: str
    place: int
    left: str
    right: str
    choice: str | None
    saved_at: datetime | None
    problem: str


@login_required
@never_cache
@require_safe
def rate(request: HttpRequest) -> HttpResponse:
    """Lead an annotator to their current HIT, to a question that comes first, or to the next HIT."""
    if not holds_any(request.user, Role.ANNOTATOR):
        return render(request, "annotation/no_role.html", {"wanted": "annotator"}, status=403)
    user, now = account_of(request), timezone.now()
    at_work = set(Assignment.objects.held_by(user).claimed().values_list("annotator__study_id", flat=True))
    studies = Study.objects.seen_by(user, Role.ANNOTATOR).with_work_for(user)
    declined: list[Annotator] = []
    reason = "Nothing is open for rating at the moment. Please look again later."
    for study in sorted(studies, key=lambda study: study.pk not in at_work):
        annotator = annotator_for(user=user, study=study)
        release_expired(study=study, at=now)
        if annotator.excluded or not (open_claim(annotator) or claimable_slots(annotator).exists()):
            reason = why_nothing(annotator)
            continue
        if not has_consented(annotator):
            if latest_consent(annotator) is None:
                return redirect("annotation:consent", annotator.study.key)
            declined.append(annotator)
            continue
        try:
            return redirect("annotation:hit", claim_hit(annotator=annotator, at=now).key)
        except ClaimRefused as refusal:  # somebody was quicker: there may be another study
            reason = str(refusal)
    if declined:
        reason = "You declined the consent question, so there is nothing for you to rate."
    return render(request, "annotation/nothing_to_rate.html", {"reason": reason, "declined": declined})


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def consent(request: HttpRequest, study_key: str) -> HttpResponse:
    """Ask before the first HIT; an answer can be changed here later."""
    study = get_object_or_404(Study.objects.seen_by(request.user, Role.ANNOTATOR), key=study_key)
    annotator = annotator_for(user=account_of(request), study=study)
    if request.method == "POST":
        answer = request.POST.get("answer")
        if answer not in ("accept", "decline"):
            return render(request, "annotation/consent.html", {"study": study, "unclear": True}, status=422)
        answer_consent(annotator=annotator, accepted=answer == "accept", at=timezone.now())
        return redirect("annotation:rate")
    return render(request, "annotation/consent.html", {"study": study, "latest": latest_consent(annotator)})


@login_required
@never_cache
@require_safe
def hit(request: HttpRequest, assignment_key: str) -> HttpResponse:
    """Show a HIT: one source text and its pairs, each on the sides drawn for this annotator."""
    assignment = _own(request, assignment_key)
    if assignment.state == Assignment.State.SUBMITTED:
        return redirect("annotation:rate")
    if not has_consented(assignment.annotator):
        return redirect("annotation:consent", assignment.annotator.study.key)
    return TemplateResponse(request, "annotation/hit.html", _page(assignment))


@login_required
@require_POST
def vote(request: HttpRequest, assignment_key: str) -> HttpResponse:
    """Take the annotator's choice on one pair of their HIT; it may be changed until the HIT is submitted."""
    assignment = _own(request, assignment_key)
    form = VoteForm(request.POST, choices=assignment.hit.batch.study.offered_choices)
    pair_key = request.POST.get("pair_key", "").replace("\x00", "")  # which PostgreSQL would not even look for
    display = _displays(assignment).filter(pair__key=pair_key[:64]).first()
    if display is None:
        raise Http404("no such pair on this HIT")
    by_htmx = bool(getattr(request, "htmx", False))
    if not form.is_valid():
        problem = "Please choose one of the answers."
        if not by_htmx:
            context = _page(assignment, {display.pair.key: problem})
            return TemplateResponse(request, "annotation/hit.html", context, status=422)
        context = {**_frame(assignment), "card": _card(display, problem)}
        return TemplateResponse(request, "annotation/hit.html#pair", context, status=422)
    save_vote(assignment=assignment, **form.cleaned_data, at=timezone.now())
    if not by_htmx:
        return redirect(f"{reverse('annotation:hit', args=[assignment.key])}#pair-{display.pair.key}")
    card = _card(_displays(assignment).get(pk=display.pk))
    return TemplateResponse(request, "annotation/hit.html#pair", {**_frame(assignment), "card": card})


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def submit(request: HttpRequest, assignment_key: str) -> HttpResponse:
    """Close the HIT and go on to the next; when votes are missing, say which."""
    assignment = _own(request, assignment_key)
    if request.method != "POST":  # somebody opens the address of an early submit again
        return redirect("annotation:hit", assignment.key)
    if assignment.state != Assignment.State.SUBMITTED and (missing := places_without_vote(assignment)):
        return TemplateResponse(request, "annotation/hit.html", {**_page(assignment), "missing": missing}, status=422)
    submit_assignment(assignment=assignment, at=timezone.now())
    messages.success(request, "Submitted. Thank you!")
    return redirect("annotation:rate")


def _own(request: HttpRequest, assignment_key: str) -> Assignment:
    mine = Study.objects.seen_by(request.user, Role.ANNOTATOR)  # a role that was taken away ends the work
    held = Assignment.objects.held_by(request.user).filter(annotator__study__in=mine)
    held = held.select_related("annotator__study", "hit__batch__study")
    return get_object_or_404(held, key=assignment_key)


def _displays(assignment: Assignment) -> QuerySet[Display]:
    return assignment.displays.select_related("pair__generation_a", "pair__generation_b").prefetch_related("ratings")


def _frame(assignment: Assignment) -> dict[str, object]:
    study = assignment.hit.batch.study
    return {"assignment": assignment, "study": study, "choices": study.offered_choices.items()}


def _page(assignment: Assignment, problems: Mapping[str, str] | None = None) -> dict[str, object]:
    told = problems or {}
    cards = [_card(display, told.get(display.pair.key, "")) for display in _displays(assignment).order_by("position")]
    done = assignment.annotator.assignments.filter(state=Assignment.State.SUBMITTED).count()
    return {
        **_frame(assignment),
        "source": assignment.hit.matchup.instance.source,
        "cards": cards,
        "rated": sum(card.choice is not None for card in cards),
        "hit_number": done + 1,
    }


def _card(display: Display, problem: str = "") -> Card:
    texts = (display.pair.generation_a.text, display.pair.generation_b.text)
    left, right = texts if display.a_is_left else texts[::-1]
    rating = next((one for one in display.ratings.all() if one.stage == Rating.Stage.FIRST), None)
    return Card(
        key=display.pair.key,
        place=display.position + 1,
        left=left,
        right=right,
        choice=screen_choice(rating) if rating else None,
        saved_at=rating.rated_at if rating else None,
        problem=problem,
    )
