"""The leaderboard as JSON and CSV rows, from the rankings in findings that are kept; nothing is computed a second time."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from analysis.designs import settled_places
from annotation.core.database.aggregates import grouped
from annotation.models import Study
from reporting.findings.data.inputs import Filters
from reporting.findings.snapshots import Snapshot, snapshot_of

MEASURES = ("bradley_terry", "sep_bradley_terry", "elo", "sep_elo", "win_rate")
MOST_SLICES = 8  # data sets side by side: each has findings of its own, of which a study keeps 20
ABOUT = ("rank", "rank_low", "rank_high", "value", "low", "high", "level", "n", "of", "n_instances", "tie_rule", "why")
COLUMNS = ("dataset", "rater", "kind", "system", "measure", *ABOUT)
Findings = Mapping[str, Any]


def leaderboard(study: Study, filters: Filters, numbers: Findings) -> dict[str, Any]:
    """Return each rater's ranks over all data sets that the findings are about, and in each of them.

    A data set whose findings the worker has yet to compute has no ranks: `raters` is null.
    """
    return {
        "study": numbers["study"],
        "version": numbers["version"],
        "filters": numbers["filters"],
        "raters": by_rater(numbers),
        "datasets": [
            {"dataset": name, "raters": None if one.numbers is None else by_rater(one.numbers)}
            for name, one in slices(study, filters, numbers).items()
        ],
    }


def slices(study: Study, filters: Filters, numbers: Findings) -> dict[str, Snapshot]:
    """Return the findings of each data set alone, where there are several and not too many."""
    names = list(dict.fromkeys(one["dataset"] for one in numbers["configurations"]))
    if not 1 < len(names) <= MOST_SLICES:
        return {}
    return {name: snapshot_of(study, replace(filters, datasets=(name,))) for name in names}


def by_rater(numbers: Findings) -> list[dict[str, Any]]:
    """Return an entry for each rater, people first: systems in the order of the ranking, with their ranks by each measure."""
    cycles = {one["rater"]: one["cycles"] for one in numbers["win_matrices"]}
    return [
        _of_rater({one["measure"]: one for one in rankings}, cycles[rater])
        for rater, rankings in grouped((one["rater"], one) for one in numbers["rankings"]).items()
    ]


def _of_rater(named: Mapping[str, Findings], cycles: list[list[str]]) -> dict[str, Any]:
    main = named.get("bradley_terry", named["win_rate"])
    known = {name: {row["system"]: row for row in named[name]["systems"]} for name in MEASURES if name in named}
    limits = [(row["rank_low"] or 0, row["rank_high"] or 0) for row in main["systems"]]
    return {
        "rater": main["rater"],
        "kind": main["kind"],
        "measure": main["measure"],
        "first": main["first"],
        "settled": None
        if "groups" in main
        else settled_places([low for low, _ in limits], [high for _, high in limits]),
        "next_place": main.get("next_place"),
        "systems": [
            {"system": name, **{measure: _about(rows[name]) for measure, rows in known.items()}}
            for name in (row["system"] for row in main["systems"])
        ],
        "cycles": cycles,
    }


def _about(row: Findings) -> dict[str, Any]:
    return {name: row.get(name) for name in ABOUT}


def as_rows(found: Findings) -> Iterator[dict[str, Any]]:
    """Yield a row for each data set, rater, system and measure."""
    for dataset, raters in [("", found["raters"]), *((one["dataset"], one["raters"]) for one in found["datasets"])]:
        for of_rater in raters or ():
            for system in of_rater["systems"]:
                for measure in (name for name in MEASURES if name in system):
                    about = {name: "" if value is None else value for name, value in system[measure].items()}
                    named = {"dataset": dataset, "rater": of_rater["rater"], "kind": of_rater["kind"]}
                    yield {**named, "system": system["system"], "measure": measure, **about}
