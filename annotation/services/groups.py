"""Research groups and who belongs to them: making groups, giving roles and taking them, moving a study.

Every page and request asks anew what a user holds, so what is taken here ends at once, for open pages, signed-in
browsers and API tokens alike.
"""

import logging
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from annotation.errors import AnnotationError, Unacceptable, UnknownName
from annotation.memberships import GRANTABLE, READING, lies_within, may_give_roles, never_came
from annotation.models import ResearchGroup, RoleGrant, Study
from annotation.models.people import Role
from annotation.registered_names import came_by_themselves
from annotation.services.accounts import grant_role, login_link
from annotation.services.studies import validate

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Member:
    """Whom a role was given to: their account, whether it was made for that, and whether the role is new to them."""

    user: User
    is_new: bool
    changed: bool


def find_group(slug: str) -> ResearchGroup:
    """Return the group with this slug.

    Raises: UnknownName naming those that exist; for commands, not for pages: those know nothing of other groups.
    """
    group = ResearchGroup.objects.filter(slug=slug).first()
    if group is None:
        known = ", ".join(ResearchGroup.objects.values_list("slug", flat=True)[:20]) or "none yet"
        raise UnknownName(f"there is no group {slug}; known: {known}")
    return group


@transaction.atomic
def create_group(*, slug: str, name: str = "", by: User | None = None) -> ResearchGroup:
    """Make a group without members. Whoever is not named (`by`) works on the server itself.

    Raises: AnnotationError when the slug is taken or can't be one; UnknownName for anybody but a site admin.
    """
    _only_site_admins(by)
    group = ResearchGroup(slug=slug, name=name.strip() or slug)
    validate(group)
    group.save()
    logger.info("group %s made by %s", slug, _named(by))
    return group


@transaction.atomic
def rename_group(*, group: ResearchGroup, name: str, by: User | None = None) -> ResearchGroup:
    """Change what a group is called; its slug, and so its address, stays.

    Raises: AnnotationError for an empty or too long name; UnknownName for anybody but a site admin.
    """
    _only_site_admins(by)
    group.name = name.strip()
    validate(group)
    group.save(update_fields=["name"])
    return group


@transaction.atomic
def add_member(
    *,
    username: str,
    role: str,
    study: Study | None = None,
    group: ResearchGroup | None = None,
    must_be_new: bool = False,
    by: User,
) -> Member:
    """Give an account a role in a study, or in all of a group; an account that there is, or one made now.

    It is one or the other, and said beforehand: a slip of the pen makes no account, and a name that somebody else has
    already lets no stranger in.

    Raises: Unacceptable when the account isn't there, or came through a channel, or is there and must be new; AnnotationError for what can't be
    a user name; UnknownName for a role that `by` may not give, or where they may give none.
    """
    _refuse_strangers(by, study, group)
    if role not in GRANTABLE:
        raise UnknownName(f"role is {role!r}; it must be one of {', '.join(GRANTABLE)}")
    username = User.normalize_username(username.strip())
    taken = User.objects.filter(username__iexact=username).exists() if must_be_new else False
    if taken:
        raise Unacceptable(_("The user name %(name)s is taken. Please choose another.") % {"name": username})
    there = User.objects.filter(username=username, is_active=True).first()
    if not must_be_new and (there is None or came_by_themselves(there)):  # a rater's account is nobody's by name
        raise Unacceptable(_("There is no account with the user name %(name)s.") % {"name": username})
    user, changed = grant_role(username=username, role=role, study=study, group=group)
    logger.info("%s given to %s in %s by %s", role, user, study or group, _named(by))
    return Member(user=user, is_new=must_be_new, changed=changed)


@transaction.atomic
def revoke_role(
    *, user: User, role: str, study: Study | None = None, group: ResearchGroup | None = None, by: User | None = None
) -> None:
    """Take a role that a user holds in a study, or in all of a group; a site admin's holds everywhere.

    What they rated and made stays. An annotator's HIT in work is lost to them, and free again when its time runs out.

    Raises: UnknownName when they don't hold it, or `by` may take none there; AnnotationError for the last site admin.
    """
    if role == Role.ADMIN:
        _only_site_admins(by)
        _end_site_admin(user)
    else:
        _refuse_strangers(by, study, group)
        ended, _rows = RoleGrant.objects.filter(user=user, role=role, study=study, group=group).delete()
        if not ended:
            where = f"study {study}" if study else f"group {group}"
            raise UnknownName(_("%(user)s is not %(role)s in %(where)s") % {"user": user, "role": role, "where": where})
    logger.info("%s taken from %s in %s by %s", role, user, study or group or "everything", _named(by))


@transaction.atomic
def move_study(*, study: Study, group: ResearchGroup, by: User | None = None) -> int:
    """Move a study to another group; returns how many roles in the study itself ended with that.

    Roles in the old group say nothing about the study any more, those in the new one do. Researchers and study admins
    of this one study lose their roles too, for they came from the old group; annotators of it rate on.

    Raises: UnknownName for anybody but a site admin.
    """
    _only_site_admins(by)
    study = Study.objects.select_for_update(of=("self",)).get(pk=study.pk)
    if study.group_id == group.pk:
        return 0
    before, study.group = study.group, group
    study.save(update_fields=["group"])
    ended, _rows = RoleGrant.objects.filter(study=study, role__in=READING).delete()
    logger.info("study %s moved from group %s to %s by %s", study, before, group, _named(by))
    return ended


def link_for_newcomer(
    *, user: User, base_url: str, study: Study | None = None, group: ResearchGroup | None = None, by: User
) -> str:
    """Make another one-time sign-in link for an account that was never used and is good for nothing elsewhere.

    More would be a way into somebody else's account.
    Raises: Unacceptable for any other account; UnknownName when `by` may give no roles here.
    """
    _refuse_strangers(by, study, group)
    if not never_came(user) or not (by.is_superuser or lies_within(user, study=study, group=group)):
        raise Unacceptable(
            _("%(name)s has signed in before, or has roles elsewhere: a site admin can make a link for them.")
            % {"name": user.get_username()}
        )
    return login_link(user=user, base_url=base_url)


def _end_site_admin(user: User) -> None:
    # All of them are locked, in one order: of two who end each other at one moment the second finds one left.
    admins = list(User.objects.select_for_update().filter(is_superuser=True, is_active=True).order_by("pk"))
    if user.pk not in {one.pk for one in admins}:
        raise UnknownName(_("%(user)s is not a site admin") % {"user": user})
    if len(admins) == 1:
        raise AnnotationError(_("%(user)s is the last site admin; make another one first") % {"user": user})
    user.is_staff = user.is_superuser = False
    user.save(update_fields=["is_staff", "is_superuser"])


def _only_site_admins(by: User | None) -> None:
    if by is not None and not by.is_superuser:
        raise UnknownName("only site admins may do this")


def _refuse_strangers(by: User | None, study: Study | None, group: ResearchGroup | None) -> None:
    if (study is None) == (group is None):
        raise UnknownName("name either a study or a group")
    if by is not None and not may_give_roles(by, study=study, group=group):
        raise UnknownName("no such study or group")


def _named(by: User | None) -> str:
    return str(by) if by is not None else "the command line"
