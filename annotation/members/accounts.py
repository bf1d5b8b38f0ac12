"""Accounts: user names, role grants, one-time sign-in links, and annotators of accounts."""

import secrets

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import CharField, F, Value
from django.db.models.functions import Concat
from django.urls import reverse
from django.utils import timezone
from sesame.utils import get_query_string

from annotation.core.errors import AnnotationError, UnknownName
from annotation.members.memberships import Place, columns_of
from annotation.models import Annotator, Channel, Invitation, RoleGrant, Study
from annotation.models.members import Role, main_group
from annotation.studies.services import validate

SEPARATOR = "@@"  # in user names of self-registered people, and refused in names given by admins


def self_registered_name(name: str, channel_key: str) -> str:
    """Return the user name of a person who registers in a channel as `name`."""
    return f"{name}{SEPARATOR}{channel_key}"


def is_self_registered(user: User) -> bool:
    """Tell whether an account was created through a channel, so that its owner is unknown."""
    return SEPARATOR in user.username or user.annotators.exclude(kind=Annotator.Kind.ACCOUNT).exists()


def resolve_username(typed: str, channel_key: str = "") -> str:
    """Return the user name for a typed name, in a channel or without one.

    Without a channel, a name with no or with several registrations is returned unchanged.
    """
    accounts = User.objects.order_by().values_list("username", flat=True)
    if channel_key:
        inside = self_registered_name(typed, channel_key)
        return inside if accounts.filter(username=inside).exists() else typed
    if accounts.filter(username=typed).exists():
        return typed
    names = Channel.objects.filter(kind=Channel.Kind.ACCOUNTS).order_by()
    inside_any = names.values(inside=Concat(Value(f"{typed}{SEPARATOR}"), F("key"), output_field=CharField()))
    matching = list(accounts.filter(username__in=inside_any)[:2])
    return matching[0] if len(matching) == 1 else typed


FIRST_ADMIN = "admin"  # user name of the first site admin


@transaction.atomic
def grant_role(*, username: str, role: str, place: Place | None = None, any_account: bool = False) -> tuple[User, bool]:
    """Grant a role in a study, or in a group. An unknown user is created without a password.

    Existing links to the account are revoked, since people other than its owner may have them.

    place       : the main group if there is none
    any_account : also for an account from a channel, whose owner is unknown

    Returns the user and whether anything changed.
    Raises: UnknownName for an unknown role; AnnotationError for an invalid user name, or that of an account from a
    channel.
    """
    if role == Role.ADMIN and place is not None:
        scope = "study" if isinstance(place, Study) else "group"
        raise AnnotationError(f"a site admin is one in all studies; leave the {scope} out, or grant study-admin in it")
    if role not in Role.values:
        raise UnknownName(f"role is {role!r}; it must be one of {', '.join(Role.values)}")
    user = User.objects.filter(username=username).first()
    changed = user is None
    if place is None and role != Role.ADMIN:
        place = main_group()
    columns = columns_of(place)
    if user is None:
        if SEPARATOR in username:
            raise AnnotationError(f"username: {SEPARATOR} stands in names of people who register by themselves only")
        user = User(username=username)
        user.set_unusable_password()  # signs in by link until a password is set
        validate(user)
        user.save()
    elif not (user.is_superuser if role == Role.ADMIN else user.role_grants.filter(role=role, **columns).exists()):
        if not any_account and is_self_registered(user):
            raise AnnotationError(
                f"{username} joined through a channel, so its owner is unknown; the command grant can give a "
                "role to any account"
            )
        # Invitations first: a concurrent use holds the row's lock, and its session ends with the password.
        Invitation.objects.filter(annotator__user=user, used_at=None).update(expires_at=timezone.now())
        # One without a password that has been used stays signed in, except a site admin's or one from a channel.
        ends_sessions = user.last_login is None or role == Role.ADMIN or is_self_registered(user)
        if ends_sessions and not user.has_usable_password():
            user.set_unusable_password()  # a new random value, with which links and sessions are signed
            user.save(update_fields=["password"])
    if role == Role.ADMIN:
        if not user.is_superuser:
            user.is_staff = user.is_superuser = changed = True
            user.save(update_fields=["is_staff", "is_superuser"])
        return user, changed
    _, created = RoleGrant.objects.get_or_create(user=user, role=role, **columns)
    return user, changed or created


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
