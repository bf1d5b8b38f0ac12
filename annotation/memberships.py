"""Who belongs to a group or a study, and who may say so: the questions behind the pages of groups and members."""

from typing import Any

from django.contrib.auth.models import User
from django.db.models import Count, Q, QuerySet
from django.db.models.functions import Lower

from annotation.models import Annotator, ResearchGroup, RoleGrant, Study
from annotation.models.people import Role

READING = (Role.RESEARCHER, Role.STUDY_ADMIN)
# What a study admin holds, and so what they may give; a site admin is made by another site admin only.
GRANTABLE = (Role.ANNOTATOR, Role.RESEARCHER, Role.STUDY_ADMIN)


def groups_of(user: Any, *roles: str) -> QuerySet[ResearchGroup]:
    """Return the groups in all of which `user` holds one of `roles`; all groups for a site admin.

    A role in one study of a group opens that study and nothing of the group.
    """
    if user.is_superuser:
        return ResearchGroup.objects.all()
    if not user.is_authenticated:
        return ResearchGroup.objects.none()
    grants = user.role_grants.filter(role__in=roles, study=None).order_by()
    return ResearchGroup.objects.filter(pk__in=grants.values("group_id"))


def with_counts(groups: QuerySet[ResearchGroup]) -> QuerySet[ResearchGroup]:
    """Add `study_count` and `reader_count`, the people who read all of the group."""
    readers = Count("role_grants__user", filter=Q(role_grants__role__in=READING), distinct=True)
    return groups.annotate(study_count=Count("studies", distinct=True), reader_count=readers)


def may_give_roles(user: User, *, study: Study | None = None, group: ResearchGroup | None = None) -> bool:
    """Tell whether `user` may say who belongs to a study or to a group: its study admins, and site admins."""
    if user.is_superuser:
        return True
    if study is not None:
        return Study.objects.seen_by(user, Role.STUDY_ADMIN).filter(pk=study.pk).exists()
    return group is not None and groups_of(user, Role.STUDY_ADMIN).filter(pk=group.pk).exists()


def grants_in(*, study: Study | None = None, group: ResearchGroup | None = None) -> QuerySet[RoleGrant]:
    """Return the roles given in a study itself, or in a group as a whole, by user name."""
    grants = RoleGrant.objects.filter(study=study, group=group).select_related("user", "study", "group")
    return grants.order_by(Lower("user__username"), "user__username", "role")


def readers(grants: QuerySet[RoleGrant]) -> QuerySet[RoleGrant]:
    """Keep researchers and study admins."""
    return grants.filter(role__in=READING)


def annotators(grants: QuerySet[RoleGrant], *, study: Study | None = None) -> QuerySet[RoleGrant]:
    """Keep annotators; of a study's, those who came through a channel are left to the channel's page."""
    grants = grants.filter(role=Role.ANNOTATOR)
    if study is None:
        return grants
    nameless = Annotator.objects.filter(study=study, user__isnull=False).exclude(kind=Annotator.Kind.ACCOUNT)
    return grants.exclude(user__in=nameless.values("user_id"))


def never_came(user: User) -> bool:
    """Tell whether an account was made for somebody who has not signed in yet."""
    return user.last_login is None and not user.has_usable_password() and user.is_active


def lies_within(user: User, *, study: Study | None = None, group: ResearchGroup | None = None) -> bool:
    """Tell whether an account can do nothing outside a study, or outside a group and its studies."""
    if user.is_superuser or user.is_staff:
        return False
    if study is not None:
        grants, places = user.role_grants.exclude(study=study), user.annotators.exclude(study=study)
    else:
        grants = user.role_grants.exclude(group=group).exclude(study__group=group)
        places = user.annotators.exclude(study__group=group)
    return not grants.exists() and not places.exists()
