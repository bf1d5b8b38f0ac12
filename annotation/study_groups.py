"""Into which groups a user may put a study."""

from django.contrib.auth.models import User

from annotation.access import READERS, group_of_new_study
from annotation.models import ResearchGroup, Study


def groups_of_new_study(user: User) -> list[ResearchGroup]:
    """Return the groups in which `user` may make a study, the one that it goes to unless they choose another first.

    Raises: PermissionDenied when there is none.
    """
    first = group_of_new_study(user)
    if user.is_superuser:
        others = ResearchGroup.objects.all()
    else:  # a role in one study of a group lets nobody into the group
        grants = user.role_grants.filter(role__in=READERS)
        others = ResearchGroup.objects.filter(role_grants__in=grants).distinct()
    return [first, *(group for group in others.order_by("slug") if group.pk != first.pk)]


def group_of_copy(user: User, study: Study) -> ResearchGroup:
    """Return the group that a copy goes to: that of the study where `user` may make one in it, else their own."""
    groups = groups_of_new_study(user)
    return next((group for group in groups if group.pk == study.group_id), groups[0])
