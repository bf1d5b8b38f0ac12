"""Views of the HIT page: show it, take votes, submit it."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django_htmx.http import push_url, reswap

from annotation.allocation.lease import LockedHit, require_open
from annotation.allocation.revision import is_revisable
from annotation.core.errors import (
    AnnotationError,
    AssignmentClosed,
    ConsentNeeded,
    Unacceptable,
    VoteConflict,
    VotesMissing,
)
from annotation.core.http import go_to, is_htmx, page_base, skip_prefetch, status_of
from annotation.hits.displays import mark_shown
from annotation.hits.slots import is_taken
from annotation.members.permissions import account_of
from annotation.models import Assignment, Display, Rating
from annotation.quality.hidden_checks import WARNING, warning_due
from annotation.questions.questions import MAIN
from annotation.rating.access import hit_form_view, own_assignment, own_locked_hit
from annotation.rating.forms import VoteForm, parse_times, votes_in
from annotation.rating.next_hit_views import claim_following, last_hit_link, next_hit
from annotation.rating.presenters import displays_of, first_page, second_page
from annotation.rating.scriptless import take_votes, take_votes_along
from annotation.rating.second_stage import reveal
from annotation.rating.store_vote import ClientReport, display_of
from annotation.rating.vote_context import (
    AskedQuestion,
    CardAnswer,
    RejectedAnswer,
    answer_to,
    answers_on,
    base_context,
    hit_address,
    status,
)
from annotation.rating.votes import close_hit, is_counted, take_vote

FIRST, REVISED = Rating.Stage.FIRST, Rating.Stage.REVISED
CLOSED_STATES = (Assignment.State.SUBMITTED, Assignment.State.RETURNED)


@login_required
@never_cache
@require_safe
@skip_prefetch
def hit(request: HttpRequest, assignment_key: str) -> HttpResponse:
    """Show a HIT: one source text and its pairs, each on the sides drawn for this annotator."""
    assignment = own_assignment(request, assignment_key)
    if assignment.state in CLOSED_STATES and not may_revise(request, assignment):
        if revises(request):
            messages.info(request, _("That HIT can’t be changed any more."))
        return redirect("annotation:rate")
    try:
        return show_hit(request, assignment)
    except ConsentNeeded:
        return redirect("annotation:consent", assignment.annotator.study.key)


@hit_form_view
def vote(request: HttpRequest, assignment_key: str) -> HttpResponse:
    """Take the annotator's choice on one pair of their HIT. It may be changed until the first votes are closed."""
    votes = votes_in(request.POST)
    if votes and not is_htmx(request):
        return _save_all(request, own_assignment(request, assignment_key), votes)
    locked, form = None, VoteForm(votes[0] if votes else request.POST)
    sent = form.vote if form.is_valid() else None  # before the lock, to hold it for less time
    try:
        with transaction.atomic():
            locked = own_locked_hit(request, assignment_key)
            if sent is None:
                raise Unacceptable(form.problem)
            rating = take_vote(locked, **sent, at=timezone.now(), revises=revises(request))
    except (Unacceptable, VoteConflict) as refusal:  # shown at the card; other errors are pages of their own
        if locked is None:
            raise
        return _refusal_at_card(request, locked.assignment, refusal)
    display = rating.display
    if not is_htmx(request):
        return redirect(f"{hit_address(locked.assignment)}#pair-{display.pair.key}")
    return _answer(
        request,
        display,
        rating.question,
        lambda requested: answer_to(requested, display.pair.key, rating, display.version),
    )


def _save_all(request: HttpRequest, assignment: Assignment, votes: Sequence[Mapping[str, str]]) -> HttpResponse:
    """Save every choice of a page without scripts, whichever pair's button was pressed, and go to that pair."""
    key = request.POST.get("pair_key", "")
    now, is_revision = timezone.now(), revises(request)
    rejected, code = take_votes(
        assignment=assignment, stage=FIRST, votes=votes, at=now, required=key, revises=is_revision
    )
    if rejected:
        return show_hit(request, assignment, *rejected, code=code)
    return redirect(f"{hit_address(assignment)}#pair-{display_of(assignment, key).pair.key}")


def _refusal_at_card(request: HttpRequest, assignment: Assignment, refusal: AnnotationError) -> HttpResponse:
    """Show at the pair's card why its choice was refused.

    Raises: AssignmentClosed; ConsentNeeded; UnknownName when the pair isn't on the HIT.
    """
    require_open(assignment, revisable=may_revise(request, assignment))
    display = display_of(assignment, request.POST.get("pair_key", ""))
    count = len(assignment.hit.batch.study.questions)
    question = next((number for number in range(count) if str(number) == request.POST.get("question")), MAIN)
    rejected, code = RejectedAnswer(display.pair.key, str(refusal), question=question), status_of(refusal)
    if not is_htmx(request):
        return show_hit(request, assignment, rejected, code=code)
    assignment.refresh_from_db(fields=["state", "expires_at", "locked_at"])
    display_shown = next(item for item in displays_of(assignment) if item.pk == display.pk)
    return _answer(
        request,
        display_shown,
        question,
        lambda requested: answers_on(display_shown, [requested], rejected, stage=FIRST)[0],
        code,
    )


def _answer(
    request: HttpRequest,
    display: Display,
    question: int,
    answer: Callable[[AskedQuestion], CardAnswer],
    code: int = 200,
) -> HttpResponse:
    """Show a question of a pair with its answer, and how far the HIT is."""
    context = base_context(display.assignment, request.POST.get("page", "")[:32])
    context |= {
        "card": {"key": display.pair.key, "place": display.position + 1},
        "answer": answer(context["questions"][question]),
        "status": status(display.assignment, timezone.now()),
        "scriptless": bool(votes_in(request.POST)),  # the names that the form's fields have
    }
    response = TemplateResponse(request, "annotation/rating/_vote.html", context, status=code)
    # The parts of the answer find their places by their ids.
    return response if code >= 400 else reswap(response, "none settle:0ms")  # type: ignore[arg-type]  # with a modifier


