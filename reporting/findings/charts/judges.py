"""May a judge be believed: its agreement with people, tests of replacement, what it confuses, and its own family."""

from annotation.core.counting import fixed
from reporting.core.charts import (
    CURVE_HEIGHT,
    LONGEST_LABEL,
    LOOK,
    Findings,
    Spec,
    column_spec,
    empty_chart,
    end_layer,
    first_of,
    padded,
    quantity,
    shares,
    short_names,
    with_end_labels,
    with_look,
)
from reporting.core.raters import PEOPLE
from reporting.core.text import JUDGE
from reporting.core.themes import THEMES
from reporting.findings.charts.common import (
    NO_PREFERENCE,
    SUBJECT,
    interval_notes,
    rater_look,
    rater_looks,
    span_text,
    study_notes,
)
from reporting.findings.charts.dots import HALF, Row, dots_picture, point
from reporting.findings.charts.separability import curve_body

MAX_PANELS = 8
NO_JUDGE = "no judge has rated pairs that two people rated"


def judges_against_people(findings: Findings, theme: str) -> Spec:
    """Points: each judge's agreement with people, beside that of people with one another on the same pairs."""
    called, people = findings[SUBJECT], rater_look(findings, PEOPLE, theme)
    series = ["judge", called]
    rows = [
        row
        for judge in findings["judges_against_people"]
        for row in (
            point(
                judge["judge"], series[0], judge["overall"]["agreement"], rater_look(findings, judge["rater"], theme)
            ),
            point(judge["judge"], series[1], judge["overall"]["people_agreement"], people),
        )
        if row["value"] is not None
    ]
    title = f"Judges against {called}"
    axis, first = "Share of ratings that agree", [f"agreement with {called}, on the same pairs"]
    return dots_picture(findings, [title], rows, series, axis, theme, why=NO_JUDGE, first_notes=first, share=True)


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
        return empty_chart(title, NO_JUDGE, theme)
    names, rows = short_names(judges, 40), list[Row]()
    for judge in judges:
        tests = everyone[judge]["non_inferiority"]
        parts = [("all", tests["overall"])]
        parts += [(f"{fixed(bin_['low'], 2)}–{fixed(bin_['high'], 2)}", bin_) for bin_ in reversed(tests["bins"])]
        rows += [
            point(
                name, "", item["difference"], rater_look(findings, everyone[judge]["rater"], theme), panel=names[judge]
            )
            for name, item in parts
            if item["difference"]["value"] is not None
        ]
    margin = everyone[judges[0]]["epsilon"]
    dashed = (
        f"dashed: the margin −ε\u00a0=\u00a0−{margin:g}; where the interval is to its right, the judge may replace "
        "a person"
    )
    meaning = "a judge’s agreement with people less that of people, by separability"
    axis, marks, notes = "Difference of agreement", [(0, False), (-margin, True)], [dashed, *more]
    return dots_picture(
        findings, [title, meaning], rows, [""], axis, theme, why=NO_JUDGE, notes=notes, marks=marks, panel=True
    )


