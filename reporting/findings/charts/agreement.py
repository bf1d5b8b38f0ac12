"""How far people agree with one another, and who prefers the text shown first."""

from collections import Counter

from reporting.core.charts import Findings, Spec
from reporting.core.reasons import ALL_TIES
from reporting.findings.charts.common import (
    column_spec,
    first_series,
    interval_notes,
    kind_looks,
    nothing,
    rater_looks,
    rater_names,
    study_notes,
)
from reporting.findings.charts.dots import dot_rows, point
from reporting.findings.reasons import NO_VERDICT


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
