"""Curves through bins of separability, one for each rater (paper 004, figure 8)."""

from collections.abc import Mapping, Sequence
from typing import Any

from reporting.core.charts import (
    JUDGE_SERIES,
    MAX_SERIES,
    OWN_X_AXES,
    Findings,
    Spec,
    panels,
    quantity,
    series_encoding,
    shares,
)
from reporting.core.raters import PEOPLE
from reporting.core.text import rater_name
from reporting.core.themes import THEMES, Look, Theme
from reporting.findings.charts.common import (
    COUNTED,
    column_spec,
    interval_notes,
    kind_looks,
    rater_looks,
    rater_names,
    wrapped,
)

BIN_FILL = 0.6  # share of a bin's width over which the raters' points are spread
HEIGHT = 210
SMALL_PANEL = (122, 120)  # beside its axis, whose title may have two lines
Curve = tuple[str, list[tuple[Findings, Findings]]]  # a rater's name; bins with the rater's estimates in them


def curves(
    found: Findings, lines: Sequence[Curve], axis: str, title: list[str], notes: list[str], theme: str
) -> Spec | None:
    """Draw lines through the bins; None without a value. With more raters than colours each judge has a panel with people.

    axis : title of the axis of values, which are from 0 to 1
    """
    lines = [line for line in lines if any(estimate["value"] is not None for _bin, estimate in line[1])]
    if not lines:
        return None
    estimates = [estimate for _name, line in lines for _bin, estimate in line]
    notes = ["ticks: edges of the bins", *interval_notes(found, estimates), COUNTED, *notes]
    together = len(lines) <= MAX_SERIES
    labels = rater_names((name for name, _line in lines), 40 if together else 11)
    short = {
        name: f"{labels[name]} (n = {sum(estimate['n_instances'] or 0 for _bin, estimate in line)})"
        for name, line in lines
    }
    bins = [bin_ for _name, line in lines for bin_, _estimate in line]
    edges = sorted({edge for bin_ in bins for edge in (bin_["low"], bin_["high"])})
    margin = 0.04 * (edges[-1] - edges[0]) or 0.5
    x = quantity(
        "_x",
        "Separability",
        scale={"domain": [edges[0] - margin, edges[-1] + margin], "nice": False, "zero": False},
        axis={"values": edges, "format": ".2f", "labelAngle": 0 if together else -90},
    )
    y = quantity("value", axis if together else wrapped(axis, 20), **shares())
    if not together:
        return column_spec(_panel_by_judge(lines, short, x, y, theme), title, notes, theme)
    names = [short[name] for name, _line in lines]
    rows = [row for place, (name, line) in enumerate(lines) for row in _points(short[name], line, place, len(lines))]
    looks = rater_looks(found, (name for name, _line in lines), theme)
    body = {"height": HEIGHT, "layer": _layers(names, looks, x, y, THEMES[theme])}
    return column_spec({"data": {"values": rows}, **body}, title, notes, theme, legend=names)


def _panel_by_judge(lines: Sequence[Curve], short: Mapping[str, str], x: Spec, y: Spec, theme: str) -> Spec:
    """Return the body of a picture with a panel for each judge, in which people are drawn too."""
    known = [(rater_name(name), line) for name, line in lines if name == PEOPLE]
    judges, judge = [line for line in lines if line[0] != PEOPLE], JUDGE_SERIES
    rows = [
        {"panel": short[name], **row}
        for name, line in judges
        for place, (series, shown) in enumerate([*known, (judge, line)])
        for row in _points(series, shown, place, len(known) + 1)
    ]
    looks = [kind_looks(theme)[kind] for kind in (*["person"][: len(known)], "judge")]
    layers = _layers([*(name for name, _line in known), judge], looks, x, y, THEMES[theme])
    body = panels("panel", [short[name] for name, _line in judges], layers, SMALL_PANEL, columns=2, resolve=OWN_X_AXES)
    return {"data": {"values": rows}, **body}


def _points(name: str, line: list[tuple[Findings, Findings]], place: int, raters: int) -> list[dict[str, Any]]:
    """Return one row per bin; raters are offset within the bin, so that no interval hides another."""
    return [
        {
            "rater": name,
            "bin_low": bin_["low"],
            "bin_high": bin_["high"],
            **{key: estimate.get(key) for key in ("value", "low", "high", "n", "n_instances")},
            "_x": (bin_["low"] + bin_["high"]) / 2
            + ((place + 0.5) / raters - 0.5) * BIN_FILL * (bin_["high"] - bin_["low"]),
        }
        for bin_, estimate in line
    ]


def _layers(names: list[str], looks: list[Look], x: Spec, y: Spec, theme: Theme) -> list[Spec]:
    series = series_encoding("rater", None, names, theme, looks)
    interval = {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}, "color": series["color"]}
    return [
        {"mark": {"type": "line"}, "encoding": {"x": x, "y": y, "color": series["color"]}},
        {
            "transform": [{"filter": {"field": "low", "valid": True}}],
            "mark": {"type": "rule", "strokeWidth": 2},
            "encoding": interval,
        },
        {
            "transform": [{"filter": {"field": "value", "valid": True}}],
            "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1},
            "encoding": {"x": x, "y": y, **series},
        },
    ]
