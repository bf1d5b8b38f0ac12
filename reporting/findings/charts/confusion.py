"""Confusion of raters as coloured cells: what they say where people's majority, or the model of Dawid and Skene, says A."""

from collections.abc import Iterator
from typing import Any

from reporting.core.charts import Findings, Spec, shorten
from reporting.core.raters import PEOPLE
from reporting.core.text import rater_name
from reporting.core.themes import THEMES
from reporting.findings.charts.cells import ShadedCell, cells_body
from reporting.findings.charts.common import (
    column_spec,
    configuration_notes,
    first_of,
    kind_looks,
    nothing,
    rater_names,
    short_names,
    study_notes,
    title_of,
)

MAX_RATERS, MAX_PEOPLE = 8, 30
LONGEST_PERSON = 16  # characters; with more, 100 would not fit into a cell
CLASSES = {"a": "A", "tie": "=", "b": "B"}  # words would not fit into cells


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
