"""Views of a HIT's second stage: lock the first votes, then take a second vote on each pair beside its table."""

from collections.abc import Mapping

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache

from annotation.allocation.lease import require_open
from annotation.core.errors import Unacceptable, VoteConflict
from annotation.core.http import is_htmx, status_of
from annotation.models import Assignment, Rating
from annotation.rating.access import hit_form_view, own_assignment
from annotation.rating.forms import SecondVoteForm, parse_times, votes_in
from annotation.rating.hit_views import CLOSED_STATES, may_revise, opened_display, revises, show_hit
from annotation.rating.presenters import second_stage
from annotation.rating.scriptless import rejected_answer, take_votes
from annotation.rating.second_stage import require_second_stage, reveal, save_second_vote
from annotation.rating.store_vote import display_of
from annotation.rating.vote_context import base_context, hit_address
from annotation.rating.votes import lock_first_votes, places_without_vote


@never_cache
@hit_form_view
def lock(request: HttpRequest, assignment_key: str) -> HttpResponse:
    """Lock the first votes and begin the second stage. When votes are missing, say which."""
    assignment = own_assignment(request, assignment_key)
    if assignment.locked_at is None and (votes := votes_in(request.POST)):
        rejected, code = take_votes(assignment=assignment, stage=Rating.Stage.FIRST, votes=votes, at=timezone.now())
        if rejected:
            return show_hit(request, assignment, *rejected, code=code)
    if assignment.state not in CLOSED_STATES and assignment.arm and places_without_vote(assignment):
        return show_hit(request, assignment, early=True, code=422)
    times = parse_times(request.POST.getlist("times"))
    locked = lock_first_votes(assignment=assignment, at=timezone.now(), times=times)
    return show_hit(request, locked) if is_htmx(request) else redirect("annotation:hit", locked.key)


@never_cache
@hit_form_view
def second_vote(request: HttpRequest, assignment_key: str) -> HttpResponse:
    """Keep or revise the first choice on one pair, then show the next pair's table."""
    assignment = own_assignment(request, assignment_key)
    require_open(assignment, revisable=may_revise(request, assignment))
    data: Mapping[str, str] = next(iter(votes_in(request.POST)), request.POST)
    display = display_of(assignment, data.get("pair_key", ""))
    require_second_stage(assignment)  # before a form error could show anything of it
    form = SecondVoteForm(data)
    rejected, code = [], 200
    try:
        if not form.is_valid():
            raise Unacceptable(form.problem)
        save_second_vote(assignment=assignment, **form.vote, at=timezone.now(), revises=revises(request))
    except (Unacceptable, VoteConflict) as refusal:
        rejected, code = [rejected_answer(data, refusal)], status_of(refusal)
    if not is_htmx(request):
        return show_hit(request, assignment, *rejected, code=code) if rejected else _next_page(assignment)
    assignment.refresh_from_db(fields=["state", "expires_at", "locked_at"])  # a vote extends the lease
    opened = opened_display(assignment, display.pair.key if rejected else "")
    context = {
        **base_context(assignment, request.POST.get("page", "")[:32]),
        **second_stage(assignment, timezone.now(), opened, *rejected),
    }
    return TemplateResponse(request, "annotation/rating/_second_stage.html", context, status=code)


def _next_page(assignment: Assignment) -> HttpResponse:
    upcoming = reveal(assignment=assignment, at=timezone.now())
    anchor = f"pair-{upcoming.pair.key}" if upcoming else "hit-status"
    return redirect(f"{hit_address(assignment)}#{anchor}")
