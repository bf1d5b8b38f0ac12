"""The audits in the shape of table 1 of *Aligning with Logic*: a row for each judge, grouped by method; four columns for each data set."""

from collections.abc import Iterator
from typing import Any

from annotation.core.database.aggregates import grouped
from reporting.core.text import UNDEFINED, printable
from reporting.logic.audits import estimate_of, side_by_side

Found = dict[str, Any]
COLUMNS = {  # in percent
    "H": "human_agreement",
    "s_tran(5)": "transitivity_5",
    "s_comm": "commutativity",
    "s_neg": "negation_invariance",
}
ALL_COLUMNS = (*COLUMNS, "instances", "s_tran(5) sets", "s_tran(5) coin", "density")  # of a file
FIRST = ("", "direct", "cot")  # people; then the paper's two ways of asking
OF_RATER = ("method", "rater", "model", "wording")


def paper_table(found: Found) -> Found:
    """Return the data sets, and by method each rater with its estimates in percent: by data set, in the order of `COLUMNS`.

    A judge that a ranking asked on chosen pairs has no row; a data set that a rater has no answers on has empty cells.
    """
    raters = side_by_side(found["raters"])
    datasets = list(dict.fromkeys(name for one in raters for name in one["datasets"]))
    rows = [(one.get("method", ""), {"rater": one, "datasets": _by_dataset(one, datasets)}) for one in raters]
    groups = grouped(rows)
    known = [*(name for name in FIRST if name in groups), *(name for name in groups if name not in FIRST)]
    return {"datasets": datasets, "groups": {name: groups[name] for name in known}}


def _by_dataset(one: Found, datasets: list[str]) -> list[Found]:
    return [
        {
            "cells": [_percent(estimate_of(measures, name) if measures else {}) for name in COLUMNS.values()],
            "density": _percent(measures["density"] if measures else {}),
            "instances": measures["transitivity"]["3"]["n_instances"] if measures else 0,
        }
        for measures in (one["datasets"].get(name) for name in datasets)
    ]


def _percent(estimate: Found) -> Found:
    shares = {name: estimate.get(name) for name in ("value", "low", "high", "coin")}
    return {name: None if share is None else 100 * share for name, share in shares.items()} | {
        "why": estimate.get("why", "no answers"),
        "n": estimate.get("n", 0),
        "of": estimate.get("of", ""),
        "n_instances": estimate.get("n_instances"),
    }


def columns_of(table: Found) -> list[str]:
    """Return the columns of `as_rows`."""
    return [*OF_RATER, *(_column(name, label) for name in table["datasets"] for label in ALL_COLUMNS)]


def _column(dataset: str, label: str) -> str:
    return f"{dataset}: {label}" if dataset else label


def as_rows(table: Found) -> Iterator[dict[str, Any]]:
    """Yield a row of CSV for each rater, with percentages as the paper has them."""
    for method, rows in table["groups"].items():
        for row in rows:
            cells: dict[str, Any] = {}
            for dataset, found in zip(table["datasets"], row["datasets"], strict=True):
                sets = found["cells"][list(COLUMNS).index("s_tran(5)")]
                shown = [
                    *(_rounded(one["value"]) for one in found["cells"]),
                    *(found["instances"], sets["n"], _rounded(sets["coin"]), _rounded(found["density"]["value"])),
                ]
                named = (_column(dataset, label) for label in ALL_COLUMNS)
                cells |= dict(zip(named, shown, strict=True))
            yield {**{name: row["rater"].get(name, "") for name in OF_RATER}, "method": method, **cells}


def _rounded(percentage: float | None) -> float | str:
    return "" if percentage is None else round(percentage, 1)


def as_lines(table: Found) -> Iterator[str]:
    """Yield the table for a terminal."""
    names = [printable(row["rater"]["rater"]) for rows in table["groups"].values() for row in rows]
    width = max(map(len, names), default=0) + 2
    datasets = [printable(name) for name in table["datasets"]]
    four = "".join(f"{label:>11}" for label in COLUMNS)
    yield f"{'':<{width}}" + "".join(f"{name:^{len(four)}}" for name in datasets)
    yield f"{'':<{width}}" + four * len(datasets)
    for method, rows in table["groups"].items():
        if method:
            yield method
        for row in rows:
            shown = [
                UNDEFINED if one["value"] is None else f"{one['value']:.1f}"
                for found in row["datasets"]
                for one in found["cells"]
            ]
            yield f"  {printable(row['rater']['rater']):<{width - 2}}" + "".join(f"{value:>11}" for value in shown)
