"""Rows of points with intervals: one row for each name, one point in it for each series."""

from collections.abc import Sequence
from typing import Any

from reporting.core.charts import COLUMN_WIDTH, Spec, quantity, series_encoding
from reporting.core.themes import THEMES, Theme
from reporting.findings.charts.common import counted_note, first_of, short_names

POINT, GAP = 14, 10  # pixels a point, and between rows
MAX_NAME, BESIDE = 44, 20  # characters of a label, and of one that stands beside its row
MAX_HEIGHT, MIN_ROWS = 1000, 6  # pixels of all rows together, unless they are so few
LETTER = 6.8  # pixels, of 12
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
) -> tuple[Spec, list[str]]:
    """Return the body of a picture of rows made by `point`, and notes on what n counts and on rows that are left out.

    series : in the order of their colours
    title  : of the axis of values; domain : its ends, those of the data by default
    marks  : values to mark by a line, and whether it is dashed
    panel  : whether rows have a `panel`, each of which is drawn by itself

    The name of a row stands beside it, or above it where names are long, with the number of instances.
    """
    tallest = (POINT * (len(series) + 1) + GAP) * len({row.get("panel") for row in rows})
    most = max(MIN_ROWS, MAX_HEIGHT // max(1, tallest))
    names, more = first_of(list(dict.fromkeys(row["name"] for row in rows)), most)
    notes = [counted_note(), *more]
    drawn = [row for row in rows if row["name"] in names]
    labels = _labels(drawn, panel)
    drawn = [{**row, "_label": labels[row.get("panel"), row["name"]]} for row in drawn]
    longest = max(map(len, labels.values()), default=0)
    above = longest > BESIDE
    step = POINT * len(series) + GAP + (POINT if above else 0)
    layers = _layers(series, title, THEMES[theme], domain, marks)
    for layer in layers[len(marks) :]:
        layer["encoding"]["y"] |= {"sort": list(dict.fromkeys(labels.values())), "axis": _names_axis(above, step)}
        layer["encoding"]["yOffset"]["scale"] = {"range": [POINT + GAP if above else GAP, step - GAP]}
    for layer in layers[: len(marks)]:
        layer["mark"]["opacity"] = 0.4 if above else 1  # it crosses the names
    size = {"width": COLUMN_WIDTH, "height": {"step": step, "for": "position"}}
    if not panel:
        return {"data": {"values": drawn}, **size, "layer": layers}, notes
    panels = list(dict.fromkeys(row["panel"] for row in drawn))
    size["width"] = round(COLUMN_WIDTH - 20 - (0 if above else longest * LETTER))
    return {
        "data": {"values": drawn},
        "facet": {"row": {"field": "panel", "type": "nominal", "sort": panels, "title": None, "header": PANEL_HEADER}},
        "spec": {**size, "layer": layers},
        "resolve": {"scale": {"y": "independent"}},
    }, notes


PANEL_HEADER = {"labelOrient": "top", "labelAnchor": "start", "labelAngle": 0}


def point(name: str, series: str, estimate: dict[str, Any], **more: Any) -> Row:
    """Return the row of an estimate."""
    kept = ("value", "low", "high", "n", "n_instances")
    return {"name": name, "series": series, **{key: estimate.get(key) for key in kept}, **more}


def _labels(rows: Sequence[Row], panel: bool) -> dict[tuple[str | None, str], str]:
    """Return the label of each row by its panel and name: a short name, and the number of instances."""
    short = short_names((row["name"] for row in rows), MAX_NAME)
    instances: dict[tuple[str | None, str], list[int]] = {}
    for row in rows:
        instances.setdefault((row.get("panel"), row["name"]), []).append(row["n_instances"] or 0)
    spans = {key: (min(found), max(found)) for key, found in instances.items()}
    return {
        key: f"{short[key[1]]} (n = {low if low == high else f'{low}–{high}'})" for key, (low, high) in spans.items()
    }


def _names_axis(above: bool, step: int) -> Spec:
    axis: Spec = {"labelLimit": COLUMN_WIDTH, "grid": False, "ticks": False, "domain": False, "title": None}
    if above:
        axis |= {"labelAlign": "left", "labelPadding": -4, "labelOffset": -(step // 2) + POINT // 2 + 2}
    return axis


def _layers(
    series: Sequence[str],
    title: str,
    theme: Theme,
    domain: tuple[float, float] | None,
    marks: Sequence[tuple[float, bool]],
) -> list[Spec]:
    scale = {"zero": False, "nice": True} if domain is None else {"domain": list(domain)}
    x = quantity("value", title, scale=scale, axis={"tickCount": 6})

    def place() -> Spec:
        y = {"field": "_label", "type": "nominal", "scale": {"padding": 0}}
        return {"y": y, "yOffset": {"field": "series", "type": "nominal", "sort": list(series)}}

    encoded = series_encoding("series", None, series, theme)
    if len(series) == 1:
        encoded = {channel: {**one, "legend": None} for channel, one in encoded.items()}
    lines = [
        {
            "mark": {"type": "rule", "color": theme.ink, **({"strokeDash": [4, 4]} if dashed else {})},
            "encoding": {"x": {"datum": value, "type": "quantitative"}},
        }
        for value, dashed in marks
    ]
    interval = {
        "transform": [{"filter": {"field": "low", "valid": True}}],
        "mark": {"type": "rule", "strokeWidth": 2},
        "encoding": {**place(), "x": {**x, "field": "low"}, "x2": {"field": "high"}, "color": encoded["color"]},
    }
    points = {
        "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1},
        "encoding": {**place(), "x": x, **encoded},
    }
    return [*lines, interval, points]
