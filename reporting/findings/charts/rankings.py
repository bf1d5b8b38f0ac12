"""Which system is preferred: win rates, ratings, the matrix of wins, and rates at equal lengths."""

from typing import Any

from analysis.intervals.analytic import MIN_FOR_STATISTIC
from reporting.core.charts import MAX_NAME_LENGTH, Findings, Spec, shorten
from reporting.core.raters import PEOPLE
from reporting.core.themes import SHAPES, THEMES
from reporting.findings.charts.cells import ShadedCell, cells_body
from reporting.findings.charts.common import (
    column_spec,
    first_of,
    first_series,
    interval_notes,
    kind_looks,
    nothing,
    rater_looks,
    rater_names,
    short_names,
    study_notes,
)
from reporting.findings.charts.dots import Row, dot_rows, point
from reporting.findings.reasons import BY_PRIOR

WAYS = {
    "bradley_terry": "Bradley–Terry",
    "sep_bradley_terry": "SEP-Bradley–Terry",
    "elo": "Elo",
    "sep_elo": "SEP-Elo",
}
MAX_RATES = 24  # at equal lengths, of all raters together
MAX_PANELS, FEW_SYSTEMS, MAX_SYSTEMS = 8, 4, 14  # few systems leave room for several raters and for names of columns


def preferences(found: Findings, theme: str) -> Spec:
    """Points: each rater's win rate of the better of two systems; of more systems their Bradley-Terry ratings."""
    measure = "bradley_terry" if _of(found, "bradley_terry") else "win_rate"
    rankings = [one for one in _of(found, measure) if any(row["value"] is not None for row in one["systems"])]
    if not rankings:
        return nothing("Preference", "no comparison yet", theme)
    systems = [row["system"] for row in rankings[0]["systems"]]
    if len(systems) == 2:
        first, second = (shorten(name) for name in systems)
        kinds = {"person": "people", "judge": "judge"}
        names = rater_names((one["rater"] for one in rankings), MAX_NAME_LENGTH)
        rows = [
            point(names[one["rater"]], kinds[one["kind"]], row)
            for one in rankings
            for row in one["systems"]
            if row["system"] == systems[0] and row["value"] is not None
        ]
        known = {kinds[kind]: look for kind, look in kind_looks(theme).items()}
        series = list(dict.fromkeys(row["series"] for row in rows))
        title = f"How often {first} is preferred to {second}"
        axis = "Share of verdicts won, a tie as half"
        looks = [known[name] for name in series]
        body, about_rows = dot_rows(rows, series, axis, theme, looks=looks, share=True, marks=[(0.5, True)])
        notes = [*interval_notes(found, rows), "dashed: no preference", *about_rows, *study_notes(found)]
        return column_spec(body, [title], notes, theme, legend=series)
    raters, more = first_series([one["rater"] for one in rankings])
    names = rater_names(raters, 40)
    rated = [
        (system, names[one["rater"]], row)
        for system in systems
        for one in rankings
        for row in one["systems"]
        if row["system"] == system and row["value"] is not None and one["rater"] in raters
    ]
    rows, separated = _bounded(rated)
    looks = rater_looks(found, names, theme)
    body, about_rows = dot_rows(rows, list(names.values()), "Rating on Elo’s scale", theme, looks=looks)
    notes = [*_rating_notes(found, rows), *separated, *more, *about_rows, *study_notes(found)]
    title = "Ratings of systems (Bradley–Terry)"
    return column_spec(body, [title], notes, theme, legend=list(names.values()))


def ratings(found: Findings, theme: str) -> Spec:
    """Points: ratings of systems by people, plain and weighted by separability (paper 004, figure 9)."""
    title = "Ratings of systems by people"
    named = {one["measure"]: one for one in found["rankings"] if one["rater"] == PEOPLE and one["measure"] in WAYS}
    if not named:
        return nothing(title, "two systems have no ratings but their win rate", theme)
    ways = {measure: name for measure, name in WAYS.items() if measure in named}  # a first pass has no Elo
    rated = [
        (one["system"], ways[measure], row)
        for one in named["bradley_terry"]["systems"]
        for measure in ways
        for row in named[measure]["systems"]
        if row["system"] == one["system"] and row["value"] is not None
    ]
    rows, separated = _bounded(rated)
    if not rows:
        return nothing(title, "no comparison yet", theme)
    looks = [(kind_looks(theme)["person"][0], shape) for shape in SHAPES[: len(ways)]]
    body, about_rows = dot_rows(rows, list(ways.values()), "Rating on Elo’s scale", theme, looks=looks)
    notes = [
        *interval_notes(found, rows),
        "SEP: weighted by separability",
        *separated,
        *about_rows,
        *study_notes(found),
    ]
    return column_spec(body, [title], notes, theme, legend=list(ways.values()))


