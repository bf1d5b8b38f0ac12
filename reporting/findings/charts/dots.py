"""Rows of points with intervals: one row for each name, one point in it for each series."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from reporting.core.charts import (
    COLUMN_WIDTH,
    LETTER,
    LOOK,
    WIDTHS,
    Findings,
    Spec,
    column_spec,
    empty_chart,
    first_of,
    padded,
    quantity,
    shares,
    short_names,
    with_look,
    wrapped,
)
from reporting.core.themes import SHAPES, THEMES, Look, Theme
from reporting.findings.charts.common import COUNTED, interval_notes, span_text, study_notes

TITLE_LETTER = 8  # pixels of a letter in the title of an axis
POINT, GAP = 14, 10  # pixels a point, and between rows
MAX_NAME, BESIDE = 44, 26  # characters of a label, and of one that stands beside its row
MAX_HEIGHT, MIN_ROWS = 420, 6  # pixels of all rows together, unless they are so few
ALIKE = 1.25  # times as many instances are about as many
HALF: dict[str, Any] = {"share": True, "marks": [(0.5, True)]}  # shares, with a line at one half
Row = dict[str, Any]


def dots_picture(
    findings: Findings,
    title: Sequence[str],
    rows: Sequence[Row],
    series: Sequence[str],
    axis: str,
    theme: str,
    *,
    why: str,
    first_notes: Sequence[str] = (),
    notes: Sequence[str] = (),
    **options: Any,
) -> Spec:
    """Return a picture of all findings: rows made by `point`, with notes on intervals and rows, or the reason `why` there are none.

    first_notes, notes : before and after the one on intervals; options : of `dot_rows`
    """
    if not rows:
        return empty_chart(title[0], why, theme)
    body, about_rows = dot_rows(rows, series, axis, theme, **options)
    every = [*first_notes, *interval_notes(findings, rows), *notes, *about_rows, *study_notes(findings)]
    return column_spec(body, list(title), every, theme)


def dot_rows(
    rows: Sequence[Row],
    series: Sequence[str],
    title: str,
    theme: str,
    *,
    looks: Sequence[Look] = (),
    share: bool = False,
    marks: Sequence[tuple[float, bool]] = (),
    panel: bool = False,
    by_value: bool = False,
) -> tuple[Spec, list[str]]:
    """Return the body of a picture of rows made by `point`, and notes on what n counts and on rows that are left out.

    series : with a look for each, or in the order of the theme's colours; a row's own look counts first
    title  : of the axis of values, which are shares, or are spread as the data are
    marks  : values to mark by a line, and whether it is dashed
    panel  : whether rows have a `panel`, each of which is drawn by itself
    by_value : whether rows that have room are in the order of their values

    The name of a row stands beside it, or above it where names are long, with the number of instances. Names of several
    series stand beside their first points.
    """
    points = max(Counter((row.get("panel"), row["name"]) for row in rows).values())  # of a row
    names = list(dict.fromkeys(row["name"] for row in rows))
    most = MAX_HEIGHT // len({row.get("panel") for row in rows})  # pixels of a panel
    candidates = names[: max(MIN_ROWS, most // (POINT * points + GAP))]
    labelled, counted = _labelled([row for row in rows if row["name"] in candidates])
    is_above = max(len(row["_label"]) for row in labelled) > BESIDE
    step = POINT * points + GAP + (POINT if is_above else 0)
    names, more = first_of(names, max(MIN_ROWS, most // step))
    notes = [counted, *more]
    drawn = [row for row in labelled if row["name"] in names]
    if by_value:
        drawn.sort(key=lambda row: -row["value"])
    labels = list(dict.fromkeys(row["_label"] for row in drawn))
    longest = max(map(len, labels))
    y: Spec = {"field": "_label", "type": "nominal", "sort": labels}
    y |= {"scale": {"padding": 0}, "axis": None if is_above else NAMES_AXIS}
    offset = (
        {"scale": {"range": [(POINT if is_above else 0) + GAP / 2, step - GAP / 2]}} if points > 1 or is_above else None
    )
    values = [row[key] for row in drawn for key in ("value", "low", "high")] + [value for value, _dashed in marks]
    room = WIDTHS["phone"] - (0 if is_above else longest * LETTER)
    x = quantity(
        "value", wrapped(title, max(10, round(room / TITLE_LETTER))), **(shares() if share else padded(values))
    )
    if not share:
        x["axis"] |= {"format": WITHOUT_COMMA}
    by_series = dict(zip(series, looks or zip(THEMES[theme].series, SHAPES, strict=True), strict=False))
    drawn = [row if "_colour" in row else with_look(row, by_series[row["series"]]) for row in drawn]
    width = round(COLUMN_WIDTH - 20 - (0 if is_above else longest * LETTER))
    if len(series) > 1:
        drawn, x["scale"]["domain"] = _named(
            drawn, x["scale"]["domain"], room - 20, [value for value, _dashed in marks]
        )
    layers = _layers(series, (x, y, offset), THEMES[theme], marks)
    if len(series) > 1:
        layers += _series_names(drawn, layers[-1]["encoding"], THEMES[theme])
    if is_above:
        text = {"type": "text", "align": "left", "baseline": "middle", "dy": POINT // 2 + 2, "limit": COLUMN_WIDTH}
        layers += [
            {
                "transform": [{"filter": {"field": "_first", "equal": True}}],
                "mark": {**text, "fontSize": 12, **colours},
                "encoding": {"y": {**y, "bandPosition": 0}, "x": {"value": 4}, "text": {"field": "_label"}},
            }
            for colours in (_ground(THEMES[theme]), {"color": THEMES[theme].ink})
        ]
    size = {"width": COLUMN_WIDTH, "height": {"step": step, "for": "position"}}
    if not panel:
        return {"data": {"values": drawn}, **size, "layer": layers}, notes
    panels = list(dict.fromkeys(row["panel"] for row in drawn))
    size["width"] = width
    return {
        "data": {"values": drawn},
        "facet": {"row": {"field": "panel", "type": "nominal", "sort": panels, "title": None, "header": PANEL_HEADER}},
        "spec": {**size, "layer": layers},
        "resolve": {"scale": {"y": "independent"}},
    }, notes


WITHOUT_COMMA = ".6~r"  # as numbers on the page have none, and to a German reader it is a decimal one
NAMES_AXIS = {"labelLimit": COLUMN_WIDTH, "grid": False, "ticks": False, "domain": False, "title": None}
PANEL_HEADER = {"labelOrient": "top", "labelAnchor": "start", "labelAngle": 0}


def point(name: str, series: str, estimate: dict[str, Any], look: Look | None = None, **more: Any) -> Row:
    """Return the row of an estimate."""
    names = ("value", "low", "high", "n", "n_instances")
    row = {"name": name, "series": series, **{key: estimate.get(key) for key in names}, **more}
    return row if look is None else with_look(row, look)


def _named(
    rows: Sequence[Row], domain: Sequence[float], width: float, marks: Sequence[float]
) -> tuple[list[Row], tuple[float, float]]:
    """Return rows of which the first one of each series has its name on the `_side` that has room, and the axis's domain.

    There is no room over a mark. Where a name has room on neither side, all stand on the right, beyond the scale.
    """
    low_end, end = domain
    first = {row["series"]: index for index, row in reversed(list(enumerate(rows)))}
    limits = {
        index: [rows[index]["value"] if rows[index][key] is None else rows[index][key] for key in ("low", "high")]
        for index in first.values()
    }
    share = {index: min(0.8, (len(series) * LETTER + 10) / width) for series, index in first.items()}  # of the axis
    room: dict[int, tuple[float, float]] = {}
    for index, (low, high) in limits.items():
        before = max([low_end, *(mark for mark in marks if mark < low)])
        behind = min([end, *(mark for mark in marks if mark > high)])
        room[index] = (low - before) / (end - low_end), (behind - high) / (end - low_end)
    if any(share[index] > max(room[index]) for index in room):
        room = dict.fromkeys(limits, (0.0, float("inf")))
        end = max(
            end, *((high - share[index] * low_end) / (1 - share[index]) for index, (_low, high) in limits.items())
        )
    sides = {
        index: {"_side": "right", "_end": high} if share[index] <= room[index][1] else {"_side": "left", "_end": low}
        for index, (low, high) in limits.items()
    }
    return [{**row, **sides.get(index, {})} for index, row in enumerate(rows)], (low_end, end)


def _series_names(rows: Sequence[Row], encoding: Spec, theme: Theme) -> list[Spec]:
    """Return the layers of the names beside first points: in a series' colour, or in that of text if it has several."""
    looks = {(row["series"], row["_colour"]) for row in rows}
    colour = LOOK["color"] if len(looks) == len({series for series, _colour in looks}) else {"value": theme.ink}
    place = {key: encoding[key] for key in ("y", "yOffset") if key in encoding}
    return [
        {
            "transform": [{"filter": {"field": "_side", "equal": side}}],
            "mark": {"type": "text", "align": align, "dx": shift, "baseline": "middle", "fontSize": 11, **ground},
            "encoding": {**place, "x": {**encoding["x"], "field": "_end"}, "text": {"field": "series"}, "color": ink},
        }
        for side, align, shift in (("right", "left", 8), ("left", "right", -8))
        for ground, ink in ((_ground(theme), {"value": theme.background}), ({}, colour))
    ]


