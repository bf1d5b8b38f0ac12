"""The scope of a role, as an option of commands: one study, one group, or everywhere."""

from collections.abc import Mapping
from typing import Any

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
