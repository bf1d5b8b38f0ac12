"""Where a role holds, as the commands that give and take roles are told: one study, one group, or everywhere."""

from argparse import ArgumentParser
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from annotation.models import ResearchGroup, Study
from annotation.models.groups import MAIN_GROUP, main_group
from annotation.models.people import Role
from annotation.services.groups import find_group
from annotation.services.studies import find_study


@dataclass(frozen=True)
class Place:
    """A study, or a group, or neither: a site admin's role holds everywhere."""

    study: Study | None
    group: ResearchGroup | None

    def __str__(self) -> str:
        if self.study is not None:
            return f"study {self.study}"
        return f"group {self.group}" if self.group is not None else "all studies"


def add_place(parser: ArgumentParser) -> None:
    """Declare the options."""
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--study", metavar="SLUG", help="in this study only")
    place.add_argument(
        "--group", metavar="SLUG", help=f"in all studies of this group (default: {MAIN_GROUP}, without --study)"
    )


def place_of(options: Mapping[str, Any], role: str = "") -> Place:
    """Find the study or the group that the options name; the main group where they name none.

    Raises: UnknownStudy, UnknownName.
    """
    study = find_study(options["study"]) if options["study"] else None
    group = find_group(options["group"]) if options["group"] else None
    if study is None and group is None and role != Role.ADMIN:
        group = main_group()
    return Place(study, group)
