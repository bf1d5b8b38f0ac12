"""The audit of several raters as a table, for CSV."""

from collections.abc import Iterator
from typing import Any

from reporting.logic.audit import SIZES

OF_RATER = ("kind", "method", "model", "wording")
COLUMNS = (
    *("rater", "dataset", "measure"),
    *("value", "low", "high", "level", "n", "of", "n_instances", "tie_rule", "excluded", "why", "coin"),
    *OF_RATER,
)
OF_INSTANCE = ("rater", "dataset", "instance_id", "measure", "value", "n", "of", "tie_rule", "why")
WITHOUT_SIZE = ("human_agreement", "commutativity", "negation_invariance", "self_agreement", "preferred_first")


def as_rows(audit: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield one row for each rater, data set and measure."""
    for rater in audit["raters"]:
        description = {name: rater.get(name) for name in OF_RATER}
        for dataset, measures in [("", rater), *rater["datasets"].items()]:
            for name, estimate in _named(measures):
                row = {**description, "rater": rater["rater"], "dataset": dataset, "measure": name, **estimate}
                yield {column: row.get(column, "") if row.get(column) is not None else "" for column in COLUMNS}


def _named(measures: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "human_agreement", measures["human_agreement"]
    yield from ((f"transitivity_{k}", measures["transitivity"][str(k)]) for k in SIZES)
    yield "density", measures["density"]
    yield from ((name, measures[name]) for name in WITHOUT_SIZE[1:])
