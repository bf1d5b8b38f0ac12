"""Pictures of preferences: win rates, ratings, wins, and rates at equal lengths."""

from typing import Any

from reporting.core.charts import (
    LONGEST_LABEL,
    MAX_NAME_LENGTH,
    Findings,
    Spec,
    column_spec,
    empty_chart,
    first_of,
    short_names,
    shorten,
)
from reporting.core.raters import PEOPLE
from reporting.core.themes import SHAPES, THEMES
from reporting.findings.answer.statements import leading_system, seen_from
from reporting.findings.charts.cells import ShadedCell, cells_body
from reporting.findings.charts.common import NO_PREFERENCE, SUBJECT, rater_look, rater_names, study_notes
from reporting.findings.charts.dots import HALF, Row, dots_picture, point
from reporting.findings.reasons import BY_PRIOR, UNEQUAL

WAYS = {
    "bradley_terry": "Bradley–Terry",
    "sep_bradley_terry": "SEP-Bradley–Terry",
    "elo": "Elo",
    "sep_elo": "SEP-Elo",
}
MAX_RATES, MAX_RATERS = 8, 4  # rows of win rates at equal lengths, and raters with a panel each
MAX_PANELS, FEW_SYSTEMS, MAX_SYSTEMS = 8, 4, 10  # few systems leave room for several raters and for names of columns


def preferences(findings: Findings, theme: str) -> Spec:
    """Points: each rater's win rate of the better of two systems, or of each of more."""
    rankings = [item for item in _of(findings, "win_rate") if any(row["value"] is not None for row in item["systems"])]
    if not rankings:
        return empty_chart("Preference", "no comparison yet", theme)
    systems = _ranked(findings)
    axis = "Verdicts won, a tie as half"  # fits a phone
    if len(systems) == 2:
        first_system = leading_system(findings) or systems[0]
        first, second = (shorten(name) for name in sorted(systems, key=first_system.__ne__))
        names = rater_names(findings, (ranking["rater"] for ranking in rankings), MAX_NAME_LENGTH)
        rows = [
            point(names[ranking["rater"]], "", row, rater_look(findings, ranking["rater"], theme))
            for ranking in rankings
            for row in ranking["systems"]
            if row["system"] == first_system and row["value"] is not None
        ]
        title = f"How often {first} is preferred to {second}"
        # People come first. Judges alone are in the order of their rates, and those that prefer a system have room first.
        options = HALF | {"by_value": PEOPLE not in names}
        if options["by_value"]:
            rows.sort(key=lambda row: -abs(row["value"] - 0.5))
        return dots_picture(findings, [title], rows, [""], axis, theme, why="", notes=[NO_PREFERENCE], **options)
    raters, more = first_of([ranking["rater"] for ranking in rankings])
    names = rater_names(findings, raters, LONGEST_LABEL)
    rows = [
        point(system, names[ranking["rater"]], row, rater_look(findings, ranking["rater"], theme))
        for system in systems
        for ranking in rankings
        for row in ranking["systems"]
        if row["system"] == system and row["value"] is not None and ranking["rater"] in raters
    ]
    opponents = (
        ["systems met different opponents"]
        if UNEQUAL.code in [ranking["first"].get("why_code") for ranking in rankings]
        else []
    )
    best, series = ["Win rates, best ranked first"], list(names.values())
    return dots_picture(findings, best, rows, series, axis, theme, why="", notes=[*opponents, *more], **HALF)


def ratings(findings: Findings, theme: str) -> Spec:
    """Points: ratings of systems by people, plain and weighted by separability (paper 004, figure 9)."""
    title = f"Scores of systems by {findings[SUBJECT]}"
    named = {
        ranking["measure"]: ranking
        for ranking in findings["rankings"]
        if ranking["rater"] == PEOPLE and ranking["measure"] in WAYS
    }
    if not named:
        return empty_chart(title, "it takes ratings of three systems or more", theme)
    ways = {measure: name for measure, name in WAYS.items() if measure in named}  # a first pass has no Elo
    rated = [
        (system["system"], ways[measure], row)
        for system in named["bradley_terry"]["systems"]
        for measure in ways
        for row in named[measure]["systems"]
        if row["system"] == system["system"] and row["value"] is not None
    ]
    rows, separated = _bounded(rated)
    looks = [(rater_look(findings, PEOPLE, theme)[0], shape) for shape in SHAPES[: len(ways)]]
    series, axis, why = list(ways.values()), "Score on Elo’s scale", "no comparison yet"
    steps = "Elo starts at 1000 and moves in small steps: compare orders, not scores"
    notes = [steps, "SEP: weighted by separability", *separated]
    return dots_picture(findings, [title], rows, series, axis, theme, why=why, notes=notes, looks=looks)


