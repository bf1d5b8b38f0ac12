"""One-time links that make a person a rater, and the mails with them. The database stores only the links' hashes."""

import hashlib
import logging
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.urls import reverse
from django.utils.crypto import salted_hmac
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from annotation.annotators.participants import new_raters, refuse_closed
from annotation.core.errors import ClaimRefused, Unacceptable, UnknownName
from annotation.core.keys import account_in_log
from annotation.mail.outbox import Composer, language_of, send_due, write_mail
from annotation.members.mails import address_text, reset_text, sign_in_text, stopped_text
from annotation.models import Annotator, Channel, Invitation, Mail, Participant, Study
from annotation.models.members import Role
from annotation.questions.labels import translate_default

MOST_LINKS = 10_000
LONGEST_DAYS = 365
VALID_DAYS = 30
REISSUED_VALID = timedelta(days=1)  # short, since a new link opens existing work

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Link:
    """A link as it is handed out. A page shows it again until it is used."""

    rater: str
    link: str
    valid_until: datetime


@transaction.atomic
def invite(
    *,
    channel: Channel,
    count: int,
    base_url: str,
    at: datetime,
    valid_days: int = VALID_DAYS,
    addresses: Sequence[str] = (),
) -> list[Link]:
    """Make `count` nameless raters, and a link for each.

    addresses : e-mail addresses of the first raters, who are sent their links
    Raises: Unacceptable for a channel that isn't one of accounts; ClaimRefused when the channel is closed or the study archived.
    """
    _refuse_kind(channel)
    refuse_archived(channel.study)
    if not channel.is_open:
        raise ClaimRefused(f"Channel {channel.name} is closed, so its links would not work. Open it first.")
    annotators = new_raters(channel, count)
    tokens = [_token(channel, annotator.code, at) for annotator in annotators]
    until = at + timedelta(days=valid_days)
    invitations = Invitation.objects.bulk_create(
        Invitation(channel=channel, annotator=annotator, digest=digest_of(token), created_at=at, expires_at=until)
        for annotator, token in zip(annotators, tokens, strict=True)
    )
    language = language_of(channel.study)
    for address, invitation in zip(addresses, invitations, strict=False):
        write_mail(kind=Mail.Kind.INVITATION, address=address, invitation=invitation, at=at, language=language)
    return [
        Link(annotator.code, _address(channel, token, base_url), until)
        for annotator, token in zip(annotators, tokens, strict=True)
    ]


@transaction.atomic
def reissue(*, channel: Channel, code: str, base_url: str, at: datetime, by: User | None = None) -> Link:
    """Create a link, valid for a day, for a rater of an accounts channel who lost access. Older ones stop working.

    by : who creates it, for the server's log; None from a command

    Raises: UnknownName when no such rater came through this channel; Unacceptable when the account has a password or
    opens more than this rater's work; ClaimRefused when the study is archived.
    """
    _refuse_kind(channel)
    refuse_archived(channel.study)
    of_study = Annotator.objects.filter(study=channel.study_id, code=code).select_related("user")
    annotator = (
        of_study.filter(invitation__channel=channel).first() or of_study.filter(participant__channel=channel).first()
    )
    if annotator is None:
        raise UnknownName(f"No rater {code} has come, or was invited, through channel {channel.name}.")
    if annotator.user is None or annotator.withdrawn_at is not None:
        raise Unacceptable(f"Rater {annotator.code} has left the study.")
    if _opens_more(annotator):  # the holder of the link would get these rights
        raise Unacceptable(
            f"The account of rater {annotator.code} has other roles as well: a site admin can create a sign-in "
            "link for it."
        )
    if annotator.user.has_usable_password():  # its owner can sign in, and would not notice another user
        raise Unacceptable(
            f"Rater {annotator.code} signs in with a password, so there is no link for them: a site admin can set "
            "another password."
        )
    token, until = _token(channel, annotator.code, at), at + REISSUED_VALID
    Invitation.objects.update_or_create(
        annotator=annotator,
        defaults={
            "channel": channel, "digest": digest_of(token), "created_at": at, "expires_at": until, "used_at": None
        },
    )  # fmt: skip
    made_by = account_in_log(by.pk if by is not None else None)
    logger.info("new link for rater %s of study %s created by %s", annotator.code, channel.study, made_by)
    return Link(annotator.code, _address(channel, token, base_url), until)


def open_links(*, channel: Channel, base_url: str, at: datetime) -> list[Link]:
    """Return a channel's links that can still be used, except those made with an earlier key of the server."""
    unused = (
        channel.invitations.filter(used_at=None, expires_at__gt=at)
        .select_related("annotator", "channel")
        .order_by("pk")
    )
    links = ((invitation, link_of(invitation, base_url)) for invitation in unused)
    return [
        Link(invitation.annotator.code, link, invitation.expires_at) for invitation, link in links if link is not None
    ]


def link_of(invitation: Invitation, base_url: str) -> str | None:
    """Return the link of an invitation, or None if an earlier key of the server has made it."""
    channel = invitation.channel
    token = _token(channel, invitation.annotator.code, invitation.created_at)
    return _address(channel, token, base_url) if digest_of(token) == invitation.digest else None


