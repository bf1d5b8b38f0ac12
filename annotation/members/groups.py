"""Creating groups, granting and revoking roles, moving studies between groups.

Roles are read in each request, so a revoked one ends at once, for sessions and API tokens alike.
"""

import logging

from django.contrib.auth.models import User
from django.db import transaction

from annotation.core.errors import AnnotationError, Unacceptable, UnknownName
from annotation.core.keys import account_in_log
from annotation.core.names import short_name_problem
from annotation.members.accounts import grant_role, is_self_registered, login_link
from annotation.members.memberships import (
    GRANTABLE,
    READING,
    Place,
    columns_of,
    has_never_signed_in,
    has_no_roles_outside,
    may_give_roles,
)
from annotation.models import ResearchGroup, RoleGrant, Study
from annotation.models.members import Role
from annotation.studies.services import validate

logger = logging.getLogger(__name__)


def find_group(slug: str) -> ResearchGroup:
    """Return the group with this slug.

    Raises: UnknownName listing the groups, so for commands only: pages don't show other groups.
    """
    group = ResearchGroup.objects.filter(slug=slug).first()
    if group is None:
        slugs = ", ".join(ResearchGroup.objects.values_list("slug", flat=True)[:20]) or "none yet"
        raise UnknownName(f"there is no group {slug}; known: {slugs}")
    return group


@transaction.atomic
def create_group(*, slug: str, name: str = "", by: User | None = None) -> ResearchGroup:
    """Create a group without members. `by` is None for commands.

    Raises: AnnotationError for an invalid or taken slug; UnknownName unless `by` is a site admin.
    """
    _require_site_admin(by)
    if problem := short_name_problem(ResearchGroup, "slug", slug):
        raise AnnotationError(problem)
    group = ResearchGroup(slug=slug, name=name.strip() or slug)
    validate(group)
    group.save()
    logger.info("group %s created by %s", slug, _named(by))
    return group


@transaction.atomic
def rename_group(*, group: ResearchGroup, name: str, by: User | None = None) -> ResearchGroup:
    """Change a group's name. Its slug stays.

    Raises: AnnotationError for an empty or too long name; UnknownName unless `by` is a site admin.
    """
    _require_site_admin(by)
    group.name = name.strip()
    validate(group)
    group.save(update_fields=["name"])
    return group


@transaction.atomic
def add_member(*, username: str, role: str, place: Place, new: bool = False, by: User) -> tuple[User, bool]:
    """Grant a role in a study, or in a group, to an existing account or to a new one.

    `new` says which, so that a misspelt name creates no account, and a taken one gives the role to no other person.

    Returns the account and whether the role is new to it.
    Raises: Unacceptable if the account is missing, from a channel, or must be new and isn't; AnnotationError for an
    invalid user name; UnknownName for a role that `by` may not grant here.
    """
    _require_manager(by, place)
    if role not in GRANTABLE:
        raise UnknownName(f"role is {role!r}; it must be one of {', '.join(GRANTABLE)}")
    username = User.normalize_username(username.strip())
    if new and User.objects.filter(username__iexact=username).exists():
        raise Unacceptable(f"The user name {username} is taken. Please choose another.")
    existing = User.objects.filter(username=username, is_active=True).first()
    if not new and (existing is None or is_self_registered(existing)):  # annotators are not addressed by user name
        raise Unacceptable(f"There is no account with the user name {username}.")
    user, changed = grant_role(username=username, role=role, place=place)
    logger.info("%s given to %s in %s by %s", role, _named(user), place, _named(by))
    return user, changed


@transaction.atomic
def revoke_role(*, user: User, role: str, place: Place | None = None, by: User | None = None) -> None:
    """Revoke a user's role in a study, or in a group. A site admin's role is global.

    Ratings stay. An annotator's claim becomes free when its lease expires.

    Raises: UnknownName if they don't hold it, or `by` may not revoke it; AnnotationError for the last site admin.
    """
    if role == Role.ADMIN:
        _require_site_admin(by)
        # All are locked, so that two site admins who revoke each other's role can't both succeed.
        admins = list(User.objects.select_for_update().filter(is_superuser=True, is_active=True).order_by("pk"))
        if user.pk not in {admin.pk for admin in admins}:
            raise UnknownName(f"{user} is not a site admin")
        if len(admins) == 1:
            raise AnnotationError(f"{user} is the last site admin; create another one first")
        user.is_staff = user.is_superuser = False
        user.save(update_fields=["is_staff", "is_superuser"])
    else:
        _require_manager(by, place)
        ended, _rows = RoleGrant.objects.filter(user=user, role=role, **columns_of(place)).delete()
        if not ended:
            kind = "study" if isinstance(place, Study) else "group"
            raise UnknownName(f"{user} is not {role} in {kind} {place}")
    logger.info("%s taken from %s in %s by %s", role, _named(user), place or "everything", _named(by))


@transaction.atomic
def move_study(*, study: Study, group: ResearchGroup, by: User | None = None) -> int:
    """Move a study to another group and return how many roles in the study itself were revoked.

    Roles in the new group replace those in the old one. Roles of researchers and study admins in the study itself are
    revoked, since they came from the old group; those of annotators stay.

    Raises: UnknownName unless `by` is a site admin.
    """
    _require_site_admin(by)
    study = Study.objects.select_for_update(of=("self",)).get(pk=study.pk)
    if study.group_id == group.pk:
        return 0
    before, study.group = study.group, group
    study.save(update_fields=["group"])
    ended, _rows = RoleGrant.objects.filter(study=study, role__in=READING).delete()
    logger.info("study %s moved from group %s to %s by %s", study, before, group, _named(by))
    return ended


def new_member_link(*, user: User, base_url: str, place: Place, by: User) -> str:
    """Return a new one-time sign-in link for a member who has never signed in and has no roles elsewhere.

    For other accounts, a link would give access to what `by` may not see.
    Raises: Unacceptable for any other account; UnknownName if `by` may not grant roles here.
    """
    _require_manager(by, place)
    if not has_never_signed_in(user) or not (by.is_superuser or has_no_roles_outside(user, place)):
        raise Unacceptable(
            f"{user.get_username()} has signed in before, or has roles elsewhere: a site admin can create a "
            "link for them."
        )
    return login_link(user=user, base_url=base_url)


def _require_site_admin(by: User | None) -> None:
    if by is not None and not by.is_superuser:
        raise UnknownName("only site admins may do this")


def _require_manager(by: User | None, place: Place | None) -> None:
    if place is None or (by is not None and not may_give_roles(by, place)):
        raise UnknownName("no such study or group")


def _named(by: User | None) -> str:
    return account_in_log(by.pk if by is not None else None)
