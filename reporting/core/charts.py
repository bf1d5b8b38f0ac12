"""Charts of findings: Vega-Lite specifications, rendered on the server as SVG or PNG.

Names come from uploaded files, so a specification holds them as data values or titles only, never as a field name, an
expression, a link or an image. The renderer may load nothing.
"""

import textwrap
from collections.abc import Mapping, Sequence
from itertools import cycle, islice
from typing import Any

from reporting.core.raters import PEOPLE
from reporting.core.scripted import SCRIPTED
from reporting.core.themes import SHAPES, THEMES, Theme

Spec = dict[str, Any]
Findings = dict[str, Any]
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
VERSION = "6.4"
MAX_NAME_LENGTH = 60
MAX_NOTE_LENGTH, NOTE_WIDTH = 300, 90
NO_DATA = "Nothing to draw yet"
MAX_SERIES = len(SHAPES)  # curves in one chart: each rater has its own colour and shape
BIN_FILL = 0.6  # share of a bin's width over which the raters' points are spread
JUDGE_SERIES = "the judge"  # legend entry in a panel whose heading is the judge's name
EDGES_CAPTION = "ticks: edges of the bins of separability"
OWN_X_AXES = {"axis": {"x": "independent"}}  # one below each panel, since the last row of panels may be shorter


