"""Queries about members of groups and studies."""

from typing import Any

from django.contrib.auth.models import User
from django.db.models import Count, Q, QuerySet
from django.db.models.functions import Lower

from annotation.models import Annotator, ResearchGroup, RoleGrant, Study
from annotation.models.members import Role

READING = (Role.RESEARCHER, Role.STUDY_ADMIN)
# A study admin may grant these; only a site admin makes another site admin.
GRANTABLE = (Role.ANNOTATOR, Role.RESEARCHER, Role.STUDY_ADMIN)


def groups_of(user: Any, *roles: str) -> QuerySet[ResearchGroup]:
    """Return the groups in which `user` has one of `roles` (not only in single studies), or all for a site admin."""
    if user.is_superuser:
        return ResearchGroup.objects.all()
    if not user.is_authenticated:
        return ResearchGroup.objects.none()
    grants = user.role_grants.filter(role__in=roles, study=None).order_by()
    return ResearchGroup.objects.filter(pk__in=grants.values("group_id"))


def with_counts(groups: QuerySet[ResearchGroup]) -> QuerySet[ResearchGroup]:
    """Annotate with `study_count` and `reader_count`, the researchers and study admins of the group."""
    readers = Count("role_grants__user", filter=Q(role_grants__role__in=READING), distinct=True)
    return groups.annotate(study_count=Count("studies", distinct=True), reader_count=readers)


def may_give_roles(user: User, *, study: Study | None = None, group: ResearchGroup | None = None) -> bool:
    """Tell whether `user` may grant roles in a study or group, as its study admins and site admins may."""
    if user.is_superuser:
        return True
    if study is not None:
        return Study.objects.visible_to(user, Role.STUDY_ADMIN).filter(pk=study.pk).exists()
    return group is not None and groups_of(user, Role.STUDY_ADMIN).filter(pk=group.pk).exists()


def grants_in(*, study: Study | None = None, group: ResearchGroup | None = None) -> QuerySet[RoleGrant]:
    """Return the roles granted in a study itself, or in a group, by user name."""
    grants = RoleGrant.objects.filter(study=study, group=group).select_related("user", "study", "group")
    return grants.order_by(Lower("user__username"), "user__username", "role")


def readers(grants: QuerySet[RoleGrant]) -> QuerySet[RoleGrant]:
    """Filter researchers and study admins."""
    return grants.filter(role__in=READING)


def annotators(grants: QuerySet[RoleGrant], *, study: Study | None = None) -> QuerySet[RoleGrant]:
    """Filter annotators. A study's exclude those from channels, whom the channel's page lists."""
    grants = grants.filter(role=Role.ANNOTATOR)
    if study is None:
        return grants
    nameless = Annotator.objects.filter(study=study, user__isnull=False).exclude(kind=Annotator.Kind.ACCOUNT)
    return grants.exclude(user__in=nameless.values("user_id"))


def members_of(*, study: Study | None = None, group: ResearchGroup | None = None) -> QuerySet[RoleGrant]:
    """Return the roles in a group, or in a study with its group's readers and without annotators from channels."""
    if study is None:
        return grants_in(group=group)
    own = grants_in(study=study)
    of_group = readers(grants_in(group=study.group))
    return readers(own) | annotators(own, study=study) | of_group


def has_never_signed_in(user: User) -> bool:
    """Tell whether an active account without a password has never signed in."""
    return user.last_login is None and not user.has_usable_password() and user.is_active


def has_no_roles_outside(user: User, *, study: Study | None = None, group: ResearchGroup | None = None) -> bool:
    """Tell whether an account has no roles outside a study, or outside a group and its studies."""
    if user.is_superuser or user.is_staff:
        return False
    if study is not None:
        grants, annotators = user.role_grants.exclude(study=study), user.annotators.exclude(study=study)
    else:
        grants = user.role_grants.exclude(group=group).exclude(study__group=group)
        annotators = user.annotators.exclude(study__group=group)
    return not grants.exists() and not annotators.exists()
