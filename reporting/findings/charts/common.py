"""Shared parts of the pictures of findings: notes, labels, and the form for a paper."""

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from reporting.core.charts import (
    COLUMN_WIDTH,
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

PAGE_WIDTH = 806  # pixels of a picture as wide as a page, 7 inches
PANEL = (146, 120)  # two beside each other in a column
TITLE_WIDTH, LINE_WIDTH, LEGEND_WIDTH = 42, 58, 18  # characters of a line, of a name in a legend of two columns
COUNTED = "n: instances"
EVERYONE = "everyone"  # names of all raters, in an order that gives each its look


def wrapped(text: str, width: int) -> list[str]:
    """Split a text into lines between words. A long name stays whole."""
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def column_spec(body: Spec, title: list[str], notes: list[str], theme: str, *, legend: Sequence[str] = ()) -> Spec:
    """Return a complete specification for a paper's column: lines wrapped, legend below, as wide as a column in all.

    title  : what is drawn, then what it means; notes : what else a reader must know
    legend : names in the legend, which decide whether it has two columns
    """
    lines = [part for line in (*title[1:], "; ".join(notes)) for part in wrapped(line, LINE_WIDTH)]
    spec = build_spec(body, [title[0], *lines], [], theme)
    spec["title"] |= {"text": wrapped(title[0], TITLE_WIDTH), "limit": COLUMN_WIDTH, "offset": 12}
    columns = 2 if all(len(name) <= LEGEND_WIDTH for name in legend) else 1
    spec["config"]["legend"] |= {
        "orient": "bottom",
        "columns": columns,
        "labelLimit": 340 // columns,
        "titleLimit": 340,
    }
    spec["config"]["header"]["labelFontSize"] = 11
    if "layer" in body:
        spec |= {"width": COLUMN_WIDTH, "autosize": {"type": "fit-x", "contains": "padding"}}
    return spec


def for_page(spec: Spec) -> Spec:
    """Return a picture for a paper's column as one for the width of a page."""
    wide = {**spec, "title": {**spec["title"], "limit": PAGE_WIDTH}}
    if "concat" in spec:  # of cells, which have their size
        return {**wide, "columns": spec["columns"] if spec["columns"] > 2 else 2 * spec["columns"]}
    if "facet" not in spec:
        return {**wide, "width": PAGE_WIDTH}
    width, columns = spec["spec"]["width"], {"columns": 2 * spec["columns"]} if "columns" in spec else {}
    if columns:
        return wide | columns | {"spec": {**spec["spec"], "width": width + 20}}
    return {**wide, "spec": {**spec["spec"], "width": width + PAGE_WIDTH - COLUMN_WIDTH}}


def nothing(title: str, why: str, theme: str) -> Spec:
    """Return a picture that holds only the reason why there is nothing to draw."""
    spec = empty_chart(title, why, theme)
    spec["title"] = {"text": wrapped(title, TITLE_WIDTH), "subtitle": wrapped(why, LINE_WIDTH)}
    return {**spec, "width": COLUMN_WIDTH - 10}


def interval_note(findings: Findings) -> str:
    """Say what bars are, or why there are none yet."""
    if "being_computed" in findings:
        return "intervals are being computed"
    bars = f"bars: {findings['filters']['level'] * 100:g}% intervals"
    if findings["filters"]["two_way"]:
        return f"{bars}, over instances and raters where a number has several raters"
    return f"{bars} over instances"


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


def rater_names(raters: Iterable[str], longest: int) -> dict[str, str]:
    """Return short names of raters, as pages write them: a judge's without its prefix."""
    return short_names(raters, longest, rater_name)


def interval_notes(findings: Findings, rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Say what bars are, and why a value of these has none."""
    missing = "being_computed" not in findings and any(row["value"] is not None and row["low"] is None for row in rows)
    return [interval_note(findings), *(["without a bar: too few instances for an interval"] if missing else [])]


def separability_axis(*, angle: int = -40) -> Spec:
    """Return the encoding of bins of separability on the horizontal axis."""
    title = "Separability"
    return {"field": "bin", "type": "ordinal", "sort": None, "title": title, "axis": {"labelAngle": angle}}


def rater_looks(findings: Findings, raters: Iterable[str], theme: str) -> list[Look]:
    """Return the look of each rater, the same in every picture of the findings. The mean of judges is no rater's."""
    index_of = {
        name: index for index, name in enumerate([PEOPLE, *(name for name in findings[EVERYONE] if name != PEOPLE)])
    }
    mean = (THEMES[theme].ink, SHAPES[-1])
    return [THEMES[theme].look(index_of[name]) if name in index_of else mean for name in raters]


def kind_looks(theme: str) -> dict[str, Look]:
    """Return the looks of people and of a judge that its name alone tells apart."""
    return {"person": THEMES[theme].look(0), "judge": THEMES[theme].look(1)}


def first_series(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return as many names as there are colours, and a note that says how many are left out."""
    return first_of(names, MAX_SERIES)


def first_of(names: Sequence[str], limit: int) -> tuple[list[str], list[str]]:
    """Return the first names, and a note that says how many are left out."""
    left_out = len(names) - limit
    cut = f"the first {limit} of {len(names)}; the others are in the findings’ JSON"
    note = [cut] if left_out > 0 else []
    return list(names[:limit]), note
