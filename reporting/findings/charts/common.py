"""Shared parts of the pictures of findings: notes, labels, and the form for a paper."""

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from reporting.core.charts import (
    COLUMN_WIDTH,
    LOOK,
    MAX_NOTE_LENGTH,
    MAX_SERIES,
    Findings,
    Spec,
    build_spec,
    empty_chart,
    shorten,
)
from reporting.core.instance_selection import selection_note
from reporting.core.raters import PEOPLE
from reporting.core.text import SCRIPTED, rater_name
from reporting.core.themes import SHAPES, THEMES, Look

WIDTHS = {"column": COLUMN_WIDTH, "screen": 560, "page": 806}  # pixels; a paper's page has 7 inches
PANEL = (146, 120)  # two beside each other in a column
TITLE_WIDTH, LINE_WIDTH = 42, 58  # characters of a line in a column
LABEL, LETTER = 13, 6.4  # pixels of a label's line, and of a letter in it
CURVE_HEIGHT, LONGEST_LABEL = 210, 18  # pixels of a plot of curves; characters of a name beside a curve
COUNTED = "n: instances"
EVERYONE = "everyone"  # names of all raters, in an order that gives each its look
SUBJECT = "subject"  # what pictures call the raters under “people”


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
    times, title = width // COLUMN_WIDTH, spec["title"]
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


def nothing(title: str, why: str, theme: str) -> Spec:
    """Return a picture that holds only the reason why there is nothing to draw."""
    spec = empty_chart(title, why, theme)
    spec["title"] = {"text": wrapped(title, TITLE_WIDTH), "subtitle": wrapped(why, LINE_WIDTH)}
    return {**spec, "width": COLUMN_WIDTH - 10}


def interval_note(findings: Findings) -> str:
    """Say what bars are, or why there are none yet."""
    if "being_computed" in findings:
        return "intervals are being computed"
    wider = " for every look, wider than of one," if findings.get("horizon") else ""
    bars = f"bars: {findings['filters']['level'] * 100:g}% intervals{wider}"
    units = "clusters" if findings.get("clusters") else "instances"
    if findings["filters"]["two_way"]:
        return f"{bars} over {units} and, where a number has several raters, over raters"
    return f"{bars} over {units}"


def study_notes(findings: Findings) -> list[str]:
    """Return what pictures over all configurations say below their title."""
    return _notes(
        findings,
        findings["pooled"]["scripted"],
        [row for configuration in findings["configurations"] for row in configuration["chosen"]],
    )


def configuration_notes(findings: Findings) -> list[str]:
    """Return what a configuration's pictures say below their title."""
    return _notes(findings, any(rater.get("scripted") for rater in findings["raters"]), findings["chosen"])


def _notes(findings: Findings, scripted: bool, rows: list[Findings]) -> list[str]:
    note = [shorten(selection_note(rows), MAX_NOTE_LENGTH)] if rows else []
    question = [shorten(findings["question"], MAX_NOTE_LENGTH)] if "question" in findings else []
    return [*question, *([SCRIPTED] if scripted else []), *note]


def reason(findings: Findings) -> str:
    """Say why a configuration has nothing to draw."""
    return str(findings.get("why") or (findings["separability"] or {}).get("why") or "no rating set yet")


def title_of(findings: Findings) -> str:
    """Name a configuration."""
    return f"{shorten(findings['dataset'])}: A = {shorten(findings['system_a'])}, B = {shorten(findings['system_b'])}"


def bin_labels(bins: list[Findings]) -> list[str]:
    """Label the bins by their edges."""
    return unique([f"{bin_['low']:.3f} – {bin_['high']:.3f}" for bin_ in bins])


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


def rater_names(findings: Findings, raters: Iterable[str], longest: int) -> dict[str, str]:
    """Return short names of raters, as pages write them: a judge's without its prefix."""
    return short_names(raters, longest, lambda name: findings[SUBJECT] if name == PEOPLE else rater_name(name))


def interval_notes(findings: Findings, rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Say what bars are, and why a value of these has none."""
    missing = "being_computed" not in findings and any(row["value"] is not None and row["low"] is None for row in rows)
    return [interval_note(findings), *(["without a bar: too few instances for an interval"] if missing else [])]


def separability_axis(*, angle: int = -40) -> Spec:
    """Return the encoding of bins of separability on the horizontal axis."""
    title = "Separability"
    return {"field": "bin", "type": "ordinal", "sort": None, "title": title, "axis": {"labelAngle": angle}}


def rater_looks(findings: Findings, raters: Iterable[str], theme: str) -> list[Look]:
    """Return the look of each rater, the same in every picture. The mean of judges is not a rater's."""
    judges = sorted(name for name in findings[EVERYONE] if name != PEOPLE)
    index_of = {name: index for index, name in enumerate([PEOPLE, *judges])}
    mean = (THEMES[theme].ink, SHAPES[-1])
    return [THEMES[theme].look(index_of[name]) if name in index_of else mean for name in raters]


def rater_look(findings: Findings, rater: str, theme: str) -> Look:
    """Return the look of a rater."""
    return rater_looks(findings, [rater], theme)[0]


def with_end_labels(
    rows: Sequence[dict[str, Any]], x: Spec, series: str, value: str, height: int
) -> list[dict[str, Any]]:
    """Return rows of curves, the last one of each with its name and where that stands, none over another.

    x : encoding of the horizontal axis, whose domain gets room for the names; height : pixels of the plot, for values from 0 to 1
    """
    last = {row[series]: index for index, row in enumerate(rows) if row[value] is not None}
    names = sorted(last, key=lambda name: -rows[last[name]][value])
    gap, limit, places = LABEL / height, float("inf"), dict[str, float]()
    for name in names:
        places[name] = limit = min(rows[last[name]][value], limit - gap)
    limit = 0.0
    for name in reversed(names):
        places[name] = max(places[name], limit)
        limit = places[name] + gap
    low, high = x["scale"]["domain"]
    label = max(map(len, names)) * LETTER + 4
    x["scale"] = {**x["scale"], "domain": [low, high + (high - low) * label / (COLUMN_WIDTH - 60 - label)]}
    ends = {index: {"_name": name, "_at": places[name], "_end": high} for name, index in last.items()}
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


def first_series(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return as many names as there are colours, and a note that says how many are left out."""
    return first_of(names, MAX_SERIES)


def first_of(names: Sequence[str], limit: int) -> tuple[list[str], list[str]]:
    """Return the first names, and a note that says how many are left out."""
    left_out = len(names) - limit
    cut = f"the first {limit} of {len(names)}; the others are under Details"
    note = [cut] if left_out > 0 else []
    return list(names[:limit]), note


def span_text(numbers: Sequence[int]) -> str:
    """Return the least and the greatest of some numbers, or the only one."""
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low}–{high}"
