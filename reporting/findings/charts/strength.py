"""Preference strength by separability (paper 004, figures 11 and 12)."""

from reporting.core.charts import Findings, Spec, panels, quantity, shorten
from reporting.core.themes import THEMES
from reporting.findings.charts.common import COLUMN, bin_labels, captions_of, column_spec, nothing, reason, title_of
from reporting.findings.charts.consistency import PANEL, with_sets


def strength_by_bin(found: Findings, theme: str) -> Spec:
    """Stacked bars: the share of rating sets at each preference strength, per separability bin and rater."""
    drawn = with_sets(found)
    rows = [
        {
            "rater": shorten(rater["rater"]),
            "bin": label,
            "strength": float(value),
            "share": count / bin_["rating_sets"] if bin_["rating_sets"] else 0.0,
            "rating_sets": count,
            "n": bin_["rating_sets"],
        }
        for rater in drawn
        for label, bin_ in zip(bin_labels(rater["bins"]), rater["bins"], strict=True)
        for value, count in (bin_["preference_strength_distribution"] or {"0.0": 0}).items()
    ]
    if not rows:
        return nothing(title_of(found), reason(found), theme)
    colours = THEMES[theme]
    strength = {
        "field": "strength",
        "type": "quantitative",
        "title": "Preference strength (−1: A, 1: B)",
        "scale": {
            "domain": [-1, 0, 1],
            "range": [colours.raters[0], colours.grid, colours.raters[1]],
            "interpolate": "lab",
        },
        "legend": {
            "titleLimit": COLUMN,
            "gradientLength": 200,
            "direction": "horizontal",
            "values": [-1, -0.5, 0, 0.5, 1],
        },
    }
    bars = {
        "mark": {"type": "bar", "stroke": colours.background, "strokeWidth": 0.5},
        "encoding": {
            "x": {
                "field": "bin",
                "type": "ordinal",
                "sort": None,
                "title": "Separability",
                "axis": {"labelAngle": -30},
            },
            "y": quantity("share", "Share of rating sets", scale={"domain": [0, 1]}, axis={"format": ".0%"}),
            "color": strength,
            "order": {"field": "strength", "type": "quantitative"},
        },
    }
    body = {
        "data": {"values": rows},
        **panels("rater", [shorten(one["rater"]) for one in drawn], [bars], PANEL, columns=2),
    }
    title = [title_of(found), "How strongly a system is preferred, by separability"]
    return column_spec(body, title, captions_of(found), theme)
