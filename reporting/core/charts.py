"""Building blocks of charts: Vega-Lite specifications, rendered on the server as SVG, PNG or PDF.

Names come from uploaded files, so a specification holds them as data values or titles only, never as a field name, an
expression, a link or an image. The renderer may load nothing.
"""

import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import cycle, islice
from typing import Any

from annotation.core.files.spreadsheet import csv_lines
from reporting.core.raters import PEOPLE
from reporting.core.renderer import RENDERER
from reporting.core.themes import SHAPES, THEMES, Look, Theme

Spec = dict[str, Any]
Findings = dict[str, Any]
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
VERSION = "6.4"
MAX_NAME_LENGTH = 60
MAX_NOTE_LENGTH = 300
COLUMN_WIDTH, COLUMN_INCHES = 380, 3.3  # of a picture for a paper's column, in pixels: letters of 12 have 7.5 points
WIDTHS = {"column": COLUMN_WIDTH, "phone": 326, "screen": 560, "page": 806}  # pixels; a paper's page has 7 inches
PANEL = (146, 120)  # two beside each other in a column
TITLE_WIDTH, LINE_WIDTH = 42, 58  # characters of a line in a column
LABEL, LETTER = 13, 6.4  # pixels of a label's line, and of a letter in it
CURVE_HEIGHT, LONGEST_LABEL = 210, 18  # pixels of a plot of curves; characters of a name beside a curve
MARGIN = 0.04  # of an axis, on either side of what is drawn
DRAWN = "_"  # begins names of fields that serve drawing alone
NO_DATA = "Nothing to draw yet"
AROUND_PANEL, LINE = 80, 12  # pixels above and below a panel, for its axis, and for each line of its title
WHY = "why"  # of a picture without data, in its `usermeta`
MAX_SERIES = 6  # curves in one chart, each with its name beside it
JUDGE_SERIES = "the judge"  # legend entry in a panel whose heading is the judge's name
OWN_X_AXES = {"axis": {"x": "independent"}}  # one below each panel, since the last row of panels may be shorter


def to_svg(spec: Spec) -> str:
    """Render a specification as SVG."""
    return RENDERER.draw("vegalite_to_svg", spec, vl_version=VERSION, allowed_base_urls=[]).decode()


def to_png(spec: Spec) -> bytes:
    """Render a specification as PNG at a resolution for print: 345 dots an inch in a column."""
    return RENDERER.draw("vegalite_to_png", spec, vl_version=VERSION, scale=3, allowed_base_urls=[])


def to_pdf(spec: Spec) -> bytes:
    """Render a specification as PDF, with its text as text, as wide as it prints: a picture for a column at 3.3 inches."""
    scale = 72 * COLUMN_INCHES / COLUMN_WIDTH
    svg = re.sub(
        r'(?<=<svg )([^>]*)width="([\d.]+)" height="([\d.]+)"',
        lambda match: f'{match[1]}width="{float(match[2]) * scale:.2f}" height="{float(match[3]) * scale:.2f}"',
        to_svg(spec),
        count=1,
    )
    return RENDERER.draw("svg_to_pdf", svg)


def to_csv(spec: Spec) -> str:
    """Return the rows that a specification draws as CSV, without the columns that serve its drawing alone."""
    rows = spec["data"]["values"]
    columns = [name for name in dict.fromkeys(name for row in rows for name in row) if not name.startswith(DRAWN)]
    return "".join(csv_lines([{name: row.get(name) for name in columns} for row in rows], columns))


def quantity(field: str, title: str | list[str] | None, **more: Any) -> Spec:
    """Return the encoding of a number."""
    return {"field": field, "type": "quantitative", "title": title, **more}


def padded(values: Iterable[float | None], *, ticks: int = 6) -> Spec:
    """Return the scale and axis of numbers whose points and ends of intervals lie apart from the edges."""
    numbers = [value for value in values if value is not None]
    low, high = min(numbers), max(numbers)
    margin = MARGIN * (high - low) or abs(low) / 10 or 0.5
    scale = {"domain": [low - margin, high + margin], "nice": False, "zero": False}
    return {"scale": scale, "axis": {"tickCount": ticks}}


def shares(form: str = ".0%") -> Spec:
    """Return the scale and axis of shares, or of other numbers in a `form`, on which 0 and 1 lie apart from the edges."""
    return {**padded((0, 1)), "axis": {"values": [0, 0.2, 0.4, 0.6, 0.8, 1], "format": form}}


