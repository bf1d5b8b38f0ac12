"""Erase a rater's personal data, and, if they withdraw, their ratings.

docs/privacy.md lists what each table loses, and a test compares the two. A rater stays under a code,
with the HITs that pay is due for and their answers to the consent text.
"""

import json
import os
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from django.db.models import ProtectedError, Q, Sum

from annotation.annotators.consent import withdraw
from annotation.annotators.participants import ERASED, pseudonym
from annotation.annotators.payments import PAID_BY_PLATFORM
from annotation.core.counting import to_cents
from annotation.core.errors import AnnotationError, Unacceptable, UnknownName
from annotation.core.reasons import NO_REASON
from annotation.core.study_apps import study_apps
from annotation.members.audit import note
from annotation.members.second_factor import remove_second_factor
from annotation.models import (
    Annotator,
    Assignment,
    Channel,
    Display,
    Event,
    Invitation,
    Participant,
    PlatformAction,
    Study,
    Submission,
    Upload,
    WebhookEvent,
)
from annotation.models.members import Role
from annotation.studies.log import log

FROM_FILES = (Annotator.Kind.IMPORTED, Annotator.Kind.SCRIPTED)  # their codes come from the file


@dataclass(frozen=True)
class Erased:
    """The result of erasing one rater of one study.

    changed : False when everything had been deleted before
    ratings : number of deleted votes; None where they stay under the rater's code
    due     : pay that is still shown under the code
    account : whether the account was deleted too; None where there was none
    """

    study: str
    rater: str
    changed: bool
    ratings: int | None
    due: Decimal | None
    currency: str
    account: bool | None


@transaction.atomic
def erase_rater(
    *, annotator: Annotator, by: User | None, at: datetime, keep_ratings: bool = False, logged: bool = True
) -> Erased:
    """Delete a rater's data in one study, and their account unless it is used for something else.

    keep_ratings : keep the ratings under the rater's code, unless the rater has withdrawn. Otherwise the rater is
                   withdrawn for good, and the ratings are deleted.
    logged       : add an entry to the study's log
    """
    [erased] = erase_raters([annotator], by=by, at=at, keep_ratings=keep_ratings, logged=logged)
    return erased


@transaction.atomic
def erase_noted(lines: Iterable[str], *, at: datetime) -> int:
    """Repeat the erasures of a log after an older backup was restored, and return the number of raters erased again.

    Raters who are erased already, and those whom the database does not have, are skipped.
    """
    count = 0
    for line in lines:
        erasure = json.loads(line)
        raters = Annotator.objects.select_related("study", "user").filter(pk=erasure["rater"])
        annotator = raters.filter(joined_at=datetime.fromisoformat(erasure["joined_at"])).first()
        if annotator is not None:
            options = {name: erasure[name] for name in ("keep_ratings", "everywhere")}
            [erased] = erase_raters([annotator], by=None, at=at, noted=True, logged=False, **options)
            count += erased.changed
    return count


