"""The section of the findings page on people one by one."""

from collections.abc import Callable
from typing import Any

from django.urls import reverse

from annotation.core.tables import DataTable
from annotation.core.tables import Row as TableRow
from annotation.models import Study
from reporting.findings.configurations.rater_findings import has_one_pair
from reporting.findings.raters.raters_table import flag_text
from reporting.findings.sections.data_table import configuration_name

MOST_SHOWN = 50  # all are in the JSON
FIRST = "flags"

Row = dict[str, Any]
# Headings, and what a column sorts by: the largest first, unknown values last.
SORTS: dict[str, tuple[str, Callable[[Row], float | None]]] = {
    FIRST: ("To look at", lambda row: len(row["flags"])),
    "ratings": ("Ratings", lambda row: row["ratings"]),
    "consistency": ("Mean consistency", lambda row: row["consistency"]["value"]),
    "agreement": ("Agreement with others", lambda row: row["agreement"]["value"]),
    "left": ("Preferences for the left", lambda row: row["left_share"]["value"]),
    "seconds": ("Seconds a pair", lambda row: row["seconds_median"]),
    "gold": ("Known answers", lambda row: row["gold"]["share"]),
    "influence": ("Moves a win rate by", lambda row: _size(row["influence"]["win_rate"]["change"])),
}


def raters_section(study: Study, numbers: dict[str, Any], asked: str, filters: str) -> dict[str, Any]:
    """Return what the section shows: people sorted by the column that is asked for, or those to look at first.

    filters : the page's query without the sorting
    """
    by = asked if asked in SORTS else FIRST
    ordered = sorted(numbers["raters"], key=_order(SORTS[by][1]))
    shown = ordered[:MOST_SHOWN]
    columns = _columns(ordered, has_one_pair(numbers["configurations"]))
    pages = dict(study.annotators.filter(code__in=[row["rater"] for row in shown]).values_list("code", "pk"))
    return {
        "rows": [
            {
                **row,
                "page": reverse("annotation:rater", args=[study.slug, pages[row["rater"]]])
                if row["rater"] in pages
                else "",
                "said": [flag_text(flag) for flag in row["flags"]],
            }
            for row in shown
        ],
        "verdicts": _verdicts(numbers["dawid_skene"]),
        "confusions": _confusions(numbers["dawid_skene"]),
        "more": len(ordered) - len(shown),
        "flagged": sum(bool(row["flags"]) for row in ordered),
        "all": len(ordered),
        "sorted": by == asked,
        "without": SORTS.keys() - columns.keys(),
        "columns": [
            {
                "heading": heading,
                "query": "&".join([*filter(None, [filters]), f"raters_by={name}"]),
                "chosen": name == by,
            }
            for name, (heading, _key) in columns.items()
        ],
    }


def _columns(rows: list[Row], one_pair: bool = False) -> dict[str, tuple[str, Callable[[Row], float | None]]]:
    """Return the columns with a value for at least one rater, without consistency where no instance has two pairs."""
    empty = {"consistency": one_pair, "seconds": not any(row["seconds_median"] for row in rows)}
    empty["gold"] = all(row["gold"]["share"] is row["gold"]["repeat_share"] is None for row in rows)
    return {name: column for name, column in SORTS.items() if not empty.get(name)}


def _verdicts(found: Row) -> DataTable:
    """Return Dawid and Skene's verdicts beside the majority by configuration."""
    rows: list[TableRow] = [
        (
            (configuration_name(one),),
            [
                one["pairs"],
                *("{a} / {tie} / {b} / {shared}".format(**one[key]) for key in ("majority", "verdicts")),
                f"{one['differs']} of {one['differs_of']}",
            ],
        )
        for one in found["configurations"] or ()
    ]
    headings = [
        *("Configuration", "Pairs", "Majority: A / tie / B / none"),
        *("Model: A / tie / B / none", "They differ on"),
    ]
    return DataTable("dawid-skene", "Verdicts of the majority and of the model, in pairs", headings, rows)


def _confusions(found: Row) -> DataTable:
    """Return each person's confusion matrix: a column for each true class with the shares of A, tie and B given there."""
    rows: list[TableRow] = [
        (
            (one["rater"],),
            [
                one["ratings"],
                one["right"],
                *(given and " / ".join(f"{share:.2f}" for share in given) for given in one["confusion"]),
            ],
        )
        for one in found["people"] or ()
    ]
    headings = [
        *("Rater", "Ratings", "As the model", "Where A is better: A / tie / B"),
        *("Where it is a tie: A / tie / B", "Where B is better: A / tie / B"),
    ]
    return DataTable("confusions", "How each person rates, by the model", headings, rows, digits=2)


def _order(key: Callable[[Row], float | None]) -> Callable[[Row], Any]:
    def place(row: Row) -> Any:
        value = key(row)
        return value is None, -(value or 0.0), row["rater"]

    return place


def _size(change: float | None) -> float | None:
    return None if change is None else abs(change)