def win_matrix(findings: Findings, theme: str) -> Spec:
    """Heat map: the share of comparisons that each system won against each other one, by rater."""
    title = "Who wins against whom"
    matrices = [matrix for matrix in findings["win_matrices"] if any(map(any, matrix["comparisons"]))]
    if not matrices:
        return empty_chart(title, "no comparison yet", theme)
    ranked = _ranked(findings)
    if len(ranked) < 3:
        return empty_chart(title, "it takes three systems or more", theme)
    is_small = len(ranked) <= FEW_SYSTEMS
    raters, more = first_of([matrix["rater"] for matrix in matrices], MAX_PANELS if is_small else 1)
    systems, more_systems = first_of(ranked, MAX_SYSTEMS)
    names = short_names(systems, 30 if is_small else 14)
    numbers = {name: names[name] if is_small else str(index) for index, name in enumerate(systems, start=1)}
    rows = {name: names[name] if is_small else f"{numbers[name]}  {names[name]}" for name in systems}
    panels = rater_names(findings, raters, 30)
    cells = [
        _meeting(matrix, panels[matrix["rater"]], (system, item), (rows[system], numbers[item]), theme)
        for matrix in matrices
        if matrix["rater"] in raters
        for system in systems
        for item in systems
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
    notes = ["empty: never compared", *more, *more_systems, *study_notes(findings)]
    return column_spec(body, [title, meaning if is_small else plain], notes, theme)


def length_adjusted(findings: Findings, theme: str) -> Spec:
    """Points: A's win rate as it is and at equal lengths, by configuration, a panel for each rater."""
    title = "Win rates at equal lengths"
    everyone = [
        rater["rater"]
        for rater in findings["length_adjusted"]
        if any(row["plain"]["value"] is not None for row in rater["configurations"])
    ]
    raters, more = first_of(everyone, MAX_RATERS if len(findings["configurations"]) > 1 else MAX_RATES)
    limit = max(1, MAX_RATES // max(1, len(raters)))
    names = rater_names(findings, raters, MAX_NAME_LENGTH)
    plain, adjusted = "as it is", "at equal lengths"
    several = len(findings["configurations"]) > 1
    shown = None if several else leading_system(findings)
    rows = [
        point(
            f"{configuration['system_a']} / {configuration['system_b']}, {configuration['dataset']}"
            if several
            else names[rater["rater"]],
            series,
            configuration[key],
            (rater_look(findings, rater["rater"], theme)[0], shape),
            **({"panel": names[rater["rater"]]} if several else {}),
        )
        for rater in findings["length_adjusted"]
        if rater["rater"] in raters
        for row in sorted(rater["configurations"], key=_change, reverse=True)[:limit]
        for configuration in [seen_from(row, shown)]
        for series, key, shape in ((plain, "plain", "circle"), (adjusted, "win_rate_a", "diamond"))
        if configuration[key]["value"] is not None
    ]
    if not any(row["series"] == adjusted for row in rows):
        return empty_chart(title, _why_not_adjusted(findings) if rows else "no comparison yet", theme)
    first = (
        "the first system" if several else shorten(shown or findings["configurations"][0]["system_a"], LONGEST_LABEL)
    )
    axis = f"Win rate of {first}, a tie as half"
    count = len(findings["configurations"])
    most = [f"the {limit} with the widest change, of {count}; the others are under Details"] if count > limit else []
    notes, series = [NO_PREFERENCE, *most, *more], [plain, adjusted]
    return dots_picture(findings, [title], rows, series, axis, theme, why="", notes=notes, panel=several, **HALF)


def _why_not_adjusted(findings: Findings) -> str:
    """Return why no rate is adjusted, where the reason is the same for all."""
    rates = [row["win_rate_a"] for rater in findings["length_adjusted"] for row in rater["configurations"]]
    reasons = {rate["why"] for rate in rates}
    return str(reasons.pop()) if len(reasons) == 1 else "no pair of systems has verdicts to adjust for length"


def _change(configuration: Findings) -> float:
    """Return how far a win rate moves at equal lengths, or -1 if that is not known."""
    plain, adjusted = configuration["plain"]["value"], configuration["win_rate_a"]["value"]
    return -1.0 if plain is None or adjusted is None else abs(adjusted - plain)


def _meeting(
    matrix: dict[str, Any], panel: str, systems: tuple[str, str], labels: tuple[str, str], theme: str
) -> ShadedCell | None:
    row, column = (matrix["systems"].index(name) for name in systems)
    n = matrix["comparisons"][row][column]
    if not n:
        return None
    wins = matrix["wins"][row][column]
    return ShadedCell(
        panel,
        *labels,
        wins / n,
        THEMES[theme].opposites[::-1],
        {"system": systems[0], "against": systems[1], "wins": wins, "ties": matrix["ties"][row][column], "n": n},
    )


def _bounded(rated: list[tuple[str, str, Findings]]) -> tuple[list[Row], list[str]]:
    """Return the points of (system, series, rating), and a note if ratings are left out that the prior alone makes finite."""
    retained = [rated_pairs for rated_pairs in rated if rated_pairs[2].get("why_code") != BY_PRIOR.code]
    if not retained:
        return [point(*rated_pairs) for rated_pairs in rated], []
    note = ["left out: ratings of systems that won or lost everything, which cannot be estimated"]
    return [point(*item) for item in retained], note if len(retained) < len(rated) else []


def _of(findings: Findings, measure: str) -> list[dict[str, Any]]:
    return [ranking for ranking in findings["rankings"] if ranking["measure"] == measure]


def _ranked(findings: Findings) -> list[str]:
    """Return the systems in the order of the first ranking that has a value."""
    rankings = _of(findings, "bradley_terry") or _of(findings, "win_rate")
    main = next(
        (ranking for ranking in rankings if any(row["value"] is not None for row in ranking["systems"])), rankings[0]
    )
    return [row["system"] for row in main["systems"]]
