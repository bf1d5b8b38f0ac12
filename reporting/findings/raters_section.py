"""The section of the findings page on people one by one."""

from collections.abc import Callable
from typing import Any

from django.http import QueryDict
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from annotation.models import Study
from reporting.findings.rater_flags import flag_text

MOST_SHOWN = 100  # all are in the JSON
FIRST = "flags"

Row = dict[str, Any]
# Headings, and what a column sorts by: the largest first, unknown values last.
SORTS: dict[str, tuple[str | Promise, Callable[[Row], float | None]]] = {
    FIRST: (_("To look at"), lambda row: len(row["flags"])),
    "ratings": (_("Ratings"), lambda row: row["ratings"]),
    "consistency": (_("Mean consistency"), lambda row: row["consistency"]["value"]),
    "agreement": (_("Agreement with others"), lambda row: row["agreement"]["value"]),
    "left": (_("Preferences for the left"), lambda row: row["left_share"]["value"]),
    "seconds": (_("Seconds a pair"), lambda row: row["seconds_median"]),
    "gold": (_("Known answers"), lambda row: row["gold"]["share"]),
    "influence": (_("Moves a win rate by"), lambda row: _size(row["influence"]["win_rate"]["change"])),
}


def raters_section(study: Study, numbers: dict[str, Any], query: QueryDict, filters: str) -> dict[str, Any]:
    """Return what the section shows: people sorted by the column `raters_by`, those to look at first.

    filters : the page's query without the sorting
    """
    asked = query.get("raters_by", "")
    by = asked if asked in SORTS else FIRST
    ordered = sorted(numbers["raters"], key=_order(SORTS[by][1]))
    shown = ordered[:MOST_SHOWN]
    pages = dict(study.annotators.filter(code__in=[row["rater"] for row in shown]).values_list("code", "pk"))
    verdicts = {row["rater"]: row for row in numbers["dawid_skene"]["people"] or ()}
    return {
        "rows": [
            {
                **row,
                "page": reverse("annotation:rater", args=[study.slug, pages[row["rater"]]])
                if row["rater"] in pages
                else "",
                "said": [flag_text(flag) for flag in row["flags"]],
                "verdicts": verdicts.get(row["rater"]),
            }
            for row in shown
        ],
        "more": len(ordered) - len(shown),
        "flagged": sum(bool(row["flags"]) for row in ordered),
        "all": len(ordered),
        "sorted": by == asked,
        "columns": [
            {
                "heading": heading,
                "query": "&".join([*filter(None, [filters]), f"raters_by={name}"]),
                "chosen": name == by,
            }
            for name, (heading, _key) in SORTS.items()
        ],
    }


def _order(key: Callable[[Row], float | None]) -> Callable[[Row], Any]:
    def place(row: Row) -> Any:
        value = key(row)
        return value is None, -(value or 0.0), row["rater"]

    return place


def _size(change: float | None) -> float | None:
    return None if change is None else abs(change)
