"""Shared arguments of the separability commands."""

from collections.abc import Mapping
from typing import Any

from django.core.management import CommandError

from annotation.management.commands._base import SEED, argument
from reporting.separability.arrays import SeparabilityFilters

FILTERS = (  # what `filters_of` reads, and the format
    argument("--dataset", default="", help="only this data set"),
    argument("--systems", nargs="+", default=[], metavar="SYSTEM", help="only pairs of one or two systems"),
    argument("--similarity", default="", help="similarity, or label of a run (default: computed last)"),
    argument("--format", choices=["text", "json"], default="text"),
    SEED,
)


def filters_of(options: Mapping[str, Any], **more: Any) -> SeparabilityFilters:
    """Return the filters of a command's options.

    Raises: CommandError for too many systems.
    """
    if len(options["systems"]) > 2:
        raise CommandError(f"--systems: a pair has two systems, {len(options['systems'])} are named")
    return SeparabilityFilters(
        dataset=options["dataset"],
        systems=tuple(dict.fromkeys(options["systems"])),
        similarity=options["similarity"],
        seed=options["seed"],
        **more,
    )
