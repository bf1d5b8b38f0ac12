"""Shared options and files of commands that call models."""

import json
import sys
from argparse import ArgumentTypeError
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from django.core.management.base import CommandError

from annotation.batches.sampling import ids_of
from annotation.management.commands._base import Argument, argument, one_of, read_file, whole
from annotation.models import Study
from annotation.questions.questions import MAIN
from annotation.studies.questions import find_question
from judging.core.errors import BadSettings
from judging.core.pricing import check_cap, cost_line
from judging.runs.pair_filters import PairFilter
from judging.runs.services import find_batch

PAIRS = (  # which of a study's pairs
    one_of(
        argument("--batch", metavar="NAME", help="only the pairs of this batch"),
        argument(
            "--off-hits",
            action="store_true",
            help="also pairs that are on no HIT, which make people's win rates more precise",
        ),
    ),
    argument("--dataset", default="", metavar="NAME", help="only pairs of this data set"),
    argument("--systems", nargs=2, default=(), metavar=("A", "B"), help="only pairs of these two systems"),
    argument("--tag", action="append", default=[], metavar="TAG", help="only instances with this tag; may be repeated"),
    argument("--instances", metavar="FILE", help="only the instances of this file, one id per line"),
)

QUESTIONS = one_of(
    argument(
        "--question",
        action="append",
        default=[],
        metavar="KEY",
        help="answer this question of the study; may be repeated (default: the main one)",
    ),
    argument("--all-questions", action="store_true", help="answer every question of the study"),
)

IN_FLIGHT = argument("--in-flight", type=int, metavar="W", help="calls in flight (default: 8)")
CALLS_AT_ONCE = argument("--in-flight", type=int, default=8, metavar="W", help="calls in flight (default: 8)")
LIMIT = argument("--limit", type=whole(1), metavar="N", help="most presentations this time")
ESTIMATE = argument("--estimate", action="store_true", help="print estimated calls, tokens and cost, and make no call")


def max_cost(subject: str) -> Argument:
    """Declare the option for a cap on what something costs."""
    exceeded = "a long answer can exceed it if max_tokens is not set"
    text = f"stop before {subject} has cost more than this; {exceeded}"
    return argument("--max-cost", type=as_money, metavar="X", help=text)


def as_money(text: str) -> Decimal:
    """Read a cap on costs."""
    try:
        cap = Decimal(text)
        check_cap(cap)
    except (InvalidOperation, BadSettings) as error:
        raise ArgumentTypeError(
            str(error) if isinstance(error, BadSettings) else f"not a sum of money: {text}"
        ) from None
    return cap


def cost_of(estimate: Any, cap: Decimal | None) -> str:
    """Write the expected cost of an estimate. One that exceeds the cap, with what was spent before, says so."""
    total = getattr(estimate, "total", estimate.cost)
    return cost_line(estimate.cost, estimate.currency, total=total, cap=cap)


def questions_of(study: Study, options: Mapping[str, Any]) -> list[int]:
    """Return the numbers of the questions that a run answers.

    Raises: UnknownName listing the study's questions.
    """
    if options["all_questions"]:
        return [question.number for question in study.questions]
    return [find_question(study, key).number for key in options["question"]] or [MAIN]


def pairs_of(study: Study, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the selected pairs as keyword arguments of the services.

    Raises: UnknownName for a batch; CommandError if the file of ids can't be read or is empty.
    """
    batch = find_batch(study, options["batch"]) if options["batch"] else None
    only = PairFilter(
        dataset=options["dataset"],
        systems=tuple(options["systems"]),
        tags=tuple(options["tag"]),
        instances=instance_ids(options["instances"]),
        off_hits=options["off_hits"],
    )
    return {"batch": batch, "only": only}


def param(subject: str) -> Argument:
    """Declare the option for parameters, which may be repeated."""
    return argument("--param", type=parameter, action="append", default=[], metavar="KEY=VALUE", help=subject)


def parameter(text: str) -> tuple[str, Any]:
    """Read key=value. The value is JSON where it can be read as such, else text."""
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise ArgumentTypeError(f"expected KEY=VALUE, got {text!r}")

    def refuse_constant(name: str) -> None:  # NaN and Infinity are no JSON, and no endpoint takes them
        raise ArgumentTypeError(f"{name} is not a value that can be sent")

    try:
        return key, json.loads(value, parse_constant=refuse_constant)
    except ValueError:
        return key, value


def text_of(path: str) -> str:
    """Read a text file. `-` is the standard input.

    Raises: CommandError
    """
    data, name = (sys.stdin.buffer.read(), path) if path == "-" else read_file(path)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CommandError(f"{name} is not UTF-8: {error.reason} at byte {error.start}") from None


def instance_ids(path: str | None) -> tuple[str, ...]:
    """Return the ids in a file, one a line, or none without a file.

    Raises: CommandError when it can't be read or names none.
    """
    if not path:
        return ()
    data, name = read_file(path)
    ids = tuple(ids_of(data.decode("utf-8-sig", errors="replace")))
    if not ids:
        raise CommandError(f"{name} names no instance")
    return ids
