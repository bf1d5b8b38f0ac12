"""Users and the scope of a role, as arguments of commands: one study, one group, or everywhere."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User

from annotation.core.errors import UnknownName
from annotation.management.commands._base import argument, one_of
from annotation.members.groups import find_group
from annotation.members.memberships import Place
from annotation.models import Study
from annotation.models.members import MAIN_GROUP, Role, main_group
from annotation.studies.services import find_study

SCOPE = one_of(
    argument("--study", metavar="SLUG", help="in this study only"),
    argument("--group", metavar="SLUG", help=f"in all studies of this group (default: {MAIN_GROUP}, without --study)"),
)


def user_of(options: Mapping[str, Any]) -> User:
    """Return the user in the options.

    Raises: UnknownName.
    """
    name = options["user"]
    if (user := User.objects.filter(username=name).first()) is None:
        raise UnknownName(f"there is no user {name}; create one: {settings.COMMAND} grant {name} --role …")
    return user


def scope_of(options: Mapping[str, Any], role: str = "") -> Place | None:
    """Return the study or group in the options, by default the main group, or None for site admins.

    Raises: UnknownStudy, UnknownName.
    """
    if options["study"]:
        return find_study(options["study"])
    if options["group"]:
        return find_group(options["group"])
    return None if role == Role.ADMIN else main_group()


def named(place: Place | None) -> str:
    """Name the place of a role. A site admin's is everywhere."""
    if place is None:
        return "all studies"
    return f"study {place}" if isinstance(place, Study) else f"group {place}"
