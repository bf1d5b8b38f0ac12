"""Consistency by separability: shares at each consistency as bars, means as curves (paper 004, figures 6 to 8)."""

from collections.abc import Sequence
from typing import Any

from reporting.core.charts import (
    JUDGE_SERIES,
    MAX_SERIES,
    OWN_X_AXES,
    Findings,
    Spec,
    interval_and_point,
    panels,
    quantity,
    question_lines,
    series_encoding,
    shorten,
    with_ends,
)
from reporting.core.raters import PEOPLE
from reporting.core.scripted import SCRIPTED
from reporting.core.themes import THEMES, Theme
from reporting.findings.charts.common import (
    ALL_CONFIGURATIONS,
    COLUMN,
    bin_labels,
    captions_of,
    column_spec,
    note_lines,
    nothing,
    reason,
    title_of,
)

BIN_FILL = 0.6  # share of a bin's width over which the raters' points are spread
EDGES_CAPTION = "ticks: edges of the bins of separability"
PANEL = (190, 150)


def consistency_by_bin(found: Findings, theme: str) -> Spec:
    """Stacked bars: the share of rating sets at each consistency, per separability bin and rater."""
    drawn = with_sets(found)
    names = [shorten(rater["rater"]) for rater in drawn]
    rows = [row for rater in drawn for row in _stacked(rater)]
    if not rows:
        return nothing(title_of(found), reason(found), theme)
    values = sorted({row["consistency"] for row in rows})
    consistency = {
        "field": "consistency",
        "type": "ordinal",
        "title": "Consistency",
        "sort": values,
        "scale": {"domain": values, "range": [THEMES[theme].consistency(value) for value in values]},
        "legend": {"columns": len(values)},
    }
    x = {"field": "bin", "type": "ordinal", "sort": None, "title": "Separability", "axis": {"labelAngle": -30}}
    bars = {
        "mark": {"type": "bar", "stroke": THEMES[theme].background, "strokeWidth": 0.5},
        "encoding": {
            "x": x,
            "y": quantity("share", "Share of rating sets", scale={"domain": [0, 1]}, axis={"format": ".0%"}),
            "color": consistency,
            "order": {"field": "consistency", "type": "quantitative"},
        },
    }
    counts = {
        "transform": [{"filter": {"field": "labelled", "equal": True}}],
        "mark": {"type": "text", "baseline": "bottom", "dy": -3, "fontSize": 11, "color": THEMES[theme].ink},
        "encoding": {"x": x, "y": {"datum": 1}, "text": {"field": "count", "type": "nominal"}},
    }
    spec = {"data": {"values": rows}, **panels("rater", names, [bars, counts], PANEL, columns=2)}
    return column_spec(
        spec, [title_of(found), "How consistent rating sets are, by separability"], captions_of(found), theme
    )


def mean_consistency(found: Findings, theme: str) -> Spec:
    """Curve: each rater's mean consistency by separability, with its interval."""
    lines = [
        (shorten(rater["rater"]), [(bin_, bin_["mean_consistency"]) for bin_ in rater["bins"]])
        for rater in with_sets(found)
    ]
    title = [title_of(found), "Mean consistency by separability, with 95% intervals"]
    return _curve(lines, title, captions_of(found), theme) or nothing(title_of(found), reason(found), theme)


def pooled_consistency(pooled: Findings, theme: str) -> Spec:
    """Curve: mean consistency over all configurations, on the study-wide scale of separability."""
    bins = pooled["mean_consistency_by_bin"]
    if bins is None:
        return nothing(ALL_CONFIGURATIONS, pooled["why"], theme)
    names = [rater["rater"] for rater in bins[0]["raters"]]
    lines = [
        (shorten(name), [(bin_, bin_["raters"][place]["mean_consistency"]) for bin_ in bins])
        for place, name in enumerate(names)
    ]
    captions = [*question_lines(pooled), *([SCRIPTED] if pooled["scripted"] else []), *note_lines(pooled)]
    title = [ALL_CONFIGURATIONS, "Mean consistency by separability on one scale, with 95% intervals"]
    return _curve(lines, title, captions, theme) or nothing(ALL_CONFIGURATIONS, "no rating set yet", theme)