def win_matrix(found: Findings, theme: str) -> Spec:
    """Heat map: the share of comparisons that each system won against each other one, by rater."""
    title = "Who wins against whom"
    matrices = [one for one in found["win_matrices"] if any(map(any, one["comparisons"]))]
    if not matrices:
        return nothing(title, "no comparison yet", theme)
    rankings = _of(found, "bradley_terry") or _of(found, "win_rate")
    main = next((one for one in rankings if any(row["value"] is not None for row in one["systems"])), rankings[0])
    ranked = [row["system"] for row in main["systems"]]
    few = len(ranked) <= FEW_SYSTEMS
    raters, more = first_of([one["rater"] for one in matrices], MAX_PANELS if few else 1)
    systems, more_systems = first_of(ranked, MAX_SYSTEMS)
    names = short_names(systems, 30 if few else 16)
    numbers = {name: names[name] if few else str(place) for place, name in enumerate(systems, start=1)}
    rows = {name: names[name] if few else f"{numbers[name]}  {names[name]}" for name in systems}
    panels = rater_names(raters, 30)
    cells = [
        _meeting(one, panels[one["rater"]], (system, other), (rows[system], numbers[other]), theme)
        for one in matrices
        if one["rater"] in raters
        for system in systems
        for other in systems
    ]
    body = cells_body(
        [cell for cell in cells if cell],
        rows=list(rows.values()),
        columns=list(numbers.values()),
        titles=("system", "against"),
        panels=list(panels.values()),
    )
    meaning = (
        "share of verdicts that the system of the row won, in percent, a tie as half; below it, in how many they met"
    )
    plain = "share of verdicts that the system of the row won against that of the column, in percent, a tie as half"
    notes = ["empty: never compared", *more, *more_systems, *study_notes(found)]
    return column_spec(body, [title, meaning if few else plain], notes, theme)


def length_adjusted(found: Findings, theme: str) -> Spec:
    """Points: A's win rate as it is and at equal lengths, by configuration, a panel for each rater."""
    title = "Win rates at equal lengths"
    raters, more = first_of(
        [one["rater"] for one in found["length_adjusted"]], max(1, MAX_RATES // max(1, len(found["configurations"])))
    )
    names = rater_names(raters, MAX_NAME_LENGTH)
    plain, adjusted = "as it is", "at equal lengths"
    rows = [
        point(f"{one['system_a']} / {one['system_b']}, {one['dataset']}", series, one[key], panel=names[rater["rater"]])
        for rater in found["length_adjusted"]
        if rater["rater"] in raters
        for one in rater["configurations"]
        for series, key in ((plain, "plain"), (adjusted, "win_rate_a"))
        if one[key]["value"] is not None
    ]
    if not rows:
        return nothing(title, "no comparison yet", theme)
    axis = "Win rate of the first system, a tie as half"
    body, about_rows = dot_rows(rows, [plain, adjusted], axis, theme, share=True, marks=[(0.5, True)], panel=True)
    notes = [*interval_notes(found, rows), "dashed: no preference", *more, *about_rows, *study_notes(found)]
    return column_spec(body, [title], notes, theme, legend=[plain, adjusted])


def _meeting(
    matrix: dict[str, Any], panel: str, systems: tuple[str, str], places: tuple[str, str], theme: str
) -> ShadedCell | None:
    row, column = (matrix["systems"].index(name) for name in systems)
    n = matrix["comparisons"][row][column]
    if not n:
        return None
    wins = matrix["wins"][row][column]
    return ShadedCell(
        panel,
        *places,
        wins / n,
        THEMES[theme].opposites[::-1],
        {"system": systems[0], "against": systems[1], "wins": wins, "ties": matrix["ties"][row][column], "n": n},
    )


def is_without_intervals(found: Findings) -> bool:
    """Tell whether no system has instances enough for the interval of a Bradley-Terry rating."""
    rows = [row for one in _of(found, "bradley_terry") for row in one["systems"]]
    return bool(rows) and all(row["n_instances"] < MIN_FOR_STATISTIC for row in rows)


def _rating_notes(found: Findings, rows: list[Row]) -> list[str]:
    """Say what bars are, or that none will come: those of ratings take 20 instances of a system."""
    if is_without_intervals(found):
        return [f"no intervals: fewer than {MIN_FOR_STATISTIC} instances of each system"]
    return [*interval_notes(found, rows), f"intervals from {MIN_FOR_STATISTIC} instances of a system"]


def _bounded(rated: list[tuple[str, str, Findings]]) -> tuple[list[Row], list[str]]:
    """Return the points of (system, series, rating), and a note if ratings are left out that the prior alone makes finite."""
    kept = [one for one in rated if one[2].get("why_code") != BY_PRIOR.code]
    if not kept:
        return [point(*one) for one in rated], []
    note = ["left out: ratings of systems that won or lost everything, how far apart cannot be told"]
    return [point(*one) for one in kept], note if len(kept) < len(rated) else []


def _of(found: Findings, measure: str) -> list[dict[str, Any]]:
    return [one for one in found["rankings"] if one["measure"] == measure]