@hit_form_view
def submit(request: HttpRequest, assignment_key: str) -> HttpResponse:
    """Submit the HIT and answer with the next one, or why there is none. When votes are missing, say which.

    Without scripts the answer is a redirect.
    """
    votes, is_revision = votes_in(request.POST), revises(request)
    if votes and (is_revision or not is_htmx(request)):
        unlocked = own_assignment(request, assignment_key)
        stage = REVISED if unlocked.arm else FIRST
        rejected, code = take_votes(
            assignment=unlocked, stage=stage, votes=votes, at=timezone.now(), revises=is_revision
        )
        votes = []
        if rejected:
            return show_hit(request, unlocked, *rejected, code=code)
    if is_revision:  # it was submitted before, and each change is saved
        changed = own_assignment(request, assignment_key)
        if changed.state == Assignment.State.SUBMITTED:
            return _go_on(request, changed, None)
    locked = done = following = None
    times = parse_times(request.POST.getlist("times"))
    try:
        with transaction.atomic():
            locked, now = own_locked_hit(request, assignment_key), timezone.now()
            rejected, code = take_votes_along(locked, votes, now)
            if not rejected:
                done, code = _closed(locked, now, times)
            if done is not None and is_htmx(request):
                following = claim_following(done, now)
    except AssignmentClosed as refusal:
        # The page sends this again when an answer has not reached it.
        if not is_htmx(request) or locked is None or locked.assignment.state != Assignment.State.SUBMITTED:
            raise
        done = locked.assignment
        messages.info(request, str(refusal))
    else:
        if done is None:  # what came with it and was accepted is saved
            return show_hit(request, locked.assignment, *rejected, early=not rejected, code=code)
        _add_thanks(request, done)
    return _go_on(request, done, following)


def _closed(locked: LockedHit, at: datetime, times: Mapping[str, ClientReport]) -> tuple[Assignment | None, int]:
    """Submit a HIT, and return it with the HTTP status, or None where votes are missing on its page."""
    try:
        return close_hit(locked, at=at, times=times), 200
    except VotesMissing as refusal:
        if not refusal.places:
            raise
        return None, 422


def _go_on(request: HttpRequest, done: Assignment, following: Assignment | None) -> HttpResponse:
    """Show what comes after a submitted HIT, or redirect to it without scripts."""
    if done.purpose == Assignment.Purpose.QUALIFICATION:
        return go_to(request, reverse("annotation:feedback", args=[done.key]))
    if not is_htmx(request):
        return redirect("annotation:rate")
    target = following or next_hit(request)
    if isinstance(target, HttpResponseRedirect):
        return go_to(request, target.url)
    if isinstance(target, HttpResponse):
        return push_url(target, reverse("annotation:rate"))
    return push_url(show_hit(request, target, last=done), reverse("annotation:hit", args=[target.key]))


def show_hit(
    request: HttpRequest,
    assignment: Assignment,
    *rejected: RejectedAnswer,
    early: bool = False,
    code: int = 200,
    last: Assignment | None = None,
) -> HttpResponse:
    """Show the HIT page in its present stage, with the rejected answers.

    early : also say what is missing
    last  : the HIT that this request has submitted
    """
    require_open(assignment, revisable=may_revise(request, assignment))
    now = timezone.now()
    if assignment.locked_at is None:
        displays = displays_of(assignment)
        if any(display.shown_at is None for display in displays):
            mark_shown(assignment=assignment, at=now)
        context = first_page(assignment, now, displays, *rejected)
    else:
        opened = opened_display(assignment, rejected[0].key if rejected else request.GET.get("change", ""))
        context = second_page(assignment, now, opened, *rejected[:1])
    if not assignment.submitted_at:
        context["last_hit"] = last_hit_link(account_of(request).pk, now, last)
    context |= {"early": early, "base": page_base(request), "scriptless": not is_htmx(request)}
    return TemplateResponse(request, "annotation/rating/hit.html", context, status=code)


def revises(request: HttpRequest) -> bool:
    """Tell whether a page or a form is about a HIT that was submitted before."""
    return "again" in request.POST or "again" in request.GET


def may_revise(request: HttpRequest, assignment: Assignment) -> bool:
    """Tell whether a request may change a HIT that was submitted before."""
    return revises(request) and is_revisable(assignment, timezone.now())


def opened_display(assignment: Assignment, key: str = "") -> Display | None:
    """Return the display that the second stage opens: that of the pair `key` if it was shown before, or the next one."""
    by_key = (
        {item.pair.key: item for item in displays_of(assignment) if item.second_shown_at is not None} if key else {}
    )
    if key in by_key:
        return by_key[key]
    return reveal(assignment=assignment, at=timezone.now())


def _add_thanks(request: HttpRequest, assignment: Assignment) -> None:
    study = assignment.hit.batch.study
    if warning_due(assignment):
        messages.warning(request, WARNING)
    if is_counted(assignment):
        messages.success(request, _("Submitted. Thank you!"))
        return
    by_other = _(
        "Submitted, but too late: another rater has taken this HIT by now. Your answers are kept, but not counted."
    )
    closed = _("Submitted, but too late: the study takes no more work on it. Your answers are kept, but not counted.")
    sentences = [by_other if is_taken(assignment) else closed]
    if study.pays:
        sentences.append(_("You are paid for it all the same.") if study.pay_late else _("It is not paid."))
    messages.warning(request, " ".join([*sentences, _("Thank you!")]))
