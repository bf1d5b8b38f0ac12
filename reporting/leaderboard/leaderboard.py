"""The leaderboard's ranks, from the rankings in findings that are kept, as JSON and CSV rows."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from analysis.planning.designs import settled_places
from annotation.core.database.aggregates import grouped
from annotation.models import Study
from reporting.findings.data.inputs import Filters
from reporting.findings.reasons import UNEQUAL
from reporting.findings.snapshots import snapshot_of

MEASURES = ("bradley_terry", "sep_bradley_terry", "elo", "sep_elo", "win_rate")
MOST_SLICES = 8  # data sets side by side: each has findings of its own, of which a study keeps 20
ABOUT = ("rank", "rank_low", "rank_high", "value", "low", "high", "level", "n", "of", "n_instances", "tie_rule", "why")
Findings = Mapping[str, Any]


def sliced(numbers: Findings) -> list[str]:
    """Return the data sets whose ranks stand beside each other: where there are several and not too many."""
    names = list(dict.fromkeys(configuration["dataset"] for configuration in numbers["configurations"]))
    return names if 1 < len(names) <= MOST_SLICES else []


def ranks(numbers: Findings, alone: Mapping[str, Findings | None]) -> dict[str, Any]:
    """Return each rater's ranks over all data sets that the findings are about, and in each of them.

    alone : for each data set of `sliced`, the findings on it alone, of which `rankings` and `win_matrices` are used; None
            where they are not there yet, which makes its `raters` null
    """
    return {
        "study": numbers["study"],
        "version": numbers["version"],
        "filters": numbers["filters"],
        "raters": by_rater(numbers),
        "datasets": [
            {"dataset": name, "raters": None if rankings_alone is None else by_rater(rankings_alone)}
            for name, rankings_alone in alone.items()
        ],
    }


def by_rater(numbers: Findings) -> list[dict[str, Any]]:
    """Return an entry for each rater, people first: systems in the order of the ranking, with their ranks by each measure."""
    cycles = {row["rater"]: row["cycles"] for row in numbers["win_matrices"]}
    return [
        _of_rater({row["measure"]: row for row in rankings}, cycles[rater])
        for rater, rankings in grouped((row["rater"], row) for row in numbers["rankings"]).items()
    ]


def _of_rater(named: Mapping[str, Findings], cycles: list[list[str]]) -> dict[str, Any]:
    main = named.get("bradley_terry", named["win_rate"])
    rows_by_measure = {}
    for name in MEASURES:
        if name in named:
            # The order of scores that depend on opponents is not a ranking.
            without = {"rank": None} if named[name]["first"].get("why_code") == UNEQUAL.code else {}
            rows_by_measure[name] = {row["system"]: {**row, **without} for row in named[name]["systems"]}
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
            {
                "system": name,
                **{
                    measure: {key: rows[name].get(key) for key in (*ABOUT, "why_code")}
                    for measure, rows in rows_by_measure.items()
                },
            }
            for name in (row["system"] for row in main["systems"])
        ],
        "cycles": cycles,
    }


COLUMNS = ("dataset", "rater", "kind", "system", "measure", *ABOUT)


def leaderboard(study: Study, filters: Filters, numbers: Findings) -> dict[str, Any]:
    """Return each rater's ranks over all data sets that the findings are about, and in each of them.

    A data set whose findings the worker has yet to compute has no ranks: `raters` is null.
    """
    alone = {name: snapshot_of(study, replace(filters, datasets=(name,))).numbers for name in sliced(numbers)}
    return ranks(numbers, alone)


def as_rows(findings: Findings) -> Iterator[dict[str, Any]]:
    """Yield a row for each data set, rater, system and measure."""
    for dataset, raters in [
        ("", findings["raters"]),
        *((data_set["dataset"], data_set["raters"]) for data_set in findings["datasets"]),
    ]:
        for of_rater in raters or ():
            for system in of_rater["systems"]:
                for measure in (name for name in MEASURES if name in system):
                    values = {name: "" if value is None else value for name, value in system[measure].items()}
                    named = {"dataset": dataset, "rater": of_rater["rater"], "kind": of_rater["kind"]}
                    yield {**named, "system": system["system"], "measure": measure, **values}