def consistency_by_bin(found: Findings, theme: str) -> Spec:
    """Stacked bars: the share of rating sets at each consistency, per separability bin and rater."""
    drawn = _with_sets(found)
    names = [shorten(rater["rater"]) for rater in drawn]
    rows = [row for rater in drawn for row in _stacked(rater)]
    if not rows:
        return empty_chart(_title(found), _reason(found), theme)
    values = sorted({row["consistency"] for row in rows})
    consistency = {
        "field": "consistency",
        "type": "ordinal",
        "title": "Consistency",
        "sort": values,
        "scale": {"domain": values, "range": [THEMES[theme].consistency(value) for value in values]},
        "legend": {"orient": "right"},
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
    spec = {"data": {"values": rows}, **panels("rater", names, [bars, counts], (230, 240))}
    return build_spec(spec, [_title(found), "How consistent rating sets are, by separability"], _captions(found), theme)


def _with_sets(found: Findings) -> list[dict[str, Any]]:
    """Return the raters that have rating sets; the page lists the others with the reason."""
    return [rater for rater in found["raters"] if rater["rating_sets"]]


def mean_consistency(found: Findings, theme: str) -> Spec:
    """Curve: each rater's mean consistency by separability, with its interval."""
    lines = [
        (shorten(rater["rater"]), [(bin_, bin_["mean_consistency"]) for bin_ in rater["bins"]])
        for rater in _with_sets(found)
    ]
    title = [_title(found), "Mean consistency by separability, with 95% intervals"]
    return _curve(lines, title, _captions(found), theme) or empty_chart(_title(found), _reason(found), theme)


def pooled_consistency(pooled: Findings, theme: str) -> Spec:
    """Curve: mean consistency over all configurations, on the study-wide scale of separability."""
    bins = pooled["mean_consistency_by_bin"]
    if bins is None:
        return empty_chart("All configurations", pooled["why"], theme)
    names = [rater["rater"] for rater in bins[0]["raters"]]
    lines = [
        (shorten(name), [(bin_, bin_["raters"][place]["mean_consistency"]) for bin_ in bins])
        for place, name in enumerate(names)
    ]
    captions = [*question_lines(pooled), *([SCRIPTED] if pooled["scripted"] else []), *_note_lines(pooled)]
    title = ["All configurations", "Mean consistency by separability on one scale, with 95% intervals"]
    return _curve(lines, title, captions, theme) or empty_chart("All configurations", "no rating set yet", theme)


def separability_histogram(found: Findings, theme: str) -> Spec:
    """Bars: how many instances each separability bin holds."""
    separability = found["separability"]
    if not separability or not separability["bins"]:
        return empty_chart(_title(found), _reason(found), theme)
    labels = _ranges(separability["bins"])
    rows = [
        {"bin": label, "instances": bin_["instances"]} for label, bin_ in zip(labels, separability["bins"], strict=True)
    ]
    x = {"field": "bin", "type": "ordinal", "sort": None, "title": "Separability", "axis": {"labelAngle": -30}}
    y = {"field": "instances", "type": "quantitative", "title": "Instances", "axis": {"tickMinStep": 1}}
    bars = {"mark": {"type": "bar", "color": THEMES[theme].raters[0]}, "encoding": {"x": x, "y": y}}
    text = {
        "mark": {"type": "text", "baseline": "bottom", "dy": -3, "color": THEMES[theme].ink},
        "encoding": {"x": x, "y": y, "text": {"field": "instances", "type": "quantitative"}},
    }
    spec = {"data": {"values": rows}, "width": 320, "height": 200, "layer": [bars, text]}
    return build_spec(
        spec, [_title(found), f"Instances by separability ({shorten(separability['similarity'])})"], [], theme
    )


def to_svg(spec: Spec) -> str:
    """Render a specification as SVG."""
    return str(_renderer().vegalite_to_svg(spec, vl_version=VERSION, allowed_base_urls=[]))


def to_png(spec: Spec) -> bytes:
    """Render a specification as PNG at double resolution."""
    return bytes(_renderer().vegalite_to_png(spec, vl_version=VERSION, scale=2, allowed_base_urls=[]))


def _renderer() -> Any:
    import vl_convert  # a browser engine of 100 MB: imported only by processes that render

    return vl_convert


def _stacked(rater: Findings) -> list[dict[str, Any]]:
    """Return one row per bin and consistency value; a bin without rating sets has a row of 0."""
    rows = []
    for label, bin_ in zip(_ranges(rater["bins"]), rater["bins"], strict=True):
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
        body = {"width": 520, "height": 260, "layer": _curve_layers(names, *frame, THEMES[theme])}
        return build_spec({"data": {"values": rows}, **body}, title, captions, theme)
    known = [line for line in lines if line[0] == PEOPLE]
    judges = [line for line in lines if line[0] != PEOPLE]
    rows = [
        {**row, "panel": name}
        for name, line in judges
        for place, (series, shown) in enumerate([*known, (JUDGE_SERIES, line)])
        for row in _points(series, shown, place, len(known) + 1)
    ]
    layers = _curve_layers([*(name for name, _ in known), JUDGE_SERIES], *frame, THEMES[theme])
    body = panels("panel", [name for name, _ in judges], layers, (220, 170), resolve=OWN_X_AXES)
    return build_spec({"data": {"values": rows}, **body}, title, captions, theme)


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


def quantity(field: str, title: str | None, **more: Any) -> Spec:
    """Return the encoding of a number."""
    return {"field": field, "type": "quantitative", "title": title, **more}


def series_encoding(field: str, title: str | None, names: Sequence[str], theme: Theme) -> Spec:
    """Return the encodings of a series by its colour and its shape."""
    series = {"field": field, "type": "nominal", "sort": list(names), "title": title}
    return {
        channel: {**series, "scale": {"domain": list(names), "range": list(islice(cycle(values), len(names)))}}
        for channel, values in (("color", theme.raters), ("shape", SHAPES))
    }


def with_ends(name: str, estimate: Mapping[str, Any]) -> dict[str, Any]:
    """Return an estimate's value and the ends of its interval, both the value where it has none."""
    value = estimate["value"]
    ends = {end: value if estimate[end] is None else estimate[end] for end in ("low", "high")}
    return {name: value, **ends}


def interval_and_point(place: Spec, y: Spec, series: Spec, **mark: Any) -> list[Spec]:
    """Return two layers: the interval of each estimate as a rule, and its value as a point.

    series : encodings of the series, or none; mark : further properties of the points, whose colour the rules share
    """
    colours = {key: mark[key] for key in ("color",) if key in mark}
    unshaped = {channel: encoding for channel, encoding in series.items() if channel != "shape"}
    interval = {**place, "y": {**y, "field": "low"}, "y2": {"field": "high"}, **unshaped}
    return [
        {"mark": {"type": "rule", "strokeWidth": 2, **colours}, "encoding": interval},
        {"mark": {"type": "point", "filled": True, **mark}, "encoding": {**place, "y": y, **series}},
    ]


def panels(
    field: str,
    names: Sequence[str],
    layers: list[Spec],
    size: tuple[int, int],
    columns: int = 3,
    resolve: Spec | None = None,
) -> Spec:
    """Return the part of a specification that draws the layers once for each name, in panels of a width and height."""
    return {
        "facet": {"field": field, "type": "nominal", "sort": list(names), "title": None},
        "columns": columns,
        "spec": {"width": size[0], "height": size[1], "layer": layers},
        **({"resolve": resolve} if resolve else {}),
    }


def build_spec(body: Spec, title: list[str], captions: list[str], theme: str) -> Spec:
    """Return a complete specification: the body with schema, title lines, captions and colours."""
    config = THEMES[theme].config()
    heading = {"text": title[0], "subtitle": [*title[1:], *captions]}
    return {"$schema": SCHEMA, **body, "title": heading, "config": config, "background": config.pop("background")}


def empty_chart(title: str, reason: str, theme: str) -> Spec:
    """Return a chart that holds only the reason why there is nothing to draw."""
    mark = {"type": "text", "fontSize": 13, "color": THEMES[theme].ink, "limit": 500}
    body = {
        "data": {"values": [{"text": NO_DATA}]},
        "width": 520,
        "height": 60,
        "mark": mark,
        "encoding": {"text": {"field": "text", "type": "nominal"}},
    }
    return build_spec(body, [title, reason], [], theme)


def _reason(found: Findings) -> str:
    return str(found.get("why") or (found["separability"] or {}).get("why") or "no rating set yet")


def _captions(found: Findings) -> list[str]:
    scripted = [SCRIPTED] if any(rater.get("scripted") for rater in found["raters"]) else []
    return [*question_lines(found), *scripted, *_note_lines(found)]


def question_lines(found: Findings) -> list[str]:
    """Wrap the question that numbers are about to the width of a chart; none where the study asks one only."""
    return textwrap.wrap(shorten(found["question"], MAX_NOTE_LENGTH), NOTE_WIDTH) if "question" in found else []


def _note_lines(found: Findings) -> list[str]:
    """Wrap the note on how instances were selected to the width of a chart."""
    return textwrap.wrap(shorten(found["chosen_note"], MAX_NOTE_LENGTH), NOTE_WIDTH) if "chosen_note" in found else []


def _title(found: Findings) -> str:
    return f"{shorten(found['dataset'])}: A = {shorten(found['system_a'])}, B = {shorten(found['system_b'])}"


def _ranges(bins: list[Findings]) -> list[str]:
    """Label the bins by their edges, and by number too where edges coincide, since labels must be unique."""
    labels = [f"{bin_['low']:.3f} – {bin_['high']:.3f}" for bin_ in bins]
    if len(set(labels)) == len(labels):
        return labels
    return [f"{place}: {label}" for place, label in enumerate(labels, start=1)]


def shorten(name: str, longest: int = MAX_NAME_LENGTH) -> str:
    """Truncate a name to one line, without control characters, which XML does not allow."""
    clean = "".join(character if character.isprintable() else "�" for character in name)
    return clean if len(clean) <= longest else clean[: longest - 1] + "…"
