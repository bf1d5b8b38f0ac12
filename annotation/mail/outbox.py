"""Storing mails, and sending those that are due.

A mail is claimed in the database before the mail server gets it. An attempt that failed before the server had it is
repeated, longer after each, for three days. Where the connection broke while the server took it, it may have been sent, and is
not repeated by itself.
"""

import logging
import re
import smtplib
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import User
from django.core.mail import EmailMessage, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.utils import translation
from django.utils.crypto import salted_hmac

from annotation.core.reasons import NO_REASON, Reason, reason
from annotation.models import Event, Invitation, Mail, Study

State = Mail.State
# Returns the subject and text of a mail, or None if the mail is no longer needed.
Composer = Callable[[Mail, datetime], tuple[str, str] | None]
GIVEN_UP_AFTER = timedelta(days=3)
LONGEST_PAUSE = timedelta(hours=1)
CLAIMED_FOR = timedelta(minutes=10)  # longer than a mail server may take (EMAIL_TIMEOUT)
PERMANENT = 500  # and above: SMTP codes of refusals that a repetition does not change

log = logging.getLogger(__name__)


def write_mail(
    *,
    kind: Mail.Kind,
    address: str,
    at: datetime,
    user: User | None = None,
    invitation: Invitation | None = None,
    event: Event | None = None,
    language: str | None = None,
) -> Mail:
    """Store a mail. A worker sends it within seconds of the commit."""
    return Mail.objects.create(
        kind=kind,
        address=address,
        address_digest=digest_of(address),
        user=user,
        invitation=invitation,
        event=event,
        language=language or translation.get_language() or settings.LANGUAGE_CODE,
        created_at=at,
        due_at=at,
    )


def language_of(study: Study) -> str:
    """Return the language of mails to a study's raters: that of its texts where pages are translated into it."""
    try:
        return translation.get_supported_language_variant(study.language)
    except LookupError:
        return settings.LANGUAGE_CODE


def digest_of(address: str) -> str:
    """Return the keyed hash of an address, by which mails to it are counted after it is forgotten."""
    return salted_hmac("tandem.mail", address.strip().lower(), algorithm="sha256").hexdigest()


def send_due(composers: Mapping[str, Composer], *, at: datetime) -> int:
    """Send the mails that are due, and return their number. Several processes may do so at once.

    composers : by kind of mail
    """
    broken = Mail.objects.filter(state=State.SENDING, due_at__lte=at)  # the process that sent them died
    broken.update(state=State.UNSURE, ended_at=at, error=reason("sender_ended"))
    count = 0
    for pk in list(Mail.objects.filter(state=State.WAITING, due_at__lte=at).values_list("pk", flat=True)[:100]):
        claim = {"state": State.SENDING, "due_at": at + CLAIMED_FOR}
        if Mail.objects.filter(pk=pk, state=State.WAITING).update(**claim):
            mail = Mail.objects.select_related(
                "user", "invitation__channel__study", "event__batch", "event__study"
            ).get(pk=pk)
            _send(mail, composers[mail.kind], at)
            count += 1
    return count


def send_again(*, mail: Mail, at: datetime) -> bool:
    """Queue a mail that failed, or is not known to have been sent, and return whether it was one."""
    unsent = Mail.objects.filter(pk=mail.pk, state__in=(State.FAILED, State.UNSURE)).exclude(address="")
    return unsent.update(state=State.WAITING, due_at=at, created_at=at, ended_at=None, attempts=0) > 0


def _send(mail: Mail, compose: Composer, at: datetime) -> None:
    with translation.override(mail.language):
        composed = compose(mail, at)
    if composed is None:
        _end(mail, State.FAILED, at, reason("mail_not_wanted"), forget=True)
        return
    host = urlsplit(settings.BASE_URL).hostname or "localhost"
    headers = {"Message-ID": f"<{mail.key}@{host}>", "Auto-Submitted": "auto-generated"}
    subject, text = composed
    message = EmailMessage(" ".join(subject.split()), text, to=[mail.address], headers=headers)
    server: BaseEmailBackend = get_connection()
    try:
        server.open()
    except (OSError, smtplib.SMTPException) as error:
        _repeat(mail, at, error)
        return
    try:
        server.send_messages([message])
    except smtplib.SMTPRecipientsRefused as error:
        code = next(iter(error.recipients.values()))[0]
        _refused(mail, at, error, code)
    except smtplib.SMTPResponseException as error:
        _refused(mail, at, error, error.smtp_code)
    except (OSError, smtplib.SMTPException) as error:
        _end(mail, State.UNSURE, at, _words(error))
    except ValueError as error:  # a header that can't be sent
        _end(mail, State.FAILED, at, _words(error))
    else:
        _end(mail, State.SENT, at, NO_REASON, forget=True)
    finally:
        with suppress(OSError, smtplib.SMTPException):  # the mail server keeps what it accepted
            server.close()


def _refused(mail: Mail, at: datetime, error: Exception, code: int) -> None:
    if code >= PERMANENT:
        _end(mail, State.FAILED, at, _words(error))
    else:
        _repeat(mail, at, error)


def _repeat(mail: Mail, at: datetime, error: Exception) -> None:
    """Try again later, or give up."""
    if at - mail.created_at >= GIVEN_UP_AFTER:
        _end(mail, State.FAILED, at, _words(error))
        return
    pause = min(timedelta(seconds=30) * 2 ** min(mail.attempts, 10), LONGEST_PAUSE)
    log.warning("mail %s (%s) waits: %s", mail.key, mail.kind, _words(error))
    Mail.objects.filter(pk=mail.pk).update(
        state=State.WAITING, attempts=mail.attempts + 1, due_at=at + pause, error=_words(error)
    )


def _end(mail: Mail, state: str, at: datetime, error: Reason, *, forget: bool = False) -> None:
    """Store the end of a mail. Its address is kept only where it may be sent again."""
    if error:
        log.warning("mail %s (%s) ends as %s: %s", mail.key, mail.kind, state, error)
    Mail.objects.filter(pk=mail.pk).update(
        state=state,
        attempts=mail.attempts + 1,
        error=error,
        ended_at=at,
        **({"address": ""} if forget else {}),
    )


def _words(error: Exception) -> Reason:
    """Return a server's words without addresses, which they often repeat."""
    text = re.sub(r"[^\s@<>'\"]+@[^\s<>'\"]+", "[…]", str(error))[:300]
    return reason("mail_error", error=type(error).__name__, text=text)
