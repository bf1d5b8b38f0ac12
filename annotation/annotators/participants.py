"""Creating raters for people who arrive through a channel."""

import secrets
from collections.abc import Callable
from datetime import datetime

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from annotation.core.database.prepared import Prepared
from annotation.core.errors import ClaimRefused
from annotation.models import Annotator, Channel, Invitation, Participant, RoleGrant, Study, Submission
from annotation.models.members import Role

KINDS: dict[str, Annotator.Kind] = {
    Channel.Kind.ACCOUNTS: Annotator.Kind.INVITED,
    Channel.Kind.ANONYMOUS: Annotator.Kind.ANONYMOUS,
    Channel.Kind.PROLIFIC: Annotator.Kind.PROLIFIC,
    Channel.Kind.MTURK: Annotator.Kind.MTURK,
}

BY_CHANNEL = frozenset(KINDS.values())
ERASED = "erased-"  # no platform's ids contain a dash


def channel_of(annotator: Annotator) -> Channel | None:
    """Return the channel that an annotator came through, or None. The database is asked once for each object."""
    if annotator.came_by is None and annotator.kind in BY_CHANNEL:
        annotator.came_by = _CHANNEL.first(annotator=annotator.pk)
        if annotator.came_by is not None:
            annotator.came_by.study = annotator.study
    channel: Channel | None = annotator.came_by
    return channel


def _channel(annotator: int) -> QuerySet[Channel]:
    participants = Participant.objects.filter(annotator=annotator).order_by().values("channel")
    invitations = Invitation.objects.filter(annotator=annotator).order_by().values("channel")
    came_by = Coalesce(Subquery(participants), Subquery(invitations))
    return Channel.objects.filter(pk=came_by).order_by()


_CHANNEL = Prepared(_channel)


def pseudonym(study: Study, external_id: str) -> str:
    """Return the keyed hash that replaces a platform's id when a rater's data are deleted.

    It includes the study's key, so that raters can't be matched between studies.
    """
    return ERASED + salted_hmac("tandem.erased", f"{study.key} {external_id}", algorithm="sha256").hexdigest()[:32]


def is_erased(study: Study, *external_ids: str) -> bool:
    """Tell whether an id of a participant or submission belongs to a rater whose data were deleted."""
    names = [pseudonym(study, external_id) for external_id in external_ids]
    people = Participant.objects.filter(channel__study=study, external_id__in=names)
    return people.exists() or Submission.objects.filter(channel__study=study, external_id__in=names).exists()


def refuse_erased(study: Study, external_id: str) -> None:
    """Raise ClaimRefused for a rater whose data were deleted."""
    if is_erased(study, external_id):
        raise ClaimRefused(_("Your data in this study have been deleted, so you can't take part in it again."))


def refuse_closed(channel: Channel) -> None:
    """Raise ClaimRefused if the channel is closed or its study archived."""
    if not channel.is_open or channel.study.archived_at is not None:
        raise ClaimRefused(_("This study takes no new raters at the moment."))


def locked_channel(channel: Channel) -> Channel:
    """Lock a channel, which serializes concurrent arrivals and changes of its settings."""
    return Channel.objects.select_for_update(of=("self",)).select_related("study").get(pk=channel.pk)


def new_username(channel: Channel) -> str:
    """Draw the user name of an anonymous account."""
    return f"{channel.kind}-{secrets.token_hex(8)}"


@transaction.atomic
def new_raters(channel: Channel, count: int) -> list[Annotator]:
    """Create anonymous accounts without passwords, and their raters in the channel's study."""
    users = [User(username=new_username(channel), password=make_password(None)) for _number in range(count)]
    return raters_of(channel, User.objects.bulk_create(users))


@transaction.atomic
def raters_of(channel: Channel, users: list[User]) -> list[Annotator]:
    """Make new accounts raters of the channel's study, under random codes."""
    study, kind = channel.study, KINDS.get(channel.kind, Annotator.Kind.ANONYMOUS)
    codes: set[str] = set()
    while len(codes) < len(users):  # among thousands of short random ones, duplicates are likely
        drawn = {f"r-{secrets.token_hex(4)}" for _number in range(len(users) - len(codes))}
        codes |= drawn - set(study.annotators.filter(code__in=drawn).values_list("code", flat=True))
    RoleGrant.objects.bulk_create(RoleGrant(user=user, role=Role.ANNOTATOR, study=study) for user in users)
    return Annotator.objects.bulk_create(
        Annotator(study=study, user=user, kind=kind, code=code) for user, code in zip(users, codes, strict=True)
    )


@transaction.atomic
def join(
    *, channel: Channel, external_id: str, at: datetime, admit: Callable[[Channel], None] = refuse_closed
) -> tuple[Participant, bool]:
    """Return the participant with this id on the platform, and whether they are new, in which case a rater is created.

    admit : refuses a new participant of the locked channel, by default if it is closed
    Raises: ClaimRefused.
    """
    channel = locked_channel(channel)
    participant = channel.participants.filter(external_id=external_id).select_related("annotator__user").first()
    if participant is not None:
        return participant, False
    refuse_erased(channel.study, external_id)
    admit(channel)
    annotator = new_raters(channel, 1)[0]
    return Participant.objects.create(channel=channel, annotator=annotator, external_id=external_id, joined_at=at), True


@transaction.atomic
def open_submission(*, participant: Participant, external_id: str, at: datetime) -> tuple[Submission, bool]:
    """Return the platform's submission `external_id` of this participant, and whether it was created now.

    A webhook may have created it before, without a participant.
    Raises: ClaimRefused if it belongs to another participant.
    """
    submission, created = Submission.objects.select_for_update(of=("self",)).get_or_create(
        channel_id=participant.channel_id,
        external_id=external_id,
        defaults={"participant": participant, "started_at": at},
    )
    if submission.participant_id is None:
        submission.participant = participant
        submission.save(update_fields=["participant"])
    if submission.participant_id != participant.pk:
        raise ClaimRefused(_("This link belongs to another person."))
    return submission, created
