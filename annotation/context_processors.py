"""Template variables about the roles of the user who is signed in."""

from functools import partial

from django.http import HttpRequest

from annotation.members.permissions import READERS, has_any_role, has_group_role
from annotation.models.members import Role


def roles(request: HttpRequest) -> dict[str, object]:
    """Tell templates which parts of the navigation to show."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {"may_rate": False, "may_read": False, "may_see_groups": False}
    # Asked of the database only where a template uses them, which the parts that htmx fetches don't.
    return {
        "may_rate": partial(has_any_role, user, Role.ANNOTATOR),
        "may_read": partial(has_any_role, user, *READERS),
        "may_see_groups": partial(has_group_role, user, *READERS),
    }
