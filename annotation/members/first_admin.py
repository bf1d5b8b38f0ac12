"""The sign-in link of the first site admin of a new installation."""

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from annotation.core.errors import AnnotationError
from annotation.members.accounts import grant_role, login_link
from annotation.models.members import Role

NAME = "admin"


def has_site_admin() -> bool:
    """Tell whether there is a site admin; the first one counts after signing in."""
    return any(not _awaits_its_owner(user) for user in User.objects.filter(is_superuser=True, is_active=True))


@transaction.atomic
def first_admin_link(*, base_url: str) -> str:
    """Return a sign-in link for the first site admin, whose account is created if missing.

    Raises: AnnotationError if there is a site admin, or the account's name is taken.
    """
    if has_site_admin():
        raise AnnotationError(
            f"there is a site admin already; another one is made by: {settings.COMMAND} grant NAME --role admin"
        )
    taken = User.objects.filter(username=NAME).first()
    if taken is not None and not (taken.is_superuser and taken.is_active and _awaits_its_owner(taken)):
        raise AnnotationError(
            f"there is no site admin, and the name {NAME} is another account's; make one under another name: "
            f"{settings.COMMAND} grant NAME --role admin, then {settings.COMMAND} login_link NAME"
        )
    user, _ = grant_role(username=NAME, role=Role.ADMIN)
    return login_link(user=user, base_url=base_url)


def _awaits_its_owner(user: User) -> bool:
    return user.username == NAME and user.last_login is None and not user.has_usable_password()
