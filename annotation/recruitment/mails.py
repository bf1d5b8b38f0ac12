"""Invitations by mail, and the sending of mails of all kinds."""

from datetime import datetime

from django.conf import settings
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from annotation.core.errors import ClaimRefused
from annotation.mail.outbox import Composer, send_due
from annotation.members.mails import address_text, reset_text, sign_in_text, stopped_text
from annotation.models import Mail
from annotation.questions.labels import translate_default
from annotation.recruitment.invitations import link_of, refuse_unusable


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
