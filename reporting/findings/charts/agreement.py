"""How far judges agree with people and people with one another, what judges confuse, and who prefers what is shown first."""

from collections import Counter

from reporting.core.charts import Findings, Spec, shorten
from reporting.findings.charts.common import column_spec, nothing, study_captions
from reporting.findings.charts.dots import Row, dot_rows, first_series, point

MAX_PANELS = 8
INTERVALS = "bars: 95% intervals over instances"
JUDGE, OTHERS = "judge with people", "people with one another, same pairs"
NO_JUDGE = "no judge has rated pairs that two people rated"
AGREEMENT = "Share of votes that agree"


def judges_against_people(found: Findings, theme: str) -> Spec:
    """Points: each judge's agreement with people, beside that of people with one another on the same pairs."""
    rows = [
        row
        for judge in found.get("judges_against_people") or ()
        for row in (
            point(shorten(judge["judge"], 40), JUDGE, judge["overall"]["agreement"]),
            point(shorten(judge["judge"], 40), OTHERS, judge["overall"]["people_agreement"]),
        )
        if row["value"] is not None
    ]
    title = ["Judges against people", INTERVALS]
    if not rows:
        return nothing(title[0], NO_JUDGE, theme)
    body = dot_rows(rows, [JUDGE, OTHERS], AGREEMENT, theme, domain=(0, 1))
    return column_spec(body, title, study_captions(found), theme)


def non_inferiority(found: Findings, theme: str) -> Spec:
    """Points: each judge's agreement with people less that of people, overall and by separability, beside the margin."""
    judges = [
        one
        for one in found.get("replacement") or ()
        if one["non_inferiority"]["overall"]["difference"]["value"] is not None
    ]
    title = "May a judge replace a person?"
    if not judges:
        return nothing(title, NO_JUDGE, theme)
    judges, more = (
        judges[:MAX_PANELS],
        [f"{len(judges) - MAX_PANELS} more judges are in the table"][: len(judges) > MAX_PANELS],
    )
    rows: list[Row] = []
    for one in judges:
        tests = one["non_inferiority"]
        overall = tests["overall"]["difference"]
        rows.append(point(_range("all", overall), "", overall, panel=shorten(one["judge"])))
        for bin_ in reversed(tests["bins"]):
            named = _range(f"{bin_['low']:.2f} to {bin_['high']:.2f}", bin_["difference"])
            if bin_["difference"]["value"] is not None:
                rows.append(point(named, "", bin_["difference"], panel=shorten(one["judge"])))
    margin = judges[0]["epsilon"]
    lines = [
        f"a judge's agreement with people less that of people, by separability; {INTERVALS}",
        f"dashed: the margin −ε = −{margin:g}; an interval to its right shows that the judge may replace a person there",
    ]
    body = dot_rows(
        rows, [""], "Difference of agreement", theme, marks=[(0, False), (-margin, True)], panel=len(judges) > 1
    )
    named = title if len(judges) > 1 else f"{title} {shorten(judges[0]['judge'])}"
    return column_spec(body, [named, *lines], [*more, *study_captions(found)], theme)


def _range(name: str, estimate: Findings) -> str:
    return f"{name} (n = {estimate['n_instances']})"


def people_agreement(found: Findings, theme: str) -> Spec:
    """Points: raw agreement and ordinal alpha of people in each configuration."""

    def estimates(people: Findings) -> dict[str, Findings]:
        return {"raw agreement": people["raw_agreement"], "α, ordinal": people["krippendorff_alpha"]["ordinal"]}

    rows = [
        row
        for name, one in _names(found)
        for series, estimate in estimates(one["raters"][0]).items()
        for row in [point(name, series, estimate)]
        if row["value"] is not None
    ]
    if not rows:
        return nothing("Agreement between people", "no pair has votes of two people", theme)
    body = dot_rows(
        rows, ["raw agreement", "α, ordinal"], "Agreement (α: 0 is chance, 1 full)", theme, marks=[(0, False)]
    )
    return column_spec(body, ["Agreement between people", INTERVALS], study_captions(found), theme)


def position(found: Findings, theme: str) -> Spec:
    """Points: the share of verdicts for the text shown first, by rater and configuration."""
    raters, more = first_series(
        list(dict.fromkeys(one["rater"] for each in found["configurations"] for one in each["raters"]))
    )
    rows = [
        row
        for name, one in _names(found)
        for rater in one["raters"]
        if rater["rater"] in raters
        for row in [point(name, shorten(rater["rater"]), rater["preferred_first"])]
        if row["value"] is not None
    ]
    if not rows:
        return nothing("Position", "no verdict but ties", theme)
    drawn = [shorten(name) for name in raters if shorten(name) in {row["series"] for row in rows}]
    body = dot_rows(rows, drawn, "Share for the text shown first", theme, domain=(0, 1), marks=[(0.5, True)])
    title = ["Position", f"ties left out; {INTERVALS}; dashed: no bias"]
    return column_spec(body, title, [*more, *study_captions(found)], theme)


def _names(found: Findings) -> list[tuple[str, Findings]]:
    """Return the configurations with a short name: the data set's, where no two have the same."""
    sets = Counter(one["dataset"] for one in found["configurations"])
    return [
        (
            shorten(
                one["dataset"]
                if sets[one["dataset"]] == 1
                else f"{one['system_a']} / {one['system_b']}, {one['dataset']}",
                40,
            ),
            one,
        )
        for one in found["configurations"]
    ]
