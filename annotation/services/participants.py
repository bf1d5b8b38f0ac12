"""Making raters of people who come through a channel."""

import secrets
from datetime import datetime

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from annotation.errors import ClaimRefused
from annotation.models import Annotator, Channel, Participant, RoleGrant, Study, Submission
from annotation.models.people import Role

KINDS = {
    Channel.Kind.ACCOUNTS: Annotator.Kind.INVITED,
    Channel.Kind.ANONYMOUS: Annotator.Kind.ANONYMOUS,
    Channel.Kind.PROLIFIC: Annotator.Kind.PROLIFIC,
    Channel.Kind.MTURK: Annotator.Kind.MTURK,
}


def refuse_shut(channel: Channel) -> None:
    """Refuse newcomers while a channel is shut or its study in the archive.

    Raises: ClaimRefused.
    """
    if not channel.is_open or channel.study.archived_at is not None:
        raise ClaimRefused(_("This study takes no new raters at the moment."))


def new_username(channel: Channel) -> str:
    """Draw a name for an account that is nobody's by name."""
    return f"{channel.kind}-{secrets.token_hex(8)}"


def new_rater(channel: Channel) -> Annotator:
    """Make a nameless account, without a password, and its place as a rater of the channel's study."""
    return new_raters(channel, 1)[0]


@transaction.atomic
def new_raters(channel: Channel, count: int) -> list[Annotator]:
    """Make so many nameless accounts, in as many statements as one takes."""
    users = [User(username=new_username(channel), password=make_password(None)) for _number in range(count)]
    return raters_of(channel, User.objects.bulk_create(users))


@transaction.atomic
def raters_of(channel: Channel, users: list[User]) -> list[Annotator]:
    """Give new accounts their place as raters of the channel's study, under random codes."""
    study, kind = channel.study, KINDS[Channel.Kind(channel.kind)]
    RoleGrant.objects.bulk_create(RoleGrant(user=user, role=Role.ANNOTATOR, study=study) for user in users)
    return Annotator.objects.bulk_create(
        Annotator(study=study, user=user, kind=kind, code=code)
        for user, code in zip(users, _fresh_codes(study, len(users)), strict=True)
    )


def _fresh_codes(study: Study, count: int) -> list[str]:
    """Draw codes that nobody in the study has: among thousands of short ones two may well be the same."""
    codes: set[str] = set()
    while len(codes) < count:
        drawn = {f"r-{secrets.token_hex(4)}" for _number in range(count - len(codes))}
        codes |= drawn - set(study.annotators.filter(code__in=drawn).values_list("code", flat=True))
    return list(codes)


@transaction.atomic
def join(*, channel: Channel, external_id: str, at: datetime) -> tuple[Participant, bool]:
    """Return whoever the platform calls `external_id`, made a rater now if they come for the first time.

    The second value tells whether they are new. Two arrivals at one moment make one rater.
    Raises: ClaimRefused when the channel is shut and they are new.
    """
    channel = Channel.objects.select_for_update(of=("self",)).select_related("study").get(pk=channel.pk)
    known = channel.participants.filter(external_id=external_id).select_related("annotator__user").first()
    if known is not None:
        return known, False
    refuse_shut(channel)
    annotator = new_rater(channel)
    return Participant.objects.create(channel=channel, annotator=annotator, external_id=external_id, joined_at=at), True


@transaction.atomic
def open_submission(*, participant: Participant, external_id: str, at: datetime) -> tuple[Submission, bool]:
    """Return the platform's piece of work `external_id` of this participant, recorded now if it is new.

    It may have been heard of before they came (a webhook): then it becomes theirs.
    Raises: ClaimRefused when it is somebody else's.
    """
    submission, made = Submission.objects.select_for_update(of=("self",)).get_or_create(
        channel_id=participant.channel_id,
        external_id=external_id,
        defaults={"participant": participant, "started_at": at},
    )
    if submission.participant_id is None:
        submission.participant = participant
        submission.save(update_fields=["participant"])
    if submission.participant_id != participant.pk:
        raise ClaimRefused(_("This link belongs to somebody else."))
    return submission, made
