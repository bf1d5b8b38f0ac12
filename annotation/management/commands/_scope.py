"""The scope of a role, as an option of commands: one study, one group, or everywhere."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from annotation.management.commands._base import argument, one_of
from annotation.members.groups import find_group
from annotation.models import ResearchGroup, Study
from annotation.models.members import MAIN_GROUP, Role, main_group
from annotation.studies.services import find_study

SCOPE = one_of(
    argument("--study", metavar="SLUG", help="in this study only"),
    argument("--group", metavar="SLUG", help=f"in all studies of this group (default: {MAIN_GROUP}, without --study)"),
)


@dataclass(frozen=True)
class RoleScope:
    """A study, a group, or neither, for site admins, whose role holds everywhere."""

    study: Study | None
    group: ResearchGroup | None

    def __str__(self) -> str:
        if self.study is not None:
            return f"study {self.study}"
        return f"group {self.group}" if self.group is not None else "all studies"


def scope_of(options: Mapping[str, Any], role: str = "") -> RoleScope:
    """Return the scope in the options, by default the main group.

    Raises: UnknownStudy, UnknownName.
    """
    study = find_study(options["study"]) if options["study"] else None
    group = find_group(options["group"]) if options["group"] else None
    if study is None and group is None and role != Role.ADMIN:
        group = main_group()
    return RoleScope(study, group)
