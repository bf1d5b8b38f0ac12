"""Options with which several commands set up a study that is new."""

from argparse import ArgumentParser
from typing import Any

from annotation.models.study import TaskKind

_SETTINGS = ("title", "task", "question")


def add_study_settings(parser: ArgumentParser) -> None:
    """Declare what a new study may be given; a study that is there already keeps its own."""
    group = parser.add_argument_group("for a new study")
    group.add_argument("--title", help="for researchers; raters never see it")
    group.add_argument("--task", choices=TaskKind.values, help="what the systems were asked to do")
    group.add_argument("--question", help="what raters are asked of each pair")


def study_settings(options: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that were given, under the model's names."""
    given = {name: options[name] for name in _SETTINGS if options.get(name) is not None}
    if "task" in given:
        given["task_kind"] = given.pop("task")
    return given
