"""The leaderboard's tables, and what would settle the next place."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.template.defaultfilters import pluralize

from annotation.core.counting import number_of, rounded_up
from annotation.core.tables import Cell, DataTable, Row, fixed
from reporting.core.text import rater_name
from reporting.findings.sections.rankings import MOST_BESIDE, rank_text

Leaderboard = Mapping[str, Any]
MOST_NAMED = 4


def by_dataset_table(at: int, of_rater: Leaderboard, datasets: Sequence[Leaderboard]) -> DataTable | None:
    """Return the ranks in each data set side by side, or None for a single one."""
    if not datasets:
        return None
    columns: list[dict[str, str] | None] = []
    for data_set in datasets:
        own = next((ranked for ranked in data_set["raters"] or () if ranked["rater"] == of_rater["rater"]), None)
        columns.append(own and {row["system"]: rank_text(row[own["measure"]]) for row in own["systems"]})
    waiting = [data_set["raters"] is None for data_set in datasets]
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
    return DataTable(f"datasets-{at}", caption, ["System", *(data_set["dataset"] for data_set in datasets)], rows)


def ranks_by_rater(raters: Sequence[Leaderboard]) -> DataTable | None:
    """Return each system's rank by the first raters side by side, and how far others move it, or None for a single rater."""
    listed = [rater for rater in raters if any(row[rater["measure"]]["rank"] for row in rater["systems"])][:MOST_BESIDE]
    if len(listed) < 2:
        return None
    first, *others = [{row["system"]: row[rater["measure"]]["rank"] for row in rater["systems"]} for rater in listed]
    rows: list[Row] = [
        (
            (system,),
            [rank, *(value for ranks in others for value in (ranks.get(system), _moved(rank, ranks.get(system))))],
        )
        for system, rank in first.items()
    ]
    name, *names = [rater_name(rater["rater"]) for rater in listed]
    columns = ["System", name, *(column for other in names for column in (other, "Change"))]
    more = len(raters) - len(listed)
    caption = f"Ranks side by side; change: places up (+) or down from the rank by {name}"
    return DataTable(
        "ranks-by-rater", caption + (f"; {more} more below" if more else ""), columns, rows, most=len(rows)
    )


def _moved(rank: int | None, other: int | None) -> Cell | None:
    if rank is None or other is None:
        return None
    return Cell(fixed(rank - other, 0, signed=rank != other), {"class": "num", "data-value": rank - other})


def _names(names: Sequence[str]) -> str:
    """List the first names."""
    more = len(names) - MOST_NAMED
    listed = ", ".join(names[:MOST_NAMED])
    if more <= 0:
        return listed
    return f"{listed} and {more} other{pluralize(more)}"


def next_text(of_rater: Leaderboard) -> str:
    """Say how many places are settled, and how many more comparisons would settle the next one."""
    next_place = of_rater["next_place"]
    if next_place is None:
        return ""
    if next_place["place"] is None:
        return "Every place is settled." if next_place["more"] == 0 else f"No place is settled: {next_place['why']}."
    open_ = (
        f"Place {next_place['place']} is the next to be settled: {next_place['system']} is not shown to be better than "
        f"{_names(next_place['others'])}."
    )
    if next_place["more"] is None:
        return f"{open_} How many more comparisons this takes is unknown: {next_place['why']}."
    return (
        f"{open_} About {number_of(rounded_up(next_place['more']), 'further comparison')}, spread like the "
        f"{next_place['comparisons']} so far, would settle it with a chance of {next_place['chance']:.0%}, if differences stay."
    )