def _ground(theme: Theme) -> dict[str, Any]:
    """Return how a text is drawn below another one, so that it interrupts lines behind it."""
    return {"color": theme.background, "stroke": theme.background, "strokeWidth": 8, "strokeJoin": "round"}


def _labelled(rows: Sequence[Row]) -> tuple[list[Row], str]:
    """Return rows with a `_label`, and what their numbers of instances are. `_first`: the first row of its name in its panel.

    The label has the number where rows differ much by it.
    """
    short = short_names((row["name"] for row in rows), MAX_NAME)
    instances: dict[tuple[str | None, str], list[int]] = {}
    for row in rows:
        instances.setdefault((row.get("panel"), row["name"]), []).append(row["n_instances"] or 0)
    everything = [count for counts in instances.values() for count in counts]
    is_alike = max(everything) <= ALIKE * min(everything)
    used, labelled = set(), list[Row]()
    for row in rows:
        key = (row.get("panel"), row["name"])
        label = short[row["name"]] if is_alike else f"{short[row['name']]} (n = {span_text(instances[key])})"
        labelled.append({**row, "_label": label, "_first": key not in used})
        used.add(key)
    return labelled, f"n = {span_text(everything)} instances" if is_alike else COUNTED


def _layers(
    series: Sequence[str],
    axes: tuple[Spec, Spec, Spec | None],
    theme: Theme,
    marks: Sequence[tuple[float, bool]],
) -> list[Spec]:
    x, y, offset = axes
    position = {"y": y}
    if offset:
        position["yOffset"] = {"field": "series", "type": "nominal", "sort": list(series), **offset}
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
        "encoding": {**position, "x": {**x, "field": "low"}, "x2": {"field": "high"}, "color": LOOK["color"]},
    }
    points = {
        "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1},
        "encoding": {**position, "x": x, **LOOK},
    }
    return [*lines, interval, points]
