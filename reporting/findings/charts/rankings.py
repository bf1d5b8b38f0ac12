"""Which system is preferred: win rates of two systems, ratings of more, and how the ways of rating differ."""

from typing import Any

from reporting.core.charts import Findings, Spec, shorten
from reporting.core.raters import PEOPLE
from reporting.findings.charts.common import column_spec, nothing, study_captions
from reporting.findings.charts.dots import Row, dot_rows, first_series, point

WIN_RATE = "Share of comparisons won, a tie as half"
RATING = "Rating on Elo's scale"
WAYS = {
    "bradley_terry": "Bradley–Terry",
    "sep_bradley_terry": "SEP-Bradley–Terry",
    "elo": "Elo",
    "sep_elo": "SEP-Elo",
}
NO_RATING = "no comparison yet"
INTERVALS = "bars: 95% intervals over instances"


def preferences(found: Findings, theme: str) -> Spec:
    """Points: each rater's win rate of the better of two systems; of more systems their Bradley-Terry ratings."""
    measure = "bradley_terry" if _of(found, "bradley_terry") else "win_rate"
    rankings = [one for one in _of(found, measure) if any(row["value"] is not None for row in one["systems"])]
    if not rankings:
        return nothing("Preference", NO_RATING, theme)
    systems = [row["system"] for row in rankings[0]["systems"]]
    if len(systems) == 2:
        first, second = (shorten(name) for name in systems)
        rows = [
            point(_with_n(one["rater"], row), "people" if one["kind"] == "person" else "judge", row)
            for one in rankings
            for row in one["systems"]
            if row["system"] == systems[0] and row["value"] is not None
        ]
        series = list(dict.fromkeys(row["series"] for row in rows))
        title = [f"How often {first} is preferred to {second}", f"{INTERVALS}; dashed: no preference"]
        body = dot_rows(rows, series, WIN_RATE, theme, domain=(0, 1), marks=[(0.5, True)])
        return column_spec(body, title, study_captions(found), theme)
    raters, more = first_series([one["rater"] for one in rankings])
    rows = [
        point(shorten(row["system"]), shorten(one["rater"]), row)
        for system in systems
        for one in rankings
        for row in one["systems"]
        if row["system"] == system and row["value"] is not None and one["rater"] in raters
    ]
    title = ["Ratings of systems (Bradley–Terry)", f"{INTERVALS}, from 20 instances of a system"]
    body = dot_rows(rows, [shorten(name) for name in raters], RATING, theme)
    return column_spec(body, title, [*more, *study_captions(found)], theme)


def ratings(found: Findings, theme: str) -> Spec:
    """Points: ratings of systems by people, plain and weighted by separability (paper 004, figure 9)."""
    named = {one["measure"]: one for one in found["rankings"] if one["rater"] == PEOPLE and one["measure"] in WAYS}
    if not named:
        return nothing("Ratings of systems by people", "two systems have no ratings but their win rate", theme)
    systems = [row["system"] for row in named["bradley_terry"]["systems"]]
    rows: list[Row] = [
        point(shorten(system), WAYS[measure], row)
        for system in systems
        for measure in WAYS
        for row in named[measure]["systems"]
        if row["system"] == system and row["value"] is not None
    ]
    if not rows:
        return nothing("Ratings of systems by people", NO_RATING, theme)
    title = ["Ratings of systems by people", f"{INTERVALS}; SEP: weighted by separability"]
    return column_spec(dot_rows(rows, list(WAYS.values()), RATING, theme), title, study_captions(found), theme)


def _of(found: Findings, measure: str) -> list[dict[str, Any]]:
    return [one for one in found["rankings"] if one["measure"] == measure]


def _with_n(rater: str, estimate: Findings) -> str:
    return f"{shorten(rater, 40)} (n = {estimate['n_instances']})"
