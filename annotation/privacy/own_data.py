"""A person's own data: as JSON, without systems, arms and hidden checks, and their erasure.

Choices are given by side of the screen, and pairs by place on the page: the key of a pair would reveal a hidden repeat.
Notes of admins may name checks, so they are left out, which `left_out` says.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from axes.models import AccessAttempt
from django.contrib.auth import logout
from django.contrib.auth.models import User
from django.db.models import Q
from django.forms.models import model_to_dict
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils import timezone

from annotation.hits.displays import attach_votes
from annotation.members.permissions import FORM, account_of, account_view
from annotation.models import (
    Annotator,
    Assignment,
    Display,
    Event,
    Invitation,
    Participant,
    Rating,
    VoteChange,
    WebhookEvent,
)
from annotation.models.members import Role
from annotation.privacy.erasing import annotator_records, erase_raters, erasure_preview, is_account_needed
from annotation.questions.labels import translate_default
from annotation.questions.questions import Question
from annotation.rating.progress import status_of_hit

Json = dict[str, Any]
LEFT_OUT = [
    "which system wrote a text, on which side its text was, and what the second stage was to show: raters are not to "
    "know while the study is running",
    "which HITs were hidden checks, how they were answered, and reasons that the study's admins wrote for themselves, "
    "which may tell",
    "the password, which is stored as a hash, and other people's names",
]


def data_of(annotators: Sequence[Annotator], user: User | None) -> Json:
    """Return the data held about a person with these annotators and this account."""
    return {
        "account": None if user is None else _account(user),
        "studies": [_study(annotator) for annotator in annotators],
        "left_out": LEFT_OUT,
    }


def _account(user: User) -> Json:
    names = ("username", "first_name", "last_name", "email", "is_active", "is_staff", "is_superuser")
    attempts = AccessAttempt.objects.filter(username=user.username).order_by("attempt_time")
    return {
        **model_to_dict(user, names),
        "has_password": user.has_usable_password(),
        **_fields(user, joined_at="date_joined", last_signed_in_at="last_login"),
        "roles": [
            {
                **_fields(grant, "role", since="granted_at"),
                # Raters know a study by its question only.
                **(
                    {"study": translate_default(grant.study.question) if grant.study else None}
                    if grant.role == Role.ANNOTATOR
                    else {"study": grant.study and grant.study.slug, "group": grant.group and grant.group.slug}
                ),
            }
            for grant in user.role_grants.select_related("study", "group").order_by("pk")
        ],
        "api_tokens": [
            _fields(row, "name", made_at="created_at", last_used_at="last_used_at")
            for row in user.api_tokens.order_by("pk")
        ],
        "failed_sign_ins": [
            _fields(row, last_at="attempt_time", address="ip_address", browser="user_agent") for row in attempts
        ],
    }


def _study(annotator: Annotator) -> Json:
    events = annotator.events.exclude(kind=Event.Kind.MESSAGE).order_by("pk")
    results = annotator.qualification_results.order_by("attempt")
    mine = annotator.assignments.select_related("annotator__study", "slot").order_by("pk")
    work = list(mine.prefetch_related("displays__flags"))
    displays = [display for assignment in work for display in assignment.displays.all()]
    ratings = Rating.objects.filter(display__in=displays)
    attach_votes(displays, ratings, VoteChange.objects.filter(display__in=displays))
    return {
        "question": translate_default(annotator.study.question),
        "key": annotator.study.key,
        **_fields(annotator, code="code", came_by="kind"),
        **_fields(annotator, "joined_at", "withdrawn_at", "erased_at"),
        "work_ended": annotator.excluded or annotator.blocked_at is not None,
        "consent": [
            _fields(row, "version", "text", "accepted", at="answered_at") for row in annotator.consents.order_by("pk")
        ],
        "qualification": [_fields(row, "attempt", "pairs", "right", "passed") for row in results],
        "hits": [_hit(assignment) for assignment in work],
        "messages": [_fields(row, "text", "sent_at", "read_at") for row in annotator.messages.order_by("pk")],
        "decisions": [_fields(row, "kind", at="happened_at") for row in events],
        "invitations": [
            _fields(row, made_at="created_at", valid_until="expires_at", used_at="used_at")
            for row in Invitation.objects.filter(annotator=annotator)
        ],
        "platform": _platform(annotator),
    }


def _hit(assignment: Assignment) -> Json:
    displays = sorted(assignment.displays.all(), key=lambda display: display.position)
    return {
        "state": status_of_hit(assignment),
        "qualification": assignment.purpose == Assignment.Purpose.QUALIFICATION,
        **_fields(assignment, "claimed_at", first_votes_closed_at="locked_at", submitted_at="submitted_at"),
        "pay": None if assignment.pay_due is None else str(assignment.pay_due),
        **_fields(assignment, "returned_at", "return_reason", "return_comment"),
        "pairs": [
            _pair(position, display, assignment.annotator.study.questions)
            for position, display in enumerate(displays, start=1)
        ],
    }


def _pair(position: int, display: Display, questions: Sequence[Question]) -> Json:
    return {
        "place": position,
        **_fields(display, "shown_at", "second_shown_at"),
        "choices": [
            {**_choice(row, display, questions), **_fields(row, at="rated_at", translated="translated")}
            for _key, row in sorted(display.votes.items())
        ],
        "history": [
            {**_choice(row, display, questions), **_fields(row, "received_at", "chosen_at", "source_opened")}
            for row in display.changes
        ],
        "reports": [
            _fields(row, "kind", "comment", at="flagged_at", taken_back_at="taken_back_at")
            for row in display.flags.all()
        ],
    }


def _choice(vote: Rating | VoteChange, display: Display, questions: Sequence[Question]) -> Json:
    return {
        **({"question": questions[vote.question].key} if len(questions) > 1 else {}),
        "stage": vote.stage,
        "choice": display.screen_choice(vote.answer),
        **_fields(vote, "reason", "active_seconds", "wall_seconds", "late"),
    }


def _platform(annotator: Annotator) -> Json | None:
    participant = Participant.objects.filter(annotator=annotator).select_related("channel").first()
    if participant is None:
        return None
    submissions = list(participant.submissions.order_by("pk"))
    ids = [row.external_id for row in submissions]
    is_about = Q(body__message__participant_id=participant.external_id) | Q(body__message__resource_id__in=ids)
    return {
        "platform": participant.channel.kind,
        **_fields(participant, id="external_id", joined_at="joined_at"),
        "submissions": [
            {
                **_fields(row, id="external_id"),
                **_fields(row, "state", "code", "details", "started_at", "ended_at"),
                "requests": [
                    _fields(action, "kind", what="payload", state="state", at="created_at")
                    for action in row.actions.order_by("pk")
                ],
            }
            for row in submissions
        ],
        "messages": [
            {**_fields(row, "received_at"), "body": row.body.get("message")}
            for row in WebhookEvent.objects.filter(is_about, channel__study=annotator.study).order_by("pk")
        ],
    }


def _fields(row: Any, *names: str, **renamed: str) -> Json:
    """Return fields of a row, some under other names. Times are texts."""
    values = {name: getattr(row, field) for name, field in {**dict(zip(names, names, strict=True)), **renamed}.items()}
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in values.items()}


@account_view()
def own_data(request: HttpRequest) -> HttpResponse:
    """Show the data of the signed-in user, with links to the file and to erasure."""
    user = account_of(request)
    return render(request, "annotation/privacy/own_data.html", {"account": user, "places": annotator_records(user)})


@account_view()
def own_data_file(request: HttpRequest) -> HttpResponse:
    """Send all data of the signed-in user, as JSON."""
    user = account_of(request)
    response = JsonResponse(
        data_of(annotator_records(user), user), json_dumps_params={"indent": 2, "ensure_ascii": False}
    )
    response["Content-Disposition"] = 'attachment; filename="my-data.json"'
    return response


@account_view(FORM)
def erase(request: HttpRequest, study_key: str = "") -> HttpResponse:
    """Explain what erasure deletes and keeps, and erase in one study, or without a key in all."""
    user = account_of(request)
    annotators: Sequence[Annotator] = [item for item in annotator_records(user) if study_key in ("", item.study.key)]
    if not annotators:
        raise Http404("rates in no such study")
    everywhere = not study_key
    if request.method == "POST" and request.POST.get("confirm") == "yes":
        now = timezone.now()
        done = erase_raters(annotators, by=None, at=now, everywhere=everywhere)
        if not any(item.account for item in done):
            return redirect("annotation:own-data")
        logout(request)
        return render(request, "annotation/privacy/erased.html", {"done": [item for item in done if item.due]})
    context = {
        "study": None if everywhere else annotators[0].study,
        "prospects": [erasure_preview(item) for item in annotators],
        "account_stays": is_account_needed(user, leaving=None if everywhere else annotators),
        "unclear": request.method == "POST",
    }
    return render(request, "annotation/privacy/erase.html", context, status=422 if request.method == "POST" else 200)
