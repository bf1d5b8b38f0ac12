"""The second factor: the code of an authenticator app, or a backup code, asked of accounts that have set one up."""

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from annotation.core.errors import Unacceptable
from annotation.members.permissions import READERS, has_any_role

BACKUP_CODES = 10
VERIFIED = "second_factor"  # key of a session in which the second factor was given


def has_second_factor(user: User) -> bool:
    """Tell whether an account has set up a second factor."""
    return bool(TOTPDevice.objects.filter(user=user, confirmed=True).exists())


def must_have_second_factor(user: User) -> bool:
    """Tell whether this server requires a second factor of an account: of admins and researchers, by its setting."""
    return settings.SECOND_FACTOR_REQUIRED and (user.is_staff or has_any_role(user, *READERS))


@transaction.atomic
def begin_set_up(*, user: User) -> TOTPDevice:
    """Create a secret for an authenticator app. It counts when a code of the app has been given.

    Raises: Unacceptable when there is a second factor already.
    """
    User.objects.select_for_update().get(pk=user.pk)
    if has_second_factor(user):
        raise Unacceptable(_("This account has a second factor already."))
    TOTPDevice.objects.filter(user=user).delete()
    return TOTPDevice.objects.create(user=user, name="app", confirmed=False)


@transaction.atomic
def finish_set_up(*, user: User, code: str) -> list[str]:
    """Confirm the app by one of its codes, and return backup codes, or none for a wrong code."""
    app = TOTPDevice.objects.select_for_update().filter(user=user, confirmed=False).first()
    if app is None or not app.verify_token(_plain(code)):
        return []
    app.confirmed = True
    app.save(update_fields=["confirmed"])
    return make_backup_codes(user=user)


@transaction.atomic
def make_backup_codes(*, user: User) -> list[str]:
    """Create backup codes, each valid for one sign-in. Earlier ones no longer work."""
    StaticDevice.objects.filter(user=user).delete()
    device = StaticDevice.objects.create(user=user, name="backup")
    codes = [StaticToken.random_token() for _number in range(BACKUP_CODES)]
    StaticToken.objects.bulk_create(StaticToken(device=device, token=code) for code in codes)
    return codes


@transaction.atomic
def is_code_right(*, user: User, code: str) -> bool:
    """Check a code of the app or a backup code, and use it up. Wrong ones make the next wait, longer each time."""
    digits = _plain(code)
    model = TOTPDevice if len(digits) == 6 else StaticDevice  # digits of an app's code
    device = model.objects.select_for_update().filter(user=user, confirmed=True).first()
    return device is not None and bool(device.verify_token(digits))


@transaction.atomic
def remove_second_factor(*, user: User) -> bool:
    """Delete an account's second factor with its backup codes and return whether there was one."""
    StaticDevice.objects.filter(user=user).delete()
    removed, _by_model = TOTPDevice.objects.filter(user=user).delete()
    return bool(removed)


def _plain(code: str) -> str:
    return "".join(code.split()).replace("-", "").lower()[:16]