def winning_rates(findings: Findings, theme: str) -> Spec:
    """Curves: the winning rate of the alternative-annotator test by ε, for each judge."""
    title = "Alternative-annotator test"
    tests = {judge["judge"]: judge["alternative_annotator"] for judge in findings["replacement"]}
    tested = [name for name, test in tests.items() if test["winning_rate"] is not None]
    if not tested:
        why = next((str(test["why"]) for test in tests.values() if "why" in test), NO_JUDGE)
        return empty_chart(title, why, theme)
    judges, more = first_of(tested)
    names = short_names(judges, LONGEST_LABEL)
    looks = dict(zip(judges, rater_looks(findings, (f"{JUDGE}{name}" for name in judges), theme), strict=True))
    epsilon = tests[judges[0]]["epsilon"]
    rows = [
        with_look(
            {
                "judge": names[name],
                "epsilon": row["epsilon"],
                "winning_rate": row["winning_rate"],
                "people_tested": tests[name]["tested"],
                "_marked": index % 5 == 0,
            },
            looks[name],
        )
        for name in judges
        for index, row in enumerate(tests[name]["curve"])
        if row["winning_rate"] is not None
    ]
    meaning = "share of the people whom the judge can replace, by ε, the acceptable loss"
    tested_people = sorted({tests[name]["tested"] for name in judges})
    notes = [
        f"dashed: ω\u00a0=\u00a00.5, from which it passes; dotted: the ε chosen, {epsilon:g}",
        f"people tested: {span_text(tested_people)}",
        "no intervals: each person is one test",
        *more,
        *study_notes(findings),
    ]
    x = quantity("epsilon", "ε", **padded(row["epsilon"] for row in rows))
    rows = with_end_labels(rows, x, "judge", "winning_rate", CURVE_HEIGHT)
    y = quantity("winning_rate", "Winning rate ω", **shares())
    dashed = {"type": "rule", "color": THEMES[theme].ink, "strokeDash": [4, 4]}
    body = {
        "data": {"values": rows},
        "height": CURVE_HEIGHT,
        "layer": [
            {"mark": dashed, "encoding": {"y": {"datum": 0.5, "type": "quantitative"}}},
            {"mark": {**dashed, "strokeDash": [1, 3]}, "encoding": {"x": {"datum": epsilon, "type": "quantitative"}}},
            {
                "mark": {"type": "line", "interpolate": "step-after"},
                "encoding": {"x": x, "y": y, "color": LOOK["color"], "detail": {"field": "judge"}},
            },
            {
                "transform": [{"filter": {"field": "_marked", "equal": True}}],
                "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
                "encoding": {"x": x, "y": y, **LOOK},
            },
            end_layer(x, y),
        ],
    }
    return column_spec(body, [title, meaning], notes, theme)


def calibration(findings: Findings, theme: str) -> Spec:
    """Curves: people's votes for the system that a judge prefers, by its probability."""
    title, probabilities = "Calibration of probabilities", findings.get("judge_probabilities") or []
    judges, more = first_of([item["judge"] for item in probabilities])
    if not judges:
        return empty_chart(title, "no judge has probabilities on pairs that people rated", theme)
    names = short_names(judges, LONGEST_LABEL)
    looks = dict(zip(judges, rater_looks(findings, (f"{JUDGE}{name}" for name in judges), theme), strict=True))
    rows = [
        with_look(
            {"rater": names[item["judge"]], "probability": bin_["probability"], **point("", "", bin_["votes"])},
            looks[item["judge"]],
        )
        for item in probabilities[: len(judges)]
        for bin_ in item["bins"]
    ]
    x = quantity("probability", "Judge’s probability", **padded((0.5, 1)))
    y = quantity("value", f"Votes of {findings[SUBJECT]}, a tie as half", **shares())
    meaning = "votes for the system that the judge prefers"
    notes = [*interval_notes(findings, rows), "dashed: calibrated", *more, *study_notes(findings)]
    ends = [{"probability": end, "value": end} for end in (0.5, 1.0)]
    dashed = {"type": "line", "color": THEMES[theme].ink, "strokeDash": [4, 4]}
    diagonal = {"data": {"values": ends}, "mark": dashed, "encoding": {"x": x, "y": y}}
    body = curve_body(rows, x, y, diagonal)
    return column_spec(body, [title, meaning], notes, theme)


def self_preference(findings: Findings, theme: str) -> Spec:
    """Points: how often each judge prefers its own family's system, beside people on the same pairs."""
    title = "Do judges prefer their own family?"
    judges = findings["self_preference"]
    series = ["judge", f"{findings[SUBJECT]}, same pairs"]
    rows = [
        point(f"{judge['judge']} ({judge['family']})", name, judge[key], rater_look(findings, rater, theme))
        for judge in judges
        for name, key, rater in zip(series, ("with_judge", "with_people"), (judge["rater"], PEOPLE), strict=True)
        if judge[key]["value"] is not None
    ]
    why = next((str(judge["why"]) for judge in judges if "why" in judge), NO_JUDGE)
    axis = "Win rate of the family’s system, a tie as half"
    return dots_picture(findings, [title], rows, series, axis, theme, why=why, notes=[NO_PREFERENCE], **HALF)
