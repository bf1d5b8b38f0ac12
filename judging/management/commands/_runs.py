"""Shared by the commands that ask models: options, forms, estimates and files."""

import sys
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, TypeVar

from django.core.management.base import CommandError

from annotation.batches.sampling import ids_of
from annotation.management.commands._base import (
    StudyCommand,
    argument,
    arguments_of,
    filled_by,
    one_of,
    read_file,
)
from annotation.management.commands._batches import TWO
from annotation.models import Study
from judging.core.fields import AskingForm
from judging.core.pricing import cost_line
from judging.runs.forms import PairsForm, RunForm

A = TypeVar("A", bound=AskingForm)
REPEATED: Mapping[str, Any] = {"action": "append", "nargs": None}
PARAM = {
    "flag": "--param",
    "action": "append",
    "metavar": "KEY=VALUE",
    "help": "sent with each call, such as max_tokens=300, or an option of the method; null removes one; may be repeated",
}
IDS = {"dest": "ids_file", "nargs": None, "metavar": "FILE", "help": "only the instances of this file, one id per line"}
PAIRS = (  # which of a study's pairs
    one_of(*arguments_of(PairsForm, only=("batch", "off_hits"))),
    *arguments_of(
        PairsForm,
        only=("dataset", "systems", "tags", "instances"),
        systems=TWO,
        tags={"flag": "--tag", "help": "only instances with this tag; may be repeated", **REPEATED},
        instances=IDS,
    ),
)
QUESTIONS = one_of(
    *arguments_of(RunForm, only=("questions",), questions={"flag": "--question", **REPEATED}),
    argument("--all-questions", action="store_true", help="answer every question of the study"),
)
BATCH_API = argument(
    *("--batch-api",),
    dest="way",
    action="store_const",
    const="batch",
    help="use the provider's Batch API: slower, and mostly cheaper",
)
ESTIMATE = argument("--estimate", action="store_true", help="print estimated calls, tokens and cost, and make no call")


class AskingCommand(StudyCommand):
    """A command that asks a model, or says with `--estimate` what that would take."""

    def form_of(self, form: type[A], study: Study, options: Mapping[str, Any], **context: Any) -> A:
        """Return a form filled by the options, and valid.

        Raises: BadFields; CommandError if the file of ids can't be read or is empty.
        """
        values = dict(options)
        if values.get("ids_file"):
            values["instances"] = instance_ids(values["ids_file"])
        if values.get("all_questions"):
            values["questions"] = [question.key for question in study.questions]
        return filled_by(form, values, study=study, **context)

    def say_estimate(
        self, form: AskingForm, estimate: Any, options: Mapping[str, Any], note: str = "", **names: Any
    ) -> None:
        """Print what the work of a form would take."""
        cap = form.cleaned_data["max_cost"]
        values = {"study": form.study.slug, **names, **estimate.as_dict()}
        self.say_document(values, options, f"{note}{cost_of(estimate, cap)}")


def cost_of(estimate: Any, cap: Decimal | None) -> str:
    """Write the expected cost of an estimate. One that exceeds the cap, with what was spent before, says so."""
    total = getattr(estimate, "total", estimate.cost)
    return cost_line(estimate.cost, estimate.currency, total=total, cap=cap)


def text_of(path: str) -> str:
    """Read a text file. `-` is the standard input.

    Raises: CommandError
    """
    data, name = (sys.stdin.buffer.read(), path) if path == "-" else read_file(path)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CommandError(f"{name} is not UTF-8: {error.reason} at byte {error.start}") from None


def instance_ids(path: str) -> list[str]:
    """Return the ids in a file, one a line.

    Raises: CommandError when it can't be read or names none.
    """
    data, name = read_file(path)
    if ids := ids_of(data.decode("utf-8-sig", errors="replace")):
        return list(ids)
    raise CommandError(f"{name} names no instance")
