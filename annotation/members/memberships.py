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


Place = ResearchGroup | Study  # where a role holds: in one study, or in all of a group


def columns_of(place: Place | None) -> dict[str, Any]:
    """Return the columns by which a role says where it holds."""
    return {
        "study": place if isinstance(place, Study) else None,
        "group": place if isinstance(place, ResearchGroup) else None,
    }


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


def may_give_roles(user: User, place: Place) -> bool:
    """Tell whether `user` may grant roles in a study or group, as its study admins and site admins may."""
    if isinstance(place, Study):
        return Study.objects.visible_to(user, Role.STUDY_ADMIN).filter(pk=place.pk).exists()
    return groups_of(user, Role.STUDY_ADMIN).filter(pk=place.pk).exists()


def grants_in(place: Place | None) -> QuerySet[RoleGrant]:
    """Return the roles granted in a study itself, or in a group, by user name."""
    grants = RoleGrant.objects.filter(**columns_of(place)).select_related("user", "study", "group")
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


def members_of(place: Place) -> QuerySet[RoleGrant]:
    """Return the roles in a group, or in a study with its group's readers and without annotators from channels."""
    own = grants_in(place)
    if not isinstance(place, Study):
        return own
    return readers(own) | annotators(own, study=place) | readers(grants_in(place.group))


def has_never_signed_in(user: User) -> bool:
    """Tell whether an active account without a password has never signed in."""
    return user.last_login is None and not user.has_usable_password() and user.is_active


def has_no_roles_outside(user: User, place: Place) -> bool:
    """Tell whether an account has no roles outside a study, or outside a group and its studies."""
    if user.is_superuser or user.is_staff:
        return False
    if isinstance(place, Study):
        grants, annotators = user.role_grants.exclude(study=place), user.annotators.exclude(study=place)
    else:
        grants = user.role_grants.exclude(group=place).exclude(study__group=place)
        annotators = user.annotators.exclude(study__group=place)
    return not grants.exists() and not annotators.exists()
