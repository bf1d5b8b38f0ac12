"""Pictures of agreement, of position, and of what raters confuse."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from reporting.core.charts import Findings, Spec, shorten
from reporting.core.raters import PEOPLE
from reporting.core.reasons import ALL_TIES
from reporting.core.text import rater_name
from reporting.core.themes import THEMES
from reporting.findings.charts.cells import ShadedCell, cells_body
from reporting.findings.charts.common import (
    column_spec,
    configuration_notes,
    first_of,
    first_series,
    interval_notes,
    kind_looks,
    nothing,
    rater_looks,
    rater_names,
    short_names,
    study_notes,
    title_of,
)
from reporting.findings.charts.dots import dot_rows, point
from reporting.findings.reasons import NO_VERDICT

MAX_RATERS, MAX_PEOPLE = 8, 30
LONGEST_PERSON = 16  # characters; with more, 100 would not fit into a cell
CLASSES = {"a": "A", "tie": "=", "b": "B"}  # words would not fit into cells


def people_agreement(found: Findings, theme: str) -> Spec:
    """Points: raw agreement and ordinal alpha of people in each configuration."""
    title = "Agreement between people"
    series = ["raw agreement", "Krippendorff’s α, ordinal"]
    rows = [
        row
        for name, one in _names(found)
        for people in one["raters"][:1]
        for row in (
            point(name, series[0], people["raw_agreement"]),
            point(name, series[1], people["krippendorff_alpha"]["ordinal"]),
        )
        if row["value"] is not None
    ]
    if not rows:
        return nothing(title, "no pair has ratings of two people", theme)
    colour, shape = kind_looks(theme)["person"]
    looks = [(colour, shape), (colour, "diamond")]
    axis = "Agreement (α: 0 is chance, 1 full)"
    body, about_rows = dot_rows(rows, series, axis, theme, looks=looks, marks=[(0, False), (1, False)])
    notes = [*interval_notes(found, rows), *about_rows, *study_notes(found)]
    return column_spec(body, [title], notes, theme, legend=series)


def position(found: Findings, theme: str) -> Spec:
    """Points: the share of verdicts for the text shown first, by rater and configuration."""
    everyone = dict.fromkeys(one["rater"] for each in found["configurations"] for one in each["raters"])
    raters, more = first_series(list(everyone))
    names = rater_names(raters, 40)
    rows = [
        row
        for name, one in _names(found)
        for rater in one["raters"]
        if rater["rater"] in names
        for row in [point(name, names[rater["rater"]], rater["preferred_first"])]
        if row["value"] is not None
    ]
    title = "Position"
    if not rows:
        codes = [rater["preferred_first"]["why_code"] for one in found["configurations"] for rater in one["raters"]]
        return nothing(title, (ALL_TIES if ALL_TIES.code in codes else NO_VERDICT).text, theme)
    series = [name for name in names.values() if name in {row["series"] for row in rows}]
    axis = "Share for the text shown first"
    looks = rater_looks(found, (rater for rater, name in names.items() if name in series), theme)
    body, about_rows = dot_rows(rows, series, axis, theme, looks=looks, share=True, marks=[(0.5, True)])
    notes = [
        *interval_notes(found, rows),
        "ties left out",
        "dashed: no bias",
        *more,
        *about_rows,
        *study_notes(found),
    ]
    return column_spec(body, [title], notes, theme, legend=series)


def _names(found: Findings) -> list[tuple[str, Findings]]:
    """Return the configurations with a name: the data set's, where no two have the same."""
    sets = Counter(one["dataset"] for one in found["configurations"])
    return [
        (
            one["dataset"] if sets[one["dataset"]] == 1 else f"{one['system_a']} / {one['system_b']}, {one['dataset']}",
            one,
        )
        for one in found["configurations"]
    ]


