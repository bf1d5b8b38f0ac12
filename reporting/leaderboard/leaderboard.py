"""The leaderboard as JSON and CSV rows, from the rankings in findings that are kept."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from annotation.models import Study
from reporting.findings.data.inputs import Filters
from reporting.findings.snapshots import snapshot_of
from reporting.leaderboard.ranks import ABOUT, MEASURES, Findings, ranks, sliced

COLUMNS = ("dataset", "rater", "kind", "system", "measure", *ABOUT)


def leaderboard(study: Study, filters: Filters, numbers: Findings) -> dict[str, Any]:
    """Return each rater's ranks over all data sets that the findings are about, and in each of them.

    A data set whose findings the worker has yet to compute has no ranks: `raters` is null.
    """
    alone = {name: snapshot_of(study, replace(filters, datasets=(name,))).numbers for name in sliced(numbers)}
    return ranks(numbers, alone)


def as_rows(found: Findings) -> Iterator[dict[str, Any]]:
    """Yield a row for each data set, rater, system and measure."""
    for dataset, raters in [("", found["raters"]), *((one["dataset"], one["raters"]) for one in found["datasets"])]:
        for of_rater in raters or ():
            for system in of_rater["systems"]:
                for measure in (name for name in MEASURES if name in system):
                    about = {name: "" if value is None else value for name, value in system[measure].items()}
                    named = {"dataset": dataset, "rater": of_rater["rater"], "kind": of_rater["kind"]}
                    yield {**named, "system": system["system"], "measure": measure, **about}
