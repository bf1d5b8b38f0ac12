"""The second stage of a HIT: first votes are closed, then each pair is looked at once more beside its table."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from annotation.access import form_of_hit, own_assignment
from annotation.cards import Told, frame, second_stage
from annotation.errors import SecondStageClosed, Unacceptable, VoteConflict
from annotation.forms import SecondVoteForm
from annotation.middleware import status_of
from annotation.models import Assignment
from annotation.services.holding import refuse_over
from annotation.services.recording import display_of
from annotation.services.second_stage import reveal, save_second_vote
from annotation.services.votes import lock_first_votes, places_without_vote
from annotation.views.rating import OVER, asked_by_htmx, opened_display, show_hit


@never_cache
@form_of_hit
def lock(request: HttpRequest, assignment_key: str) -> HttpResponse:
    """Close the first votes and begin the second stage; when votes are missing, say which."""
    assignment = own_assignment(request, assignment_key)
    if assignment.state not in OVER and assignment.arm and (missing := places_without_vote(assignment)):
        return show_hit(request, assignment, missing=missing, code=422)
    lock_first_votes(assignment=assignment, at=timezone.now())
    return redirect("annotation:hit", assignment.key)


@never_cache
@form_of_hit
def second_vote(request: HttpRequest, assignment_key: str) -> HttpResponse:
    """Keep or revise the first choice on one pair, then show the next pair's table."""
    assignment = own_assignment(request, assignment_key)
    refuse_over(assignment)
    display = display_of(assignment, request.POST.get("pair_key", ""))
    if assignment.locked_at is None:  # before anything of a second stage is shown, were it only an error
        raise SecondStageClosed(_("Please rate every pair once and close your first choices before looking again."))
    form = SecondVoteForm(request.POST)
    told, code = None, 200
    try:
        if not form.is_valid():
            raise Unacceptable(form.problem)
        save_second_vote(assignment=assignment, **form.vote, at=timezone.now())
    except (Unacceptable, VoteConflict) as refusal:
        tried = {"choice": request.POST.get("choice", ""), "reason": request.POST.get("reason", "")}
        told, code = Told(display.pair.key, str(refusal), **tried), status_of(refusal)
    if not asked_by_htmx(request):
        return show_hit(request, assignment, told, code=code) if told else _next_page(assignment)
    assignment.refresh_from_db(fields=["state", "expires_at", "locked_at"])  # a vote extends the lease
    opened = opened_display(assignment, told.key if told else "")
    context = {
        **frame(assignment, request.POST.get("page", "")[:32]),
        **second_stage(assignment, timezone.now(), opened, told),
    }
    return TemplateResponse(request, "annotation/_second_stage.html", context, status=code)


def _next_page(assignment: Assignment) -> HttpResponse:
    upcoming = reveal(assignment=assignment, at=timezone.now())
    place = f"pair-{upcoming.pair.key}" if upcoming else "hit-status"
    return redirect(f"{reverse('annotation:hit', args=[assignment.key])}#{place}")