def majority_confusion(found: Findings, theme: str) -> Spec:
    """Coloured cells: each rater's verdicts where the majority of the (other) people says A, tie or B."""
    raters = [one for one in found["raters"] if one["confusion"]["n"]]
    if not raters:
        return nothing(title_of(found), found["raters"][0]["confusion"]["why"], theme)
    shown, more = first_of([one["rater"] for one in raters], MAX_RATERS)
    names = rater_names(shown, 12)
    cells = [
        cell for one in raters if one["rater"] in names for cell in _majority_cells(one, names[one["rater"]], theme)
    ]
    empty = any(not sum(row.values()) for one in raters for row in one["confusion"]["by_majority"].values())
    left_out = sum(one["confusion"]["excluded"] for one in raters if one["rater"] in names)
    notes = [
        "=: tie",
        "rows: what the majority of people says, for people that of the others; columns: what the rater says",
        *(["empty: no such pair"] if empty else []),
        f"left out, for want of a majority beside them: {left_out}",
        *more,
        *configuration_notes(found),
    ]
    meaning = (
        "What raters say where the majority of people says A, tie or B, in percent of the row; below it, how often"
    )
    body = cells_body(
        cells,
        rows=list(CLASSES.values()),
        columns=list(CLASSES.values()),
        titles=("majority", "verdict"),
        panels=list(dict.fromkeys(cell.panel for cell in cells)),
        two=True,
        count="count",
    )
    return column_spec(body, [title_of(found), meaning], notes, theme)


def _majority_cells(one: Findings, name: str, theme: str) -> Iterator[ShadedCell]:
    for given, row in one["confusion"]["by_majority"].items():
        n = sum(row.values())
        for verdict, count in row.items() if n else ():
            about = {"rater": rater_name(one["rater"]), "majority": given, "verdict": verdict, "count": count, "n": n}
            panel = f"{name} (n = {one['confusion']['n']})"
            yield ShadedCell(panel, CLASSES[given], CLASSES[verdict], count / n, _scale(theme, one["rater"]), about)


def people_confusion(found: Findings, theme: str) -> Spec:
    """Coloured cells: each person's votes where the model of Dawid and Skene says A, tie or B."""
    title, model = "How each person rates, by the model", found["dawid_skene"]
    if not model["people"]:
        return nothing(title, model["why"], theme)
    classes = list(CLASSES)
    by_ratings = sorted(model["people"], key=lambda one: (-one["ratings"], one["rater"]))
    shown, more = first_of([one["rater"] for one in by_ratings], MAX_PEOPLE)
    names = short_names(shown, LONGEST_PERSON)
    labels = {one["rater"]: f"{names[one['rater']]} ({one['ratings']})" for one in by_ratings if one["rater"] in names}
    cells = [
        _of_person(one, labels[one["rater"]], (classes[true], classes[given]), share, theme)
        for one in by_ratings
        if one["rater"] in labels
        for true, row in enumerate(one["confusion"])
        if row is not None
        for given, share in enumerate(row)
    ]
    body = cells_body(
        cells,
        rows=list(labels.values()),
        columns=list(CLASSES.values()),
        titles=("person", "rating"),
        panels=[f"model: {one}" for one in CLASSES.values()],
        beside=True,
    )
    notes = [
        "=: tie",
        "in brackets: ratings",
        "empty: next to no pair of the kind",
        *more,
        *study_notes(found),
    ]
    meaning = "share of a person’s ratings, in percent, where the model of Dawid and Skene says A, tie or B"
    return column_spec(body, [title, meaning], notes, theme)


def _of_person(person: dict[str, Any], label: str, classes: tuple[str, str], share: float, theme: str) -> ShadedCell:
    true, given = classes
    data = {"rater": shorten(person["rater"]), "true": true, "vote": given, "n": person["rated"][true]}
    panel = f"model: {CLASSES[true]}"
    return ShadedCell(panel, label, CLASSES[given], share, _scale(theme, PEOPLE), data)


def _scale(theme: str, rater: str) -> tuple[str, str]:
    return THEMES[theme].background, kind_looks(theme)["person" if rater == PEOPLE else "judge"][0]