def series_encoding(field: str, title: str | None, names: Sequence[str], theme: Theme) -> Spec:
    """Return the encodings of a series by the colour and the shape of its place."""
    looks = list(islice(cycle(zip(theme.series, SHAPES, strict=True)), len(names)))
    # Three in a row of the legend are as wide as a picture.
    series = {"field": field, "type": "nominal", "sort": list(names), "title": title, "legend": {"columns": 3}}
    return {
        channel: {**series, "scale": {"domain": list(names), "range": [look[index] for look in looks]}}
        for index, channel in enumerate(("color", "shape"))
    }


LOOK = {  # encodings of a look that each row has
    channel: {"field": field, "type": "nominal", "scale": None, "legend": None}
    for channel, field in (("color", "_colour"), ("shape", "_shape"))
}


def with_look(row: dict[str, Any], look: Look) -> dict[str, Any]:
    """Return a row with the colour and shape that it is drawn in."""
    return {**row, "_colour": look[0], "_shape": look[1]}


def with_ends(name: str, estimate: Mapping[str, Any]) -> dict[str, Any]:
    """Return an estimate's value and the ends of its interval, which are null without one."""
    return {name: estimate["value"], "low": estimate["low"], "high": estimate["high"]}


def interval_and_point(position: Spec, y: Spec, series: Spec, **mark: Any) -> list[Spec]:
    """Return two layers: the interval of each estimate as a rule, and its value as a point.

    series : encodings of the series, or none; mark : further properties of the points, whose colour the rules share
    """
    colours = {key: mark[key] for key in ("color",) if key in mark}
    unshaped = {channel: encoding for channel, encoding in series.items() if channel != "shape"}
    interval = {**position, "y": {**y, "field": "low"}, "y2": {"field": "high"}, **unshaped}
    return [
        {"mark": {"type": "rule", "strokeWidth": 2, **colours}, "encoding": interval},
        {"mark": {"type": "point", "filled": True, **mark}, "encoding": {**position, "y": y, **series}},
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
    body = {
        "data": {"values": [{"text": NO_DATA}]},
        "width": COLUMN_WIDTH - 10,
        "height": 60,
        "mark": {"type": "text", "fontSize": 13, "color": THEMES[theme].ink, "limit": 500},
        "encoding": {"text": {"field": "text", "type": "nominal"}},
    }
    spec = build_spec(body, [title], [], theme)
    spec["title"] = {"text": wrapped(title, TITLE_WIDTH), "subtitle": wrapped(reason, LINE_WIDTH)}
    return {**spec, "usermeta": {WHY: reason}}


def size_of(spec: Spec) -> tuple[int, int] | None:
    """Return the approximate size of a chart of one panel in pixels, or None for other charts."""
    if "layer" not in spec:
        return None
    height, title = spec["height"], spec["title"]
    if isinstance(height, dict):  # a step for each category
        axes = (layer.get("encoding", {}).get("y", {}) for layer in spec["layer"])
        field = next(axis["field"] for axis in axes if axis.get("type") == "nominal")
        height = height["step"] * len({row[field] for row in spec["data"]["values"] if field in row})
    lines = [*([title["text"]] if isinstance(title["text"], str) else title["text"]), *title["subtitle"]]
    return spec["width"], height + AROUND_PANEL + LINE * len(lines)


def why_empty(spec: Spec) -> str:
    """Return the reason why a chart has nothing to draw, or an empty string if it draws something."""
    return str(spec.get("usermeta", {}).get(WHY, ""))


def shorten(name: str, longest: int = MAX_NAME_LENGTH) -> str:
    """Truncate a name to one line, without control characters, which XML does not allow."""
    clean = "".join(character if character.isprintable() else "�" for character in name)
    return clean if len(clean) <= longest else clean[: longest - 1] + "…"


def wrapped(text: str, width: int) -> list[str]:
    """Split a text into lines between words. A long name stays whole."""
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def column_spec(body: Spec, title: list[str], notes: list[str], theme: str) -> Spec:
    """Return a complete specification for a paper's column: lines wrapped, legend below, as wide as a column in all.

    title : what is drawn, then what it means; notes : what else a reader must know
    """
    lines = wrapped("; ".join([*title[1:], *notes]), LINE_WIDTH)
    spec = build_spec(body, [title[0], *lines], [], theme)
    spec["title"] |= {"text": wrapped(title[0], TITLE_WIDTH), "limit": COLUMN_WIDTH, "offset": 12}
    spec["config"]["legend"] |= {"orient": "bottom", "labelLimit": 340, "titleLimit": 340}
    spec["config"]["header"]["labelFontSize"] = 11
    if "layer" in body:
        spec |= {"width": COLUMN_WIDTH, "autosize": {"type": "fit-x", "contains": "padding"}}
    return spec


def widened(spec: Spec, width: int) -> Spec:
    """Return a picture for a paper's column at another width, with more panels in a row where they fit."""
    times, title = max(1, width // COLUMN_WIDTH), spec["title"]
    lines = {
        key: wrapped(" ".join(title[key]), round(letters * width / COLUMN_WIDTH))
        for key, letters in (("text", TITLE_WIDTH), ("subtitle", LINE_WIDTH))
    }
    wide = {**spec, "title": {**title, **lines, "limit": width}}
    if "concat" in spec:  # of cells, which have their size
        return {**wide, "columns": spec["columns"] if spec["columns"] > 2 else times * spec["columns"]}
    if "facet" not in spec:
        return {**wide, "width": width}
    columns = spec.get("columns", 1) * (times if "columns" in spec else 1)
    more = (width - COLUMN_WIDTH * (times if "columns" in spec else 1)) // columns
    panel = {**spec["spec"], "width": spec["spec"]["width"] + more}
    return {**wide, **({"columns": columns} if "columns" in spec else {}), "spec": panel}


def unique(labels: Sequence[str]) -> list[str]:
    """Number labels where two are equal, since they are places on an axis."""
    if len(set(labels)) == len(labels):
        return list(labels)
    return [f"{index}: {label}" for index, label in enumerate(labels, start=1)]


def short_names(names: Iterable[str], longest: int, displayed_as: Callable[[str], str] = str) -> dict[str, str]:
    """Return a name of at most so many characters for each name, cut in the middle. Different ones for different names.

    displayed_as : how a name is written
    """
    clean = {name: shorten(text, len(text)) for name in names for text in [displayed_as(name)]}
    tail = longest // 2
    cut = [
        name if len(name) <= longest else f"{name[: longest - tail - 1]}…{name[len(name) - tail :]}"
        for name in clean.values()
    ]
    return dict(zip(clean, unique(cut), strict=True))


def with_end_labels(
    rows: Sequence[dict[str, Any]],
    x: Spec,
    series: str,
    value: str,
    height: int,
    domain: Sequence[float] = (0.0, 1.0),
) -> list[dict[str, Any]]:
    """Return rows of curves, the last one of each with its name and where that stands, none over another.

    x : encoding of the horizontal axis, whose domain gets room for the names; height : pixels of a plot, for the domain of values
    """
    low, high = x["scale"]["domain"]
    label = max(len(row[series]) for row in rows) * LETTER + 4
    x["scale"] = {**x["scale"], "domain": [low, high + (high - low) * label / (COLUMN_WIDTH - 60 - label)]}
    bottom, gap = domain[0], LABEL / height * (domain[1] - domain[0])
    ends: dict[int, dict[str, Any]] = {}
    for panel in dict.fromkeys(row.get("panel") for row in rows):
        drawn = [index for index, row in enumerate(rows) if row.get("panel") == panel and row[value] is not None]
        last = {rows[index][series]: index for index in drawn}
        names = sorted(last, key=lambda name: -rows[last[name]][value])
        limit, places = float("inf"), dict[str, float]()
        for name in names:
            places[name] = limit = min(rows[last[name]][value], limit - gap)
        limit = bottom
        for name in reversed(names):
            places[name] = max(places[name], limit)
            limit = places[name] + gap
        ends |= {index: {"_name": name, "_at": places[name], "_end": high} for name, index in last.items()}
    return [{**row, **ends.get(index, {})} for index, row in enumerate(rows)]


def end_layer(x: Spec, y: Spec) -> Spec:
    """Return the layer that writes the name `_name` of each curve at the end of the plot, at the height `_at`."""
    return {
        "transform": [{"filter": {"field": "_at", "valid": True}}],
        "mark": {"type": "text", "align": "left", "baseline": "middle", "fontSize": 11},
        "encoding": {
            "x": {**x, "field": "_end"},
            "y": {**y, "field": "_at"},
            "text": {"field": "_name"},
            "color": LOOK["color"],
        },
    }


def first_of(names: Sequence[str], limit: int | None = None) -> tuple[list[str], list[str]]:
    """Return the first names, by default as many as curves fit, and a note that says how many are left out."""
    limit = MAX_SERIES if limit is None else limit
    note = [f"{limit} of {len(names)}; the others are under Details"] if len(names) > limit else []
    return list(names[:limit]), note


def looks_of(everyone: Iterable[str], raters: Iterable[str], theme: str) -> list[Look]:
    """Return the look of each rater, the same in every picture of a study. The mean of judges is not a rater's.

    everyone : names of all raters of the study
    """
    judges = sorted({name for name in everyone if name != PEOPLE})
    index_of = {name: index for index, name in enumerate([PEOPLE, *judges])}
    mean = (THEMES[theme].ink, SHAPES[-1])
    return [THEMES[theme].look(index_of[name]) if name in index_of else mean for name in raters]
