"""A table of the page: rows with their headings, of which it shows the first."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from annotation.core.counting import counted, fixed, interval_text
from annotation.core.tables import POINTS, Column, DataTable
from reporting.core.text import rater_name

LEAST_P = 0.001  # smaller ones are not written out
Columns = Mapping[Any, str | Callable[[Any], Any]]  # headings, each with the key or the function of an item's cell


def table_of(name: str, caption: str, items: Iterable[Any], heads: Columns, cells: Columns) -> DataTable | None:
    """Return a table with a row for each item, or None without one. `heads` are the columns that name a row."""
    rows = [
        (tuple(_cell(item, of) for of in heads.values()), [_cell(item, of) for of in cells.values()]) for item in items
    ]
    return DataTable(name, caption, [*heads, *cells], rows) if rows else None


def _cell(item: Any, of: str | Callable[[Any], Any]) -> Any:
    return item[of] if isinstance(of, str) else of(item)


def by_bin(
    name: str, caption: str, bins: Iterable[dict[str, Any]] | None, key: str, *, counted: str = "", unit: str = ""
) -> DataTable | None:
    """Return a table with a row for each separability bin and a column for each rater, or None without bins.

    counted : what a bin's number counts; instances, if empty
    """
    if not bins:
        return None
    listed = list(bins)
    raters = list(
        dict.fromkeys(
            rater["rater"]
            for bin_ in listed
            for rater in bin_["raters"]
            if key in rater and (not isinstance(rater[key], Mapping) or rater[key]["value"] is not None)
        )
    )
    rows = []
    for bin_ in listed:
        by_rater = {rater["rater"]: rater[key] for rater in bin_["raters"] if key in rater}
        rows.append(((bin_text(bin_), bin_["instances"]), [by_rater.get(rater) for rater in raters]))
    headings = ["Separability", counted or "Instances", *(Column(rater_name(rater), unit=unit) for rater in raters)]
    return DataTable(name, caption, headings, rows)


def bin_text(bin_: Mapping[str, Any], digits: int = 2) -> str:
    """Return the edges of a bin of separability or of probability."""
    return f"{fixed(bin_['low'], digits)} to {fixed(bin_['high'], digits)}"


def configuration_name(configuration: Mapping[str, Any]) -> str:
    """Return the data set and the two systems of a configuration."""
    return f"{configuration['dataset']}: {configuration['system_a']} (A) and {configuration['system_b']} (B)"


CONFIGURATION: Columns = {"Configuration": configuration_name}


def short_points(estimate: Mapping[str, Any]) -> str:
    """Return a difference of shares that has a value with its interval and n in one line."""
    return f"{interval_text(estimate, 1, POINTS)} (n = {counted(estimate['n'], estimate['of'])})"


def p_text(p_value: float | None, equals: str = "") -> str:
    """Format a p-value. `equals` stands before one that is written out."""
    if p_value is None:
        return "—"
    return "< 0.001" if p_value < LEAST_P else f"{equals}{p_value:.3f}"


def adjusted_heading(tests: int) -> str:
    """Return the heading of the p-values adjusted over this number of tests."""
    return f"p, adjusted by Holm’s method over {tests} tests"


def raters_with_verdicts(configuration: Mapping[str, Any]) -> list[Any]:
    """Return the raters of a configuration that have verdicts, or all where none has."""
    raters = configuration["raters"]
    return [rater for rater in raters if rater["ratings"]] or raters
