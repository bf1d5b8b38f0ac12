"""Accounts: role grants, one-time sign-in links, and annotators of accounts."""

import secrets

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import transaction
from django.urls import reverse
from django.utils import timezone
from sesame.utils import get_query_string

from annotation.core.errors import AnnotationError, UnknownName
from annotation.members.usernames import SEPARATOR, is_self_registered, is_self_registered_name
from annotation.models import Annotator, Invitation, ResearchGroup, RoleGrant, Study
from annotation.models.members import Role, main_group
from annotation.studies.services import validate

FIRST_ADMIN = "admin"  # user name of the first site admin


@transaction.atomic
def grant_role(
    *,
    username: str,
    role: str,
    study: Study | None = None,
    group: ResearchGroup | None = None,
    any_account: bool = False,
) -> tuple[User, bool]:
    """Grant a role in a study, or in a group. An unknown user is created without a password.

    Existing links to the account are revoked, since people other than its owner may have them.

    group       : the main group if neither a study nor a group is given
    any_account : also for an account from a channel, whose owner is unknown

    Returns the user and whether anything changed.
    Raises: UnknownName for an unknown role; AnnotationError for an invalid user name, or that of an account from a
    channel.
    """
    if role == Role.ADMIN and (study is not None or group is not None):
        scope = "study" if study is not None else "group"
        raise AnnotationError(f"a site admin is one in all studies; leave the {scope} out, or grant study-admin in it")
    if study is not None and group is not None:
        raise AnnotationError("a role is in one study or in all of a group: name one of the two")
    if role not in Role.values:
        raise UnknownName(f"role is {role!r}; it must be one of {', '.join(Role.values)}")
    users = get_user_model().objects
    user = users.filter(username=username).first()
    changed = user is None
    if study is None and group is None and role != Role.ADMIN:
        group = main_group()
    if user is None:
        if is_self_registered_name(username):
            raise AnnotationError(f"username: {SEPARATOR} stands in names of people who register by themselves only")
        user = User(username=username)
        user.set_unusable_password()  # signs in by link until a password is set
        validate(user)
        user.save()
    elif not _holds(user, role, study, group):
        if not any_account and is_self_registered(user):
            raise AnnotationError(
                f"{username} joined through a channel, so its owner is unknown; the command grant can give a "
                "role to any account"
            )
        _revoke_links(user, role)
    if role == Role.ADMIN:
        if not user.is_superuser:
            user.is_staff = user.is_superuser = changed = True
            user.save(update_fields=["is_staff", "is_superuser"])
        return user, changed
    _, created = RoleGrant.objects.get_or_create(user=user, role=role, study=study, group=None if study else group)
    return user, changed or created


def _holds(user: User, role: str, study: Study | None, group: ResearchGroup | None) -> bool:
    if role == Role.ADMIN:
        return user.is_superuser
    return user.role_grants.filter(role=role, study=study, group=None if study else group).exists()


def _revoke_links(user: User, role: str) -> None:
    """Revoke the links to an account that gets more permissions, and sessions that were not begun by its owner.

    An account without a password that has been used stays signed in, except a site admin's or one from a channel.
    """
    # Invitations first: a concurrent use holds the row's lock, and its session ends with the password.
    Invitation.objects.filter(annotator__user=user, used_at=None).update(expires_at=timezone.now())
    ends_sessions = user.last_login is None or role == Role.ADMIN or is_self_registered(user)
    if ends_sessions and not user.has_usable_password():
        user.set_unusable_password()  # a new random value, with which links and sessions are signed
        user.save(update_fields=["password"])


def login_link(*, user: User, base_url: str) -> str:
    """Return a link that signs `user` in once, within a day. Signing in invalidates earlier links."""
    query: str = get_query_string(user)
    return base_url.rstrip("/") + reverse("annotation:login-link") + query


def annotator_for(*, user: User, study: Study) -> Annotator:
    """Return the user's annotator in a study, created under a random code if missing."""
    annotator, _ = Annotator.objects.get_or_create(
        study=study,
        user=user,
        defaults={"kind": Annotator.Kind.ACCOUNT, "code": f"r-{secrets.token_hex(4)}"},
    )
    annotator.study = study
    return annotator


def grant_creator_role(*, user: User, study: Study) -> None:
    """Make the creator of a study its study admin, unless they are one through a group."""
    if not Study.objects.visible_to(user, Role.STUDY_ADMIN).filter(pk=study.pk).exists():
        RoleGrant.objects.get_or_create(user=user, role=Role.STUDY_ADMIN, study=study)


def has_site_admin() -> bool:
    """Tell whether there is a site admin. The first one counts after signing in."""
    return any(not _awaits_its_owner(user) for user in User.objects.filter(is_superuser=True, is_active=True))


@transaction.atomic
def first_admin_link(*, base_url: str) -> str:
    """Return a sign-in link for the first site admin, whose account is created if missing.

    Raises: AnnotationError if there is a site admin, or the account's name is taken.
    """
    if has_site_admin():
        raise AnnotationError(
            f"there is a site admin already; create another one: {settings.COMMAND} grant NAME --role admin"
        )
    existing = User.objects.filter(username=FIRST_ADMIN).first()
    if existing is not None and not (existing.is_superuser and existing.is_active and _awaits_its_owner(existing)):
        raise AnnotationError(
            f"there is no site admin, and the name {FIRST_ADMIN} is another account's; create one with another name: "
            f"{settings.COMMAND} grant NAME --role admin, then {settings.COMMAND} login_link NAME"
        )
    user, _ = grant_role(username=FIRST_ADMIN, role=Role.ADMIN)
    return login_link(user=user, base_url=base_url)


def _awaits_its_owner(user: User) -> bool:
    return user.username == FIRST_ADMIN and user.last_login is None and not user.has_usable_password()
