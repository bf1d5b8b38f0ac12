"""Stacked bars by separability bin, a panel for each rater (paper 004, figures 6 to 12)."""

from collections.abc import Mapping
from typing import Any

from reporting.core.charts import OWN_X_AXES, PANEL, Findings, Spec, column_spec, empty_chart, panels, quantity
from reporting.core.themes import THEMES
from reporting.findings.charts.common import (
    bin_labels,
    configuration_notes,
    rater_names,
    reason,
    separability_axis,
    title_of,
)


def consistency_by_bin(findings: Findings, theme: str) -> Spec:
    """Stacked bars: the share of rating sets at each consistency, per separability bin and rater."""
    values = sorted(
        {
            float(value)
            for rating_set in with_sets(findings)
            for value in _values(rating_set, "consistency_distribution")
        }
    )
    colour = {
        "field": "consistency",
        "type": "ordinal",
        "title": "Consistency",
        "sort": values,
        "scale": {"domain": values, "range": [THEMES[theme].consistency(value) for value in values]},
        "legend": {"columns": min(len(values), 7), "format": ".2~f"},
    }
    return _stacks(findings, "consistency", colour, "How consistent rating sets are, by separability", theme)


def strength_by_bin(findings: Findings, theme: str) -> Spec:
    """Stacked bars: the share of rating sets at each preference strength, per separability bin and rater."""
    colours = THEMES[theme]
    colour = {
        "field": "preference_strength",
        "type": "quantitative",
        "title": "Preference strength (−1: A, 1: B)",
        "scale": {"domain": [-1, 0, 1], "range": list(colours.opposites), "interpolate": "lab"},
        "legend": {"gradientLength": 200, "direction": "horizontal", "values": [-1, -0.5, 0, 0.5, 1]},
    }
    title = "How strongly a system is preferred, by separability; A at the bottom, B at the top"
    return _stacks(findings, "preference_strength", colour, title, theme)


def with_sets(findings: Findings) -> list[dict[str, Any]]:
    """Return the raters that have rating sets. The page lists the others with the reason."""
    return [rater for rater in findings["raters"] if rater["rating_sets"]]


def _stacks(findings: Findings, measure: str, colour: Spec, meaning: str, theme: str) -> Spec:
    drawn = with_sets(findings)
    short = rater_names(findings, (rater["rater"] for rater in drawn), 22)
    rows = [row for rater in drawn for row in _stacked(rater, short[rater["rater"]], measure)]
    if not rows:
        return empty_chart(title_of(findings), reason(findings), theme)
    x, y = separability_axis(angle=-90), quantity("share", "Share of rating sets", scale={"domain": [0, 1]})
    bars = {
        "mark": {"type": "bar", "stroke": THEMES[theme].background, "strokeWidth": 0.5},
        "encoding": {
            "x": x,
            "y": {**y, "axis": {"format": ".0%"}},
            "color": colour,
            "order": {"field": measure, "type": "quantitative"},
        },
    }
    counts = {
        "transform": [{"filter": {"field": "_first", "equal": True}}],
        "mark": {"type": "text", "baseline": "bottom", "dy": -3, "fontSize": 11, "color": THEMES[theme].ink},
        "encoding": {"x": x, "y": {"datum": 1}, "text": {"field": "n", "type": "quantitative"}},
    }
    spec = {
        "data": {"values": rows},
        **panels("rater", list(short.values()), [bars, counts], PANEL, columns=2, resolve=OWN_X_AXES),
    }
    notes = ["above the bars: number of rating sets", *configuration_notes(findings)]
    return column_spec(spec, [title_of(findings), meaning], notes, theme)


def _stacked(rater: Findings, name: str, measure: str) -> list[dict[str, Any]]:
    """Return one row per bin and value. A bin without rating sets has a row of 0."""
    rows = []
    for label, bin_ in zip(bin_labels(rater["bins"]), rater["bins"], strict=True):
        n = bin_["rating_sets"]
        counts: Mapping[str, int] = bin_[f"{measure}_distribution"] or {"0.0": 0}
        rows += [
            {
                "rater": name,
                "bin": label,
                "bin_low": bin_["low"],
                "bin_high": bin_["high"],
                measure: float(value),
                "share": count / n if n else 0.0,
                "rating_sets": count,
                "n": n,
                "instances": bin_["instances"],
                "_first": index == 0,
            }
            for index, (value, count) in enumerate(counts.items())
        ]
    return rows


def _values(rater: Findings, name: str) -> set[str]:
    return {value for bin_ in rater["bins"] for value in bin_[name] or {"0.0": 0}}
