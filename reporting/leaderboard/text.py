"""The leaderboard's tables, and what would settle the next place."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.template.defaultfilters import pluralize

from annotation.core.tables import DataTable, Row
from reporting.core.text import rater_name
from reporting.findings.sections.rankings import MEASURES, rank_text
from reporting.leaderboard.leaderboard import MEASURES as LISTED

Leaderboard = Mapping[str, Any]
MOST_NAMED = 4


def ranks_table(at: int, of_rater: Leaderboard) -> DataTable:
    """Return the table of a rater: each system's ranks by each measure with their ranges, and its rating."""
    named = [name for name in LISTED if of_rater["systems"] and name in of_rater["systems"][0]]
    main = of_rater["measure"]
    columns = ["System", MEASURES[main][0], *(f"Rank by {MEASURES[name][0]}" for name in named)]
    rows: list[Row] = [((one["system"],), _cells(one, main, named)) for one in of_rater["systems"]]
    caption = f"Leaderboard with {rater_name(of_rater['rater'])}; ranks with their range"
    return DataTable(f"ranks-{at}", caption, columns, rows, most=len(rows), css="wide stack lines")


def _cells(one: Leaderboard, main: str, named: Sequence[str]) -> list[Any]:
    score = {**one[main], "digits": MEASURES[main][1], "why": one[main]["why"] or ""}
    return [score, *(rank_text(one[name]) for name in named)]


def by_dataset_table(at: int, of_rater: Leaderboard, datasets: Sequence[Leaderboard]) -> DataTable | None:
    """Return the ranks in each data set beside each other; None where there is one."""
    if not datasets:
        return None
    columns: list[dict[str, str] | None] = []
    for one in datasets:
        own = next((other for other in one["raters"] or () if other["rater"] == of_rater["rater"]), None)
        columns.append(own and {row["system"]: rank_text(row[own["measure"]]) for row in own["systems"]})
    waiting = [one["raters"] is None for one in datasets]
    rows: list[Row] = [
        (
            (row["system"],),
            [
                "being computed" if waits else (column or {}).get(row["system"])
                for column, waits in zip(columns, waiting, strict=True)
            ],
        )
        for row in of_rater["systems"]
    ]
    caption = f"Ranks by data set with {rater_name(of_rater['rater'])}"
    return DataTable(f"datasets-{at}", caption, ["System", *(one["dataset"] for one in datasets)], rows)


def _names(names: Sequence[str]) -> str:
    """List the first names."""
    more = len(names) - MOST_NAMED
    shown = ", ".join(names[:MOST_NAMED])
    if more <= 0:
        return shown
    return f"{shown} and {more} other{pluralize(more)}"


def next_text(of_rater: Leaderboard) -> str:
    """Say how many places are settled, and how many more comparisons would settle the next one."""
    found = of_rater["next_place"]
    if found is None:
        return ""
    if found["place"] is None:
        return "Every place is settled." if found["more"] == 0 else f"No place is settled: {found['why']}."
    open_ = (
        f"Place {found['place']} is the next to be settled: {found['system']} is not surely better than "
        f"{_names(found['others'])}."
    )
    if found["more"] is None:
        return f"{open_} How many more comparisons that takes cannot be told: {found['why']}."
    return (
        f"{open_} About {found['more']} further comparison{pluralize(found['more'])}, spread over systems and further "
        f"instances as the {found['comparisons']} so far, would settle it with a chance of {found['chance']:.0%}, if the "
        "differences are as they look now."
    )
