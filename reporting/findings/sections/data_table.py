"""A table of the page: rows with their headings, of which it shows the first."""

from collections.abc import Iterable, Mapping
from typing import Any

from annotation.core.tables import DataTable, fixed
from reporting.core.text import counted, rater_name

LEAST_P = 0.001  # smaller ones are not written out


def by_bin(
    name: str, caption: str, bins: Iterable[dict[str, Any]] | None, key: str, *, counted: str = ""
) -> DataTable | None:
    """Return a table with a row for each separability bin and a column for each rater; None without bins.

    counted : what a bin's number counts; instances, if empty
    """
    if not bins:
        return None
    listed = list(bins)
    raters = list(dict.fromkeys(one["rater"] for bin_ in listed for one in bin_["raters"] if key in one))
    rows = []
    for bin_ in listed:
        found = {one["rater"]: one[key] for one in bin_["raters"] if key in one}
        rows.append(((bin_text(bin_), bin_["instances"]), [found.get(rater) for rater in raters]))
    return DataTable(name, caption, ["Separability", counted or "Instances", *map(rater_name, raters)], rows)


def bin_text(bin_: Mapping[str, Any]) -> str:
    """Return the edges of a separability bin."""
    return f"{fixed(bin_['low'], 2)} to {fixed(bin_['high'], 2)}"


def configuration_name(one: Mapping[str, Any]) -> str:
    """Return the data set and the two systems of a configuration."""
    return f"{one['dataset']}: {one['system_a']} (A) and {one['system_b']} (B)"


def short_estimate(found: Mapping[str, Any]) -> str:
    """Return an estimate that has a value with its interval and n in one line."""
    n = f"n = {counted(found['n'], found['of'])}"
    if found["low"] is None:
        return f"{fixed(found['value'])} ({n})"
    return f"{fixed(found['value'])} [{fixed(found['low'])}, {fixed(found['high'])}] ({n})"


def p_text(p_value: float | None, equals: str = "") -> str:
    """Format a p-value; `equals` stands before one that is written out."""
    if p_value is None:
        return "—"
    return "< 0.001" if p_value < LEAST_P else f"{equals}{p_value:.3f}"


def adjusted_heading(tests: int) -> str:
    """Return the heading of the p-values adjusted over this number of tests."""
    return f"p, adjusted by Holm’s method over {tests} tests"
