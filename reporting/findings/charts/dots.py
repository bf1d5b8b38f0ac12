"""Rows of points with intervals: one row for each name, one point in it for each series."""

from collections.abc import Sequence
from typing import Any

from reporting.core.charts import MAX_SERIES, Spec, quantity, series_encoding
from reporting.core.themes import THEMES
from reporting.findings.charts.common import COLUMN

ROW, GAP = 16, 10  # pixels a point, and between rows
Row = dict[str, Any]


def dot_rows(
    rows: Sequence[Row],
    series: Sequence[str],
    title: str,
    theme: str,
    *,
    domain: tuple[float, float] | None = None,
    marks: Sequence[tuple[float, bool]] = (),
    panel: bool = False,
) -> Spec:
    """Return the body of a picture of rows {name, series, value, low, high}; a point without interval has null ends.

    series : in the order of their colours
    title  : of the axis of values; domain : its ends, those of the data by default
    marks  : values to mark by a line, and whether it is dashed
    panel  : whether rows have a `panel`, each of which is drawn by itself
    """
    colours = THEMES[theme]
    names = list(dict.fromkeys(row["name"] for row in rows))
    scale = {"zero": False, "nice": True} if domain is None else {"domain": list(domain)}
    x = quantity("value", title, scale=scale, axis={"tickCount": 6})
    y = {"field": "name", "type": "nominal", "sort": names, "title": None, "axis": {"labelLimit": 190, "grid": True}}
    place = {"y": y}
    if len(series) > 1:
        place["yOffset"] = {"field": "series", "type": "nominal", "sort": list(series)}
    encoded = series_encoding("series", None, series, colours)
    if len(series) == 1:
        encoded = {channel: {**one, "legend": None} for channel, one in encoded.items()}
    lines = [
        {
            "mark": {"type": "rule", "color": colours.ink, **({"strokeDash": [4, 4]} if dashed else {})},
            "encoding": {"x": {"datum": value, "type": "quantitative"}},
        }
        for value, dashed in marks
    ]
    interval = {
        "transform": [{"filter": {"field": "low", "valid": True}}],
        "mark": {"type": "rule", "strokeWidth": 2},
        "encoding": {**place, "x": {**x, "field": "low"}, "x2": {"field": "high"}, "color": encoded["color"]},
    }
    points = {
        "mark": {"type": "point", "filled": True, "size": 80, "opacity": 1},
        "encoding": {**place, "x": x, **encoded},
    }
    layers = [*lines, interval, points]
    size = {"width": COLUMN, "height": {"step": max(ROW * len(series), ROW) + GAP, "for": "position"}}
    data = {"data": {"values": list(rows)}}
    if not panel:
        return {**data, **size, "layer": layers}
    return {
        **data,
        "facet": {"row": {"field": "panel", "type": "nominal", "sort": None, "title": None, "header": PANEL_HEADER}},
        "spec": {**size, "layer": layers},
        "resolve": {"scale": {"y": "independent"}},
    }


PANEL_HEADER = {"labelOrient": "top", "labelAnchor": "start", "labelAngle": 0}


def point(name: str, series: str, estimate: dict[str, Any], **more: Any) -> Row:
    """Return the row of an estimate."""
    kept = ("value", "low", "high", "n", "n_instances")
    return {"name": name, "series": series, **{key: estimate.get(key) for key in kept}, **more}


def first_series(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return as many names as there are colours, and a caption that says how many are left out."""
    left_out = len(names) - MAX_SERIES
    shown = list(names[:MAX_SERIES])
    return shown, [f"{left_out} more raters are in the table"] if left_out > 0 else []
