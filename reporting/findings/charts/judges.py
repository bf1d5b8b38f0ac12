"""May a judge be believed: its agreement with people, tests of replacement, what it confuses, and its own family."""

from collections.abc import Sequence

from reporting.core.charts import Findings, Spec, padded, quantity, series_encoding, shares
from reporting.core.text import JUDGE
from reporting.core.themes import THEMES, Theme
from reporting.findings.charts.common import (
    column_spec,
    first_of,
    interval_notes,
    kind_looks,
    nothing,
    rater_looks,
    short_names,
    study_notes,
)
from reporting.findings.charts.dots import Row, dot_rows, point

MAX_PANELS = 8
NO_JUDGE = "no judge has rated pairs that two people rated"


def judges_against_people(findings: Findings, theme: str) -> Spec:
    """Points: each judge's agreement with people, beside that of people with one another on the same pairs."""
    series = ["judge with people", "people with one another, same pairs"]
    rows = [
        row
        for judge in findings["judges_against_people"]
        for row in (
            point(judge["judge"], series[0], judge["overall"]["agreement"]),
            point(judge["judge"], series[1], judge["overall"]["people_agreement"]),
        )
        if row["value"] is not None
    ]
    title = "Judges against people"
    if not rows:
        return nothing(title, NO_JUDGE, theme)
    axis, looks = "Share of ratings that agree", [kind_looks(theme)["judge"], kind_looks(theme)["person"]]
    body, about_rows = dot_rows(rows, series, axis, theme, looks=looks, share=True)
    notes = [*interval_notes(findings, rows), *about_rows, *study_notes(findings)]
    return column_spec(body, [title], notes, theme, legend=series)


def non_inferiority(findings: Findings, theme: str) -> Spec:
    """Points: each judge's agreement with people less that of people, overall and by separability, beside the margin."""
    title = "May a judge replace a person?"
    everyone = {judge["judge"]: judge for judge in findings["replacement"]}
    judges, more = first_of(
        [
            name
            for name, item in everyone.items()
            if item["non_inferiority"]["overall"]["difference"]["value"] is not None
        ],
        MAX_PANELS,
    )
    if not judges:
        return nothing(title, NO_JUDGE, theme)
    names, rows = short_names(judges, 40), list[Row]()
    for judge in judges:
        tests = everyone[judge]["non_inferiority"]
        parts = [("all", tests["overall"])]
        parts += [(f"{bin_['low']:.2f}–{bin_['high']:.2f}", bin_) for bin_ in reversed(tests["bins"])]
        rows += [
            point(name, "", item["difference"], panel=names[judge])
            for name, item in parts
            if item["difference"]["value"] is not None
        ]
    margin = everyone[judges[0]]["epsilon"]
    dashed = f"dashed: the margin −ε\u00a0=\u00a0−{margin:g}; an interval to its right shows that the judge may replace a person there"
    meaning = "a judge’s agreement with people less that of people, by separability"
    axis = "Difference of agreement"
    looks, marks = [kind_looks(theme)["judge"]], [(0, False), (-margin, True)]
    body, about_rows = dot_rows(rows, [""], axis, theme, looks=looks, marks=marks, panel=True)
    notes = [*interval_notes(findings, rows), dashed, *more, *about_rows, *study_notes(findings)]
    return column_spec(body, [title, meaning], notes, theme)


def winning_rates(findings: Findings, theme: str) -> Spec:
    """Curves: the winning rate of the alternative-annotator test by ε, for each judge."""
    title = "Alternative-annotator test"
    tests = {judge["judge"]: judge["alternative_annotator"] for judge in findings["replacement"]}
    tested = [name for name, test in tests.items() if test["winning_rate"] is not None]
    if not tested:
        why = next((str(test["why"]) for test in tests.values() if "why" in test), NO_JUDGE)
        return nothing(title, why, theme)
    judges, more = first_of(tested, len(THEMES[theme].judges))
    names = short_names(judges, 30)
    labels = {name: f"{short} ({tests[name]['tested']} people)" for name, short in names.items()}
    epsilon = tests[judges[0]]["epsilon"]
    rows = [
        {
            "judge": labels[name],
            "epsilon": row["epsilon"],
            "winning_rate": row["winning_rate"],
            "people_tested": tests[name]["tested"],
            "_marked": index % 5 == 0,
        }
        for name in judges
        for index, row in enumerate(tests[name]["curve"])
        if row["winning_rate"] is not None
    ]
    looks = rater_looks(findings, (f"{JUDGE}{name}" for name in judges), theme)
    series = series_encoding("judge", None, list(labels.values()), THEMES[theme], looks)
    meaning = "share of the people whom the judge can replace, by ε, what the judge may lack"
    notes = [
        f"dashed: ω\u00a0=\u00a00.5, from which it passes; dotted: the ε chosen, {epsilon:g}",
        "no intervals: each person is one test",
        *more,
        *study_notes(findings),
    ]
    body = {"data": {"values": rows}, "height": 200, "layer": _steps(rows, series, epsilon, THEMES[theme])}
    return column_spec(body, [title, meaning], notes, theme, legend=list(labels.values()))


def _steps(rows: Sequence[Row], series: Spec, epsilon: float, look: Theme) -> list[Spec]:
    """Return the curves of winning rates, with points, and lines at ω = 0.5 and at the ε chosen."""
    x = quantity("epsilon", "ε", **padded(row["epsilon"] for row in rows))
    y = quantity("winning_rate", "Winning rate ω", **shares())
    dashed = {"type": "rule", "color": look.ink, "strokeDash": [4, 4]}
    return [
        {"mark": dashed, "encoding": {"y": {"datum": 0.5, "type": "quantitative"}}},
        {"mark": {**dashed, "strokeDash": [1, 3]}, "encoding": {"x": {"datum": epsilon, "type": "quantitative"}}},
        {
            "mark": {"type": "line", "interpolate": "step-after"},
            "encoding": {"x": x, "y": y, "color": series["color"]},
        },
        {
            "transform": [{"filter": {"field": "_marked", "equal": True}}],
            "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
            "encoding": {"x": x, "y": y, **series},
        },
    ]


def self_preference(findings: Findings, theme: str) -> Spec:
    """Points: how often each judge prefers its own family's system, beside people on the same pairs."""
    title = "Do judges prefer their own family?"
    judges = findings["self_preference"]
    series = ["judge", "people, same pairs"]
    rows = [
        point(f"{judge['judge']} ({judge['family']})", name, judge[key])
        for judge in judges
        for name, key in zip(series, ("with_judge", "with_people"), strict=True)
        if judge[key]["value"] is not None
    ]
    if not rows:
        return nothing(title, next((str(judge["why"]) for judge in judges if "why" in judge), NO_JUDGE), theme)
    axis = "Win rate of the family’s system, a tie as half"
    looks = [kind_looks(theme)["judge"], kind_looks(theme)["person"]]
    body, about_rows = dot_rows(rows, series, axis, theme, looks=looks, share=True, marks=[(0.5, True)])
    notes = [*interval_notes(findings, rows), "dashed: no preference", *about_rows, *study_notes(findings)]
    return column_spec(body, [title], notes, theme, legend=series)
