"""Mails about accounts: a new password, the confirmation of an address, a sign-in link."""

from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.core import signing
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.translation import gettext as _

from annotation.core.errors import Unacceptable
from annotation.mail.outbox import digest_of, write_mail
from annotation.members.accounts import login_link
from annotation.members.memberships import READING, has_never_signed_in, members_of
from annotation.models import Event, Mail, Study

CONFIRMATION_VALID = timedelta(days=1)
MOST_RESETS_PER_HOUR = 3  # to one address
SALT = "tandem.address"


def ask_for_reset(*, address: str, at: datetime) -> None:
    """Store a mail for whichever accounts have an address.

    They are looked up when it is sent: the answer takes as long, and says as little, for an address that no account has.
    """
    lately = Mail.objects.filter(
        kind=Mail.Kind.RESET, address_digest=digest_of(address), created_at__gt=at - timedelta(hours=1)
    )
    if lately.count() < MOST_RESETS_PER_HOUR:
        write_mail(kind=Mail.Kind.RESET, address=address, at=at)


def ask_for_confirmation(*, user: User, address: str, at: datetime) -> None:
    """Send a link to an address, which becomes the account's when its owner opens it."""
    write_mail(kind=Mail.Kind.ADDRESS, address=address, user=user, at=at)


def confirm_address(*, user: User, token: str) -> str:
    """Store the address of a confirmation link as the account's, and return it.

    Raises: Unacceptable for a link that is another account's, too old, used or none.
    """
    try:
        account, before, address = signing.loads(token, salt=SALT, max_age=CONFIRMATION_VALID)
    except signing.BadSignature:
        account, before, address = None, "", ""
    if account != user.pk or before != user.email:
        raise Unacceptable(
            _("This link is not for your account, or it was used or has expired. Please ask for another one.")
        )
    user.email = address
    user.save(update_fields=["email"])
    return str(address)


def reset_text(mail: Mail, _at: datetime) -> tuple[str, str] | None:
    users = User.objects.filter(email__iexact=mail.address, is_active=True).order_by("pk")
    links = []
    for user in users:
        if user.has_usable_password() and _folded(user.email) == _folded(mail.address):
            parts = [urlsafe_base64_encode(force_bytes(user.pk)), default_token_generator.make_token(user)]
            link = _address_of(reverse("annotation:choose-password", args=parts))
            links.append(f"{user.get_short_name() or user.get_username()}: {link}")
    if not links:
        return None
    text = _(
        "A new password was asked for, for the account with this address. If that was you, choose one here; the link works "
        "once, for an hour:\n\n%(links)s\n\nIf it was not you, do nothing: the password stays as it is."
    )
    return _("A new password for Tandem"), text % {"links": "\n".join(links)}


def _folded(address: str) -> bytes:
    """Fold the case of ASCII alone: a database may take ı for i, and the link would go to the owner of that other address."""
    return address.encode().lower()


def address_text(mail: Mail, _at: datetime) -> tuple[str, str] | None:
    user = mail.user
    if user is None or not user.is_active:
        return None
    token = signing.dumps([user.pk, user.email, mail.address], salt=SALT)
    text = _(
        "This address was given for the account %(name)s. If that was you, confirm it here, signed in, within a day:\n\n"
        "%(link)s\n\nIf it was not you, do nothing: the address is forgotten."
    )
    link = _address_of(reverse("annotation:confirm-address", args=[token]))
    return _("Your address for Tandem"), text % {"name": user.get_short_name() or user.get_username(), "link": link}


def sign_in_text(mail: Mail, _at: datetime) -> tuple[str, str] | None:
    user = mail.user
    if user is None or not has_never_signed_in(user):
        return None
    text = _(
        "An account was made for you: %(name)s. Sign in here; the link works once, within a day:\n\n%(link)s\n\n"
        "If you did not expect this, do nothing."
    )
    return _("Your account for Tandem"), text % {
        "name": user.get_username(),
        "link": login_link(user=user, base_url=settings.BASE_URL),
    }


def tell_of_stop(event: Event) -> None:
    """Store a mail about a batch that its stop rule closed, to each researcher and study admin who has an address."""
    if not settings.MAIL_ON:
        return
    grants = members_of(event.study).filter(role__in=READING, user__is_active=True).exclude(user__email="")
    for user in {grant.user for grant in grants}:
        write_mail(kind=Mail.Kind.STOPPED, address=user.email, user=user, event=event, at=event.happened_at)


def stopped_text(mail: Mail, _at: datetime) -> tuple[str, str] | None:
    event, user = mail.event, mail.user
    if event is None or event.batch is None or user is None or not user.is_active:
        return None
    if not Study.objects.visible_to(user, *READING).filter(pk=event.study_id).exists():
        return None  # no longer a member
    link = _address_of(reverse("annotation:batch", args=[event.study.slug, event.batch.pk]))
    subject = f"Batch {event.batch.name} of study {event.study.slug} is closed"
    return subject, f"{event.reason}\n\nRaters who are at a HIT may finish it. The batch:\n\n{link}"


def _address_of(path: str) -> str:
    return str(settings.BASE_URL).rstrip("/") + path
