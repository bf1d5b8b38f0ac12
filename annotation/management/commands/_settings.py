"""Options of several commands: a study's settings, and the output format."""

from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from annotation.core.files.mapping import HELP as MAPPING_HELP
from annotation.management.commands._base import argument, group
from annotation.models.studies import TaskKind
from annotation.studies.settings_form import SETTINGS

FORMAT = argument("--format", choices=["text", "json"], default="text", help="json: one document and nothing else")
MAP = argument("--map", action="append", default=[], metavar="FIELD=COLUMN", help=MAPPING_HELP)
NEW_STUDY = group(  # an existing study keeps its own settings
    "for a new study",
    argument("--title", help="for researchers; raters never see it"),
    argument("--task", choices=TaskKind.values, help="task of the systems"),
    argument("--question", help="question that raters answer about each pair"),
)
_SETTINGS = ("title", "task", "question")


def add_base_url(parser: CommandParser) -> None:
    """Declare the server's address, which a setting names by default."""
    parser.add_argument("--base-url", default=settings.BASE_URL, help="address of the server (default: BASE_URL)")


def study_settings(options: dict[str, Any]) -> dict[str, Any]:
    """Return the given settings, by the model's names."""
    values = {name: options[name] for name in _SETTINGS if options.get(name) is not None}
    if "task" in values:
        values["task_kind"] = values.pop("task")
    return values


def named_settings(items: Iterable[str]) -> dict[str, Any]:
    """Read NAME=VALUE settings.

    Raises: CommandError.
    """
    return dict(_setting(item) for item in items)


def _setting(item: str) -> tuple[str, Any]:
    name, equals, value = item.partition("=")
    if not equals:
        raise CommandError(f"{item}: give NAME=VALUE with NAME one of {', '.join(SETTINGS)}")
    return name, [value] if name == "arms" else value