def note_erasure(annotator: Annotator, *, at: datetime, keep_ratings: bool, everywhere: bool) -> None:
    """Append an erasure to the log outside the database, from which it is repeated after an older backup is restored.

    It is written before the erasure is committed, so that a crash loses none. A line names a rater by primary key and
    time of joining, so it means nothing without the database.
    """
    line = {
        "at": at.isoformat(),
        "rater": annotator.pk,
        "joined_at": annotator.joined_at.isoformat(),
        "keep_ratings": keep_ratings,
        "everywhere": everywhere,
    }
    descriptor = os.open(settings.ERASURE_LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(descriptor, json.dumps(line).encode() + b"\n")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@transaction.atomic
def erase_raters(
    annotators: Iterable[Annotator],
    *,
    by: User | None,
    at: datetime,
    keep_ratings: bool = False,
    everywhere: bool = False,
    logged: bool = True,
    noted: bool = False,
) -> list[Erased]:
    """Erase one person's annotators of several studies.

    keep_ratings, logged : as `erase_rater` has them
    everywhere           : revoke their annotator roles in other studies too
    noted                : the erasure is in the log outside the database already
    """
    done = [_erase_in_study(annotator, at, keep_ratings) for annotator in annotators]
    for annotator, changed, _ratings in done:
        if changed and not noted:
            note_erasure(annotator, at=at, keep_ratings=keep_ratings, everywhere=everywhere)
        if changed and logged:
            log(study=annotator.study, kind=Event.Kind.ERASED, by=by, at=at, changes={"raters": 1})
    gone = {}
    for user in {rater.user for rater, *_ in done if rater.user}:
        erased = list(user.annotators.exclude(erased_at=None))
        grants = user.role_grants.filter(role=Role.ANNOTATOR)
        (grants if everywhere else grants.filter(study__in=[annotator.study_id for annotator in erased])).delete()
        # One that is kept stays linked to its annotator, so that its owner does not become a new rater.
        gone[user.pk] = not is_account_needed(user, leaving=None if everywhere else erased)
        if gone[user.pk]:
            _delete_account(user)
    return [
        Erased(
            study=annotator.study.slug,
            rater=annotator.code,
            changed=changed,
            ratings=ratings,
            due=due_to(annotator),
            currency=annotator.study.currency,
            account=gone.get(annotator.user_id) if annotator.user_id else None,
        )
        for annotator, changed, ratings in done
    ]


def _erase_in_study(annotator: Annotator, at: datetime, keep_ratings: bool) -> tuple[Annotator, bool, int | None]:
    """Delete all but the account. Return the rater, whether anything changed, and the number of deleted votes."""
    # The channel's lock keeps webhooks and arrivals from storing again what is deleted here.
    list(Channel.objects.select_for_update(of=("self",)).filter(participants__annotator=annotator))
    annotator = Annotator.objects.select_for_update(of=("self",)).select_related("study", "user").get(pk=annotator.pk)
    keep_ratings = keep_ratings and annotator.withdrawn_at is None
    if annotator.erased_at is not None and (keep_ratings or annotator.withdrawn_at is not None):
        return annotator, False, None
    _erase_platform(annotator)
    annotator.messages.all().delete()
    annotator.events.filter(kind=Event.Kind.MESSAGE).delete()
    votes = None
    if not keep_ratings:
        annotator.withdrawn_at = withdraw(annotator=annotator, at=at).withdrawn_at
        # Votes go, and notes about them. Their HITs stay as a record of the pay due.
        _rows, by_model = Display.objects.filter(
            assignment__annotator=annotator
        ).delete()  # and votes, history and flags
        votes = by_model.get("annotation.Rating", 0)
        annotator.assignments.update(
            **dict.fromkeys(("claimed_at", "expires_at", "locked_at", "returned_at", "work_seconds")),
            **dict.fromkeys(("return_reason", "return_comment", "exclusion_reason"), ""),
        )
        annotator.qualification_results.all().delete()
        annotator.events.update(reason="", changes={})
        annotator.exclusion_reason, annotator.block_reason = "", NO_REASON
        annotator.warned_at = annotator.blocked_at = None
    if annotator.kind in FROM_FILES:
        annotator.code = f"r-{secrets.token_hex(4)}"
    annotator.erased_at = annotator.erased_at or at
    annotator.save()
    # Refusals of files may quote raters' codes.
    annotator.study.uploads.filter(status__in=(Upload.Status.DONE, Upload.Status.FAILED)).delete()
    for app in study_apps():
        app.forget_results(annotator.study)
    return annotator, True, votes


def _erase_platform(annotator: Annotator) -> None:
    """Replace a platform's ids by pseudonyms, and delete what the platform reported about the rater."""
    participant = Participant.objects.filter(annotator=annotator).select_related("channel").first()
    Invitation.objects.filter(annotator=annotator).delete()
    if participant is None:
        return
    study, named = annotator.study, participant.external_id
    submissions = list(
        Submission.objects.select_for_update(of=("self",)).filter(
            Q(participant=participant) | Q(channel__study=study, details__participant_id=named)
        )
    )
    ids = [submission.external_id for submission in submissions]
    events = Q(body__message__participant_id=named) | Q(body__message__resource_id__in=ids)
    WebhookEvent.objects.filter(events, channel__study=study).delete()
    erase_submissions(study, submissions)
    participant.external_id = pseudonym(study, named)
    participant.save(update_fields=["external_id"])


def erase_submissions(study: Study, submissions: Iterable[Submission]) -> None:
    """Replace the platform ids of submissions by pseudonyms, and delete all but their state and times."""
    for submission in submissions:
        if submission.external_id.startswith(ERASED):
            continue
        for action in submission.actions.all():  # reduced to kind, time and amount; open ones are no longer sent
            action.key, action.answer = f"erased-{action.pk}", {}
            action.payload = {name: action.payload[name] for name in ("amount",) if name in action.payload}
            if action.state != PlatformAction.State.DONE:
                action.state = PlatformAction.State.FAILED
            action.save(update_fields=["key", "payload", "answer", "state"])
        submission.external_id = pseudonym(study, submission.external_id)
        submission.details, submission.code = {}, ""
        submission.save(update_fields=["external_id", "details", "code"])


def is_account_needed(user: User, *, leaving: Iterable[Annotator] | None) -> bool:
    """Tell whether an account is used for anything but the work that is deleted.

    leaving : the annotators that are erased; None: all, with every role as an annotator
    """
    grants, remaining = user.role_grants.all(), user.annotators.filter(erased_at=None)
    if leaving is None:
        grants, remaining = grants.exclude(role=Role.ANNOTATOR), remaining.none()
    else:
        erased = list(leaving)
        grants = grants.exclude(role=Role.ANNOTATOR, study__in=[annotator.study_id for annotator in erased])
        remaining = remaining.exclude(pk__in=[annotator.pk for annotator in erased])
    return user.is_staff or user.is_superuser or grants.exists() or remaining.exists()


@transaction.atomic
def delete_account(*, user: User, by: User | None, at: datetime) -> None:
    """Delete an account with its roles. Its ratings stay under their codes, without data that identify the person.

    Raises: AnnotationError for the last site admin.
    """
    # Locked, so that two site admins who delete each other are not both deleted.
    admins = User.objects.select_for_update().filter(is_superuser=True, is_active=True).order_by("pk")
    if user.is_superuser and not any(admin.pk != user.pk for admin in admins):
        raise AnnotationError("This is the only site admin. Make another account a site admin first.")
    note({"kind": "account-deleted", "key": user.pk})
    for annotator in annotator_records(user):
        _annotator, changed, _votes = _erase_in_study(annotator, at, keep_ratings=True)
        if changed:
            note_erasure(annotator, at=at, keep_ratings=True, everywhere=False)
            log(
                study=annotator.study,
                kind=Event.Kind.ERASED,
                by=None if by == user else by,
                at=at,
                changes={"raters": 1},
            )
    _delete_account(user)


def erase_unused_accounts(study: Study) -> None:
    """Delete the accounts of a study's raters that are used for nothing else."""
    for user in User.objects.filter(annotators__study=study):
        if not is_account_needed(user, leaving=user.annotators.filter(study=study)):
            _delete_account(user)


def _delete_account(user: User) -> None:
    """Delete an account with its traces. One that other rows refer to stays without a name."""
    for attempts in (AccessAttempt, AccessFailureLog, AccessLog):
        attempts.objects.filter(username=user.username).delete()
    LogEntry.objects.filter(content_type=ContentType.objects.get_for_model(User), object_id=str(user.pk)).delete()
    try:
        user.delete()
    except ProtectedError:
        # Another row refers to the account, such as a mark on a judge's rationale: the account stays, without a name.
        user.username, user.first_name, user.last_name, user.email = f"erased-{secrets.token_hex(8)}", "", "", ""
        user.last_login, user.is_active = None, False
        user.set_unusable_password()
        user.save()
        user.annotators.update(user=None)
        user.api_tokens.all().delete()
        user.mails.all().delete()
        remove_second_factor(user=user)


def erasure_preview(annotator: Annotator) -> dict[str, Any]:
    """Return what a rater is shown before their data in a study are deleted.

    due         : pay for submitted HITs; None where the study names no pay
    by_platform : a platform pays it, and not the study itself
    undecided   : work of theirs awaits a decision at the platform
    """
    waits = Submission.objects.filter(participant__annotator=annotator, state=Submission.State.COMPLETED)
    return {
        "annotator": annotator,
        "due": due_to(annotator),
        "by_platform": annotator.kind in PAID_BY_PLATFORM,
        "undecided": waits.exists(),
    }


def due_to(annotator: Annotator) -> Decimal | None:
    """Return the pay due to a rater for submitted HITs, or None where the study sets no pay."""
    submitted = annotator.assignments.filter(state=Assignment.State.SUBMITTED)
    amount: Decimal | None = submitted.aggregate(due=Sum("pay_due"))["due"]
    return to_cents(amount)


def find_raters(key: str, study: Study | None = None) -> list[Annotator]:
    """Return one person's annotators, by a rater's code, an account's name or a platform's id.

    Raises: UnknownName when there is none; Unacceptable when raters of several studies have that code.
    """
    everyone = Annotator.objects.select_related("study", "user").order_by("study", "pk")
    studies = Study.objects.all() if study is None else Study.objects.filter(pk=study.pk)
    annotators = everyone.filter(study__in=studies)
    hidden = [pseudonym(annotator, key) for annotator in studies]
    person = annotators.filter(Q(user__username=key) | Q(participant__external_id__in=[key, *hidden]))
    if listed := list(person.distinct()):
        return listed
    coded = list(annotators.filter(code=key))
    if len(coded) > 1:
        slugs = ", ".join(annotator.study.slug for annotator in coded)
        raise Unacceptable(f"Raters of several studies have the code {key}: {slugs}. Name the study.")
    if not coded:
        raise UnknownName("No rater has this code, account name or platform id; nothing was changed.")
    return coded


def annotator_records(user: User) -> list[Annotator]:
    """Return a user's annotators, in the order in which they joined."""
    return list(user.annotators.select_related("study", "user").order_by("joined_at", "pk"))
