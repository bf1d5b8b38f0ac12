"""The scope of a role, as an option of commands: one study, one group, or everywhere."""

from argparse import ArgumentParser
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from annotation.members.groups import find_group
from annotation.models import ResearchGroup, Study
from annotation.models.members import MAIN_GROUP, Role, main_group
from annotation.studies.services import find_study


@dataclass(frozen=True)
class RoleScope:
    """A study, a group, or neither, for site admins, whose role holds everywhere."""

    study: Study | None
    group: ResearchGroup | None

    def __str__(self) -> str:
        if self.study is not None:
            return f"study {self.study}"
        return f"group {self.group}" if self.group is not None else "all studies"


def add_scope(parser: ArgumentParser) -> None:
    """Declare the options."""
    scope = parser.add_mutually_exclusive_group()
    scope.add_argument("--study", metavar="SLUG", help="in this study only")
    scope.add_argument(
        "--group", metavar="SLUG", help=f"in all studies of this group (default: {MAIN_GROUP}, without --study)"
    )


def scope_of(options: Mapping[str, Any], role: str = "") -> RoleScope:
    """Return the scope in the options; the main group by default.

    Raises: UnknownStudy, UnknownName.
    """
    study = find_study(options["study"]) if options["study"] else None
    group = find_group(options["group"]) if options["group"] else None
    if study is None and group is None and role != Role.ADMIN:
        group = main_group()
    return RoleScope(study, group)
