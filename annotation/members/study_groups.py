"""The groups in which a user may create a study."""

from django.contrib.auth.models import User

from annotation.members.permissions import READERS, group_of_new_study
from annotation.models import ResearchGroup, Study


def groups_of_new_study(user: User) -> list[ResearchGroup]:
    """Return the groups in which `user` may create a study, the default first.

    Raises: PermissionDenied if there is none.
    """
    first = group_of_new_study(user)
    if user.is_superuser:
        others = ResearchGroup.objects.all()
    else:  # roles in single studies of a group don't count
        grants = user.role_grants.filter(role__in=READERS)
        others = ResearchGroup.objects.filter(role_grants__in=grants).distinct()
    return [first, *(group for group in others.order_by("slug") if group.pk != first.pk)]


def group_of_copy(user: User, study: Study) -> ResearchGroup:
    """Return the group of a study's copy: the study's, if `user` may create studies there, else their default."""
    groups = groups_of_new_study(user)
    return next((group for group in groups if group.pk == study.group_id), groups[0])
