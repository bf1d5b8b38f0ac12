"""The HIT page: showing it, taking votes, submitting it."""

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.access import for_eyes_only, form_of_hit, own_assignment
from annotation.cards import Card, Told, card_of, displays_of, first_page, frame, second_page, status, voted_card
from annotation.errors import AnnotationError, ConsentNeeded, Unacceptable, VoteConflict, VotesMissing
from annotation.forms import VoteForm
from annotation.middleware import status_of
from annotation.models import Assignment, Display
from annotation.services.checks import WARNING, warning_due
from annotation.services.displays import mark_shown
from annotation.services.holding import refuse_over
from annotation.services.recording import display_of
from annotation.services.second_stage import reveal
from annotation.services.votes import close_hit, is_counted, take_vote
from annotation.signed_in import signed_in

OVER = (Assignment.State.SUBMITTED, Assignment.State.RETURNED)


@signed_in
@never_cache
@require_safe
@for_eyes_only
def hit(request: HttpRequest, assignment_key: str) -> HttpResponse:
    """Show a HIT: one source text and its pairs, each on the sides drawn for this annotator."""
    assignment = own_assignment(request, assignment_key, with_source=True)
    if assignment.state in OVER:
        return redirect("annotation:rate")
    try:
        return show_hit(request, assignment)
    except ConsentNeeded:
        return redirect("annotation:consent", assignment.annotator.study.key)


@form_of_hit
def vote(request: HttpRequest, assignment_key: str) -> HttpResponse:
    """Take the annotator's choice on one pair of their HIT; it may be changed until the first votes are closed."""
    assignment, form = None, VoteForm(request.POST)
    is_readable = form.is_valid()  # looked at before the lock, which others wait for
    try:
        with transaction.atomic():
            assignment = own_assignment(request, assignment_key, lock=True)
            if not is_readable:
                raise Unacceptable(form.problem)
            rating = take_vote(assignment=assignment, **form.vote, at=timezone.now())
    except (Unacceptable, VoteConflict) as refusal:  # is told at the card; any other one is a page of its own
        if assignment is None:
            raise
        return _refused(request, assignment, refusal)
    if not asked_by_htmx(request):
        return redirect(f"{reverse('annotation:hit', args=[assignment.key])}#pair-{rating.display.pair.key}")
    return _vote_card(request, rating.display.assignment, voted_card(rating))


def _refused(request: HttpRequest, assignment: Assignment, refusal: AnnotationError) -> HttpResponse:
    """Say at its card why a choice was not taken; unless the whole HIT takes none, or doesn't have the pair."""
    refuse_over(assignment)
    display = display_of(assignment, request.POST.get("pair_key", ""))
    told, code = Told(display.pair.key, str(refusal)), status_of(refusal)
    if not asked_by_htmx(request):
        return show_hit(request, assignment, told, code=code)
    assignment.refresh_from_db(fields=["state", "expires_at", "locked_at"])
    return _vote_card(request, assignment, card_of(_one_of(assignment, display.pk), told), code)


def _one_of(assignment: Assignment, pk: int) -> Display:
    return next(display for display in displays_of(assignment) if display.pk == pk)


def _vote_card(request: HttpRequest, assignment: Assignment, card: Card, code: int = 200) -> HttpResponse:
    context = {
        **frame(assignment, request.POST.get("page", "")[:32]),
        "card": card,
        "status": status(assignment, timezone.now()),
    }
    return TemplateResponse(request, "annotation/_vote.html", context, status=code)


@never_cache
@form_of_hit
def submit(request: HttpRequest, assignment_key: str) -> HttpResponse:
    """Close the HIT and go on to the next; when votes are missing, say which."""
    assignment = None
    try:
        with transaction.atomic():
            assignment = own_assignment(request, assignment_key, lock=True)
            done = close_hit(assignment=assignment, at=timezone.now())
    except VotesMissing as refusal:
        if not refusal.places or assignment is None:
            raise
        return show_hit(request, assignment, missing=refusal.places, code=422)
    _thank(request, done)
    if done.purpose == Assignment.Purpose.QUALIFICATION:
        return redirect("annotation:feedback", done.key)
    return redirect("annotation:rate")


def show_hit(
    request: HttpRequest,
    assignment: Assignment,
    told: Told | None = None,
    *,
    missing: list[int] | None = None,
    code: int = 200,
) -> HttpResponse:
    """Show the HIT page in its present stage, with what was refused."""
    refuse_over(assignment)
    now = timezone.now()
    if assignment.locked_at is None:
        mark_shown(assignment=assignment, at=now)
        context = first_page(assignment, now, told)
    else:
        opened = opened_display(assignment, told.key if told else request.GET.get("change", ""))
        context = second_page(assignment, now, opened, told)
    return TemplateResponse(request, "annotation/hit.html", {**context, "missing": missing}, status=code)


def opened_display(assignment: Assignment, wanted: str = "") -> Display | None:
    """Return the pair whose second vote is asked: a wanted one whose turn has been, or the one whose turn it is."""
    shown = {one.pair.key: one for one in displays_of(assignment) if one.second_shown_at is not None} if wanted else {}
    if wanted in shown:
        return shown[wanted]
    return reveal(assignment=assignment, at=timezone.now())


def asked_by_htmx(request: HttpRequest) -> bool:
    """Tell whether a part of the page is wanted rather than a page."""
    return bool(getattr(request, "htmx", False))


def _thank(request: HttpRequest, assignment: Assignment) -> None:
    study = assignment.hit.batch.study
    if warning_due(assignment):
        messages.warning(request, WARNING)
    if is_counted(assignment):
        messages.success(request, _("Submitted. Thank you!"))
        return
    told = [
        _("Submitted, but too late: another rater has done this HIT by now. Your answers are kept, but not counted.")
    ]
    if study.pay_per_hit is not None:
        told.append(_("You are paid for it all the same.") if study.pay_late else _("It is not paid."))
    messages.warning(request, " ".join([*told, _("Thank you!")]))
