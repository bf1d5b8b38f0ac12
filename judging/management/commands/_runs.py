"""The options of run commands that select pairs."""

from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandError

from annotation.batches.sampling import ids_of
from annotation.management.commands._base import read_file
from annotation.models import Study
from judging.runs.pair_filters import PairFilter
from judging.runs.services import find_batch


def add_pairs(parser: ArgumentParser) -> None:
    """Add the study argument, and the options that select pairs."""
    parser.add_argument("study", metavar="STUDY", help="the study's slug")
    parser.add_argument("--batch", metavar="NAME", help="only the pairs of this batch")
    parser.add_argument("--dataset", default="", metavar="NAME", help="only pairs of this data set")
    parser.add_argument("--systems", nargs=2, default=(), metavar=("A", "B"), help="only pairs of these two systems")
    parser.add_argument(
        "--tag", action="append", default=[], metavar="TAG", help="only instances with this tag; again for another one"
    )
    parser.add_argument("--instances", metavar="FILE", help="only the instances that a file names, one id a line")


def pairs_of(study: Study, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the selected pairs as keyword arguments of the services.

    Raises: UnknownName for a batch; CommandError if the file of ids can't be read or is empty.
    """
    batch = find_batch(study, options["batch"]) if options["batch"] else None
    only = PairFilter(
        dataset=options["dataset"],
        systems=tuple(options["systems"]),
        tags=tuple(options["tag"]),
        instances=_ids(options["instances"]),
    )
    return {"batch": batch, "only": only}


def _ids(path: str | None) -> tuple[str, ...]:
    if path is None:
        return ()
    data, name = read_file(path)
    found = tuple(ids_of(data.decode("utf-8-sig", errors="replace")))
    if not found:
        raise CommandError(f"{name} names no instance")
    return found