def with_sets(found: Findings) -> list[dict[str, Any]]:
    """Return the raters that have rating sets; the page lists the others with the reason."""
    return [rater for rater in found["raters"] if rater["rating_sets"]]


def _stacked(rater: Findings) -> list[dict[str, Any]]:
    """Return one row per bin and consistency value; a bin without rating sets has a row of 0."""
    rows = []
    for label, bin_ in zip(bin_labels(rater["bins"]), rater["bins"], strict=True):
        total = bin_["rating_sets"]
        counts = bin_["consistency_distribution"] or {"0.0": 0}
        for place, (value, count) in enumerate(counts.items()):
            rows.append(
                {
                    "rater": shorten(rater["rater"]),
                    "bin": label,
                    "consistency": float(value),
                    "share": count / total if total else 0.0,
                    "labelled": place == 0,
                    "count": f"n = {total}",
                }
            )
    return rows


def _curve(
    lines: Sequence[tuple[str, list[tuple[Findings, Findings]]]], title: list[str], captions: list[str], theme: str
) -> Spec | None:
    """Draw lines through the bins; with more raters than colours, each judge gets a panel that shows people too."""
    lines = [line for line in lines if any(mean["value"] is not None for _, mean in line[1])]
    if not lines:
        return None
    captions = [EDGES_CAPTION, *captions]
    names = [name for name, _ in lines]
    bins = [bin_ for _, line in lines for bin_, _ in line]
    edges = sorted({edge for bin_ in bins for edge in (bin_["low"], bin_["high"])})
    margin = 0.04 * (edges[-1] - edges[0]) or 0.5
    frame = (edges[0] - margin, edges[-1] + margin), edges
    if len(lines) <= MAX_SERIES:
        rows = [row for place, (name, line) in enumerate(lines) for row in _points(name, line, place, len(lines))]
        body = {"width": COLUMN + 60, "height": 230, "layer": _curve_layers(names, *frame, THEMES[theme])}
        return column_spec({"data": {"values": rows}, **body}, title, captions, theme)
    known = [line for line in lines if line[0] == PEOPLE]
    judges = [line for line in lines if line[0] != PEOPLE]
    rows = [
        {**row, "panel": name}
        for name, line in judges
        for place, (series, shown) in enumerate([*known, (JUDGE_SERIES, line)])
        for row in _points(series, shown, place, len(known) + 1)
    ]
    layers = _curve_layers([*(name for name, _ in known), JUDGE_SERIES], *frame, THEMES[theme])
    body = panels("panel", [name for name, _ in judges], layers, PANEL, columns=2, resolve=OWN_X_AXES)
    return column_spec({"data": {"values": rows}, **body}, title, captions, theme)


def _points(name: str, line: list[tuple[Findings, Findings]], place: int, raters: int) -> list[dict[str, Any]]:
    """Return one row per bin; raters are offset within the bin, so that no interval hides another."""
    return [
        {
            "rater": name,
            "x": (bin_["low"] + bin_["high"]) / 2
            + ((place + 0.5) / raters - 0.5) * BIN_FILL * (bin_["high"] - bin_["low"]),
            **with_ends("mean", mean),
        }
        for bin_, mean in line
    ]


def _curve_layers(names: list[str], domain: tuple[float, float], edges: list[float], theme: Theme) -> list[Spec]:
    scale = {"domain": list(domain), "nice": False, "zero": False}
    x = quantity("x", "Separability", scale=scale, axis={"values": edges, "format": ".2f"})
    y = quantity("mean", "Mean consistency", scale={"domain": [0, 1]})
    series = series_encoding("rater", "Rater", names, theme)
    known = {"transform": [{"filter": {"field": "mean", "valid": True}}]}
    return [
        {"mark": {"type": "line"}, "encoding": {"x": x, "y": y, "color": series["color"]}},
        *({**known, **layer} for layer in interval_and_point({"x": x}, y, series, size=80, opacity=1)),
    ]