def find_invitation(*, channel: Channel, token: str) -> Invitation | None:
    """Return the invitation of a link's token, if any."""
    invitations = Invitation.objects.select_related("annotator__user", "channel__study")
    return invitations.filter(channel=channel, digest=digest_of(token)).first()


def refuse_unusable(invitation: Invitation, at: datetime) -> None:
    """Refuse a link that was used, has expired, or leads to a closed channel.

    Raises: ClaimRefused, with a message for the holder of the link.
    """
    if invitation.used_at is not None:
        raise ClaimRefused(
            _(
                "It was used before, and a link works once. If that was you, in another browser or on another device, "
                "please continue there, or ask its sender for a new one."
            )
        )
    if invitation.expires_at <= at:
        raise ClaimRefused(_("It has expired. Please ask its sender for a new one."))
    user = invitation.annotator.user
    # The account may have got further roles since the link was made.
    if user is None or not user.is_active or _opens_more(invitation.annotator):
        raise ClaimRefused(_("The account that it was for no longer exists. Please ask its sender."))
    if not Participant.objects.filter(annotator=invitation.annotator).exists():
        refuse_closed(invitation.channel)


@transaction.atomic
def accept_invitation(*, invitation: Invitation, at: datetime) -> Annotator:
    """Use up a link, and return its rater. Only one of two concurrent requests succeeds.

    Ends other sessions of the rater: a new link is for a rater who has lost theirs.
    Raises: ClaimRefused for a link that can't be used any more.
    """
    locked = Invitation.objects.select_for_update(of=("self",)).select_related("annotator__user", "channel__study")
    invitation = locked.get(pk=invitation.pk)
    refuse_unusable(invitation, at)
    invitation.used_at = at
    invitation.save(update_fields=["used_at"])
    annotator = invitation.annotator
    Participant.objects.get_or_create(
        annotator=annotator,
        defaults={"channel": invitation.channel, "external_id": f"invitation-{invitation.pk}", "joined_at": at},
    )
    user = annotator.user
    if user is not None and not user.has_usable_password():
        user.set_unusable_password()  # a new random value invalidates existing sessions
        user.save(update_fields=["password"])
    return annotator


def refuse_archived(study: Study) -> None:
    """Refuse an archived study.

    Raises: ClaimRefused.
    """
    if study.archived_at is not None:
        raise ClaimRefused(f"Study {study.slug} is archived and takes no raters. Restore it first.")


def digest_of(token: str) -> str:
    """Return the hash that is stored of a link's token."""
    return hashlib.sha256(token.encode()).hexdigest()


def _token(channel: Channel, code: str, at: datetime) -> str:
    """Derive a link's token from the server's key, so that an unused link can be shown again and no table has it."""
    name = f"{channel.key}:{code}:{at.astimezone(UTC).isoformat()}"
    return urlsafe_b64encode(salted_hmac("tandem.invitation", name, algorithm="sha256").digest()).decode().rstrip("=")


def _address(channel: Channel, token: str, base_url: str) -> str:
    return base_url.rstrip("/") + reverse("annotation:invitation", args=[channel.key, token])


def _refuse_kind(channel: Channel) -> None:
    if channel.kind != Channel.Kind.ACCOUNTS:
        raise Unacceptable(f"Channel {channel.name} has no invitations: its raters join in another way.")


def _opens_more(annotator: Annotator) -> bool:
    """Tell whether a rater's account can do more than rate in this study."""
    user = annotator.user
    if user is None:
        return False
    other_roles = user.role_grants.exclude(role=Role.ANNOTATOR, study=annotator.study_id).exists()
    return user.is_staff or user.is_superuser or other_roles or user.annotators.exclude(pk=annotator.pk).exists()


def _invitation_text(mail: Mail, at: datetime) -> tuple[str, str] | None:
    """Write an invitation, unless its link was used or ended meanwhile. The study's name is not for raters."""
    invitation = mail.invitation
    if invitation is None:
        return None
    try:
        refuse_unusable(invitation, at)
    except ClaimRefused:
        return None
    link = link_of(invitation, settings.BASE_URL)
    if link is None:
        return None
    study = invitation.channel.study
    text = _(
        "You are invited to compare texts. The question is:\n\n%(question)s\n\nThis link is yours alone; it works once, until "
        "%(until)s (UTC):\n\n%(link)s\n\nIf you don’t want to take part, do nothing."
    ) % {
        "question": translate_default(study.question),
        "until": date_format(invitation.expires_at, "SHORT_DATETIME_FORMAT"),
        "link": link,
    }
    if study.contact:
        text += "\n\n" + _("Questions: %(contact)s") % {"contact": study.contact}
    return _("Invitation to compare texts"), text


COMPOSERS: dict[str, Composer] = {
    Mail.Kind.RESET: reset_text,
    Mail.Kind.ADDRESS: address_text,
    Mail.Kind.SIGN_IN: sign_in_text,
    Mail.Kind.INVITATION: _invitation_text,
    Mail.Kind.STOPPED: stopped_text,
}


def send_mails(*, at: datetime) -> int:
    """Send the mails that are due, and return their number."""
    return send_due(COMPOSERS, at=at)
