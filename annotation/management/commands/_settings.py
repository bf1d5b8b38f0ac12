"""Options of several commands: a study's settings, and the output format."""

from argparse import ArgumentParser
from collections.abc import Iterable
from typing import Any

from django.core.management.base import CommandError
from django.forms import BooleanField

from annotation.models.studies import TaskKind
from annotation.studies.settings_form import BOOLEAN_WORDS, StudySettingsForm

_SETTINGS = ("title", "task", "question")


def add_study_settings(parser: ArgumentParser) -> None:
    """Declare the settings of a new study; an existing study keeps its own."""
    group = parser.add_argument_group("for a new study")
    group.add_argument("--title", help="for researchers; raters never see it")
    group.add_argument("--task", choices=TaskKind.values, help="what the systems were asked to do")
    group.add_argument("--question", help="what raters are asked of each pair")


def study_settings(options: dict[str, Any]) -> dict[str, Any]:
    """Return the given settings, by the model's names."""
    given = {name: options[name] for name in _SETTINGS if options.get(name) is not None}
    if "task" in given:
        given["task_kind"] = given.pop("task")
    return given


def named_settings(items: Iterable[str]) -> dict[str, str]:
    """Read NAME=VALUE settings.

    Raises: CommandError for an unknown setting, or a switch that is neither true nor false.
    """
    return dict(_setting(item) for item in items)


def _setting(item: str) -> tuple[str, str]:
    name, equals, value = item.partition("=")
    field = StudySettingsForm.base_fields.get(name)
    if field is None or not equals:
        raise CommandError(f"{item}: give NAME=VALUE with NAME one of {', '.join(StudySettingsForm.base_fields)}")
    if isinstance(field, BooleanField) and value.lower() not in BOOLEAN_WORDS:
        raise CommandError(f"{item}: the value must be true or false")
    return name, value


def add_format(parser: ArgumentParser) -> None:
    """Declare the output format."""
    parser.add_argument(
        "--format", choices=["text", "json"], default="text", help="json: one document and nothing else"
    )
