"""Pictures of instances and consistency by separability."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from reporting.core.charts import (
    CURVE_HEIGHT,
    JUDGE_SERIES,
    LONGEST_LABEL,
    LOOK,
    MAX_NAME_LENGTH,
    MAX_SERIES,
    OWN_X_AXES,
    PANEL,
    Findings,
    Spec,
    column_spec,
    empty_chart,
    end_layer,
    first_of,
    padded,
    panels,
    quantity,
    shares,
    shorten,
    with_end_labels,
    with_look,
    wrapped,
)
from reporting.core.raters import PEOPLE
from reporting.core.themes import THEMES
from reporting.findings.charts.common import (
    COUNTED,
    SUBJECT,
    bin_labels,
    configuration_notes,
    interval_notes,
    rater_look,
    rater_looks,
    rater_names,
    reason,
    separability_axis,
    span_text,
    study_notes,
    title_of,
)
from reporting.findings.charts.dots import dots_picture, point


def consistency_by_bin(findings: Findings, theme: str) -> Spec:
    """Stacked bars: the share of rating sets at each consistency, per separability bin and rater."""
    values = sorted(
        {
            float(value)
            for rating_set in with_sets(findings)
            for value in {
                value for bin_ in rating_set["bins"] for value in bin_["consistency_distribution"] or {"0.0": 0}
            }
        }
    )
    colour = {
        "field": "consistency",
        "type": "ordinal",
        "title": "Consistency",
        "sort": values,
        "scale": {"domain": values, "range": [THEMES[theme].consistency(value) for value in values]},
        "legend": {"columns": min(len(values), 7), "format": ".2~f"},
    }
    return _stacks(findings, "consistency", colour, "How consistent rating sets are, by separability", theme)


def strength_by_bin(findings: Findings, theme: str) -> Spec:
    """Stacked bars: the share of rating sets at each preference strength, per separability bin and rater."""
    colours = THEMES[theme]
    colour = {
        "field": "preference_strength",
        "type": "quantitative",
        "title": "Preference strength (−1: A, 1: B)",
        "scale": {"domain": [-1, 0, 1], "range": list(colours.opposites), "interpolate": "lab"},
        "legend": {"gradientLength": 200, "direction": "horizontal", "values": [-1, -0.5, 0, 0.5, 1]},
    }
    title = "How strongly a system is preferred, by separability; A at the bottom, B at the top"
    return _stacks(findings, "preference_strength", colour, title, theme)


def with_sets(findings: Findings) -> list[dict[str, Any]]:
    """Return the raters that have rating sets. The page lists the others with the reason."""
    return [rater for rater in findings["raters"] if rater["rating_sets"]]


def _stacks(findings: Findings, measure: str, colour: Spec, meaning: str, theme: str) -> Spec:
    drawn = with_sets(findings)
    short = rater_names(findings, (rater["rater"] for rater in drawn), 22)
    rows = [row for rater in drawn for row in _stacked(rater, short[rater["rater"]], measure)]
    if not rows:
        return empty_chart(title_of(findings), reason(findings), theme)
    x, y = separability_axis(angle=-90), quantity("share", "Share of rating sets", scale={"domain": [0, 1]})
    bars = {
        "mark": {"type": "bar", "stroke": THEMES[theme].background, "strokeWidth": 0.5},
        "encoding": {
            "x": x,
            "y": {**y, "axis": {"format": ".0%"}},
            "color": colour,
            "order": {"field": measure, "type": "quantitative"},
        },
    }
    counts = {
        "transform": [{"filter": {"field": "_first", "equal": True}}],
        "mark": {"type": "text", "baseline": "bottom", "dy": -3, "fontSize": 11, "color": THEMES[theme].ink},
        "encoding": {"x": x, "y": {"datum": 1}, "text": {"field": "n", "type": "quantitative"}},
    }
    spec = {
        "data": {"values": rows},
        **panels("rater", list(short.values()), [bars, counts], PANEL, columns=2, resolve=OWN_X_AXES),
    }
    notes = ["above the bars: number of rating sets", *configuration_notes(findings)]
    return column_spec(spec, [title_of(findings), meaning], notes, theme)


def _stacked(rater: Findings, name: str, measure: str) -> list[dict[str, Any]]:
    """Return one row per bin and value. A bin without rating sets has a row of 0."""
    rows = []
    for label, bin_ in zip(bin_labels(rater["bins"]), rater["bins"], strict=True):
        n = bin_["rating_sets"]
        counts: Mapping[str, int] = bin_[f"{measure}_distribution"] or {"0.0": 0}
        rows += [
            {
                "rater": name,
                "bin": label,
                "bin_low": bin_["low"],
                "bin_high": bin_["high"],
                measure: float(value),
                "share": count / n if n else 0.0,
                "rating_sets": count,
                "n": n,
                "instances": bin_["instances"],
                "_first": index == 0,
            }
            for index, (value, count) in enumerate(counts.items())
        ]
    return rows


MEAN_CONSISTENCY = "Mean consistency by separability"

MAX_PANELS = 8
BIN_FILL = 0.6  # share of a bin's width over which the raters' points are spread
SMALL_PANEL = (122, 120)  # beside its axis, whose title may have two lines
Curve = tuple[str, list[tuple[Findings, Findings]]]  # a rater's name; bins with the rater's estimates in them


def separability_histogram(findings: Findings, theme: str) -> Spec:
    """Bars: how many instances each separability bin holds (paper 004, figure 3)."""
    separability = findings["separability"]
    if not separability or not separability["bins"]:
        return empty_chart(title_of(findings), reason(findings), theme)
    rows = [
        {"bin": label, "bin_low": bin_["low"], "bin_high": bin_["high"], "instances": bin_["instances"]}
        for label, bin_ in zip(bin_labels(separability["bins"]), separability["bins"], strict=True)
    ]
    x = separability_axis()
    y = {"field": "instances", "type": "quantitative", "title": "Instances", "axis": {"tickMinStep": 1}}
    bars = {"mark": {"type": "bar", "color": THEMES[theme].series[-1]}, "encoding": {"x": x, "y": y}}
    text = {
        "mark": {"type": "text", "baseline": "bottom", "dy": -3, "color": THEMES[theme].ink},
        "encoding": {"x": x, "y": y, "text": {"field": "instances", "type": "quantitative"}},
    }
    spec = {"data": {"values": rows}, "height": 180, "layer": [bars, text]}
    measured = f"Instances by separability ({shorten(separability['similarity'])})"
    undefined = separability["undefined"]
    left_out = [f"left out: {undefined} without a separability"] if undefined else []
    return column_spec(spec, [title_of(findings), measured], [*left_out, *configuration_notes(findings)], theme)


def mean_consistency(findings: Findings, theme: str) -> Spec:
    """Curve: each rater's mean consistency by separability, with its interval."""
    lines: list[Curve] = [
        (rater["rater"], [(bin_, bin_["mean_consistency"]) for bin_ in rater["bins"]]) for rater in with_sets(findings)
    ]
    title, notes = [title_of(findings), MEAN_CONSISTENCY], configuration_notes(findings)
    drawn = curves(findings, lines, "Mean consistency", title, notes, theme)
    return drawn or empty_chart(title_of(findings), reason(findings), theme)


def consistency_of_matchups(findings: Findings, theme: str) -> Spec:
    """Points: the consistency of each rater on each instance, by its separability."""
    separability = findings["separability"]
    values = separability["values"] if separability else {}
    drawn, more = first_of([rater["rater"] for rater in findings["raters"]], MAX_PANELS)
    names = rater_names(findings, drawn, 16)
    rows = [
        {
            "rater": names[rater["rater"]],
            "instance": shorten(instance),
            "separability": values[instance],
            "consistency": value["mean_consistency"],
            "n": value["rating_sets"],
        }
        for rater in findings["raters"]
        if rater["rater"] in names
        for instance, value in (rater["consistency_by_instance"]["values"] or {}).items()
        if values.get(instance) is not None
    ]
    if not rows:
        why = findings["raters"][0]["consistency_by_instance"].get("why")
        return empty_chart(title_of(findings), why or reason(findings), theme)
    counts = Counter(row["rater"] for row in rows)
    colours = {name: rater_look(findings, rater, theme)[0] for rater, name in names.items()}
    rows = [
        {**row, "_panel": f"{name} (n = {counts[name]})", "_colour": colours[name]}
        for row in rows
        for name in [row["rater"]]
    ]
    x = quantity("separability", "Separability", **padded((row["separability"] for row in rows), ticks=4))
    y = quantity("consistency", "Mean consistency", **shares(".1f"))
    mark = {"type": "point", "size": 28, "strokeWidth": 1.3, "opacity": 0.7}
    encoding = {"x": x, "y": y, "color": {"field": "_colour", "type": "nominal", "scale": None, "legend": None}}
    panel_names = list(dict.fromkeys(row["_panel"] for row in rows))
    body = panels("_panel", panel_names, [{"mark": mark, "encoding": encoding}], PANEL, columns=2, resolve=OWN_X_AXES)
    meaning = "Consistency of each matchup by its separability; a point: the mean over a matchup’s rating sets"
    notes = [COUNTED, *more, *configuration_notes(findings)]
    return column_spec({"data": {"values": rows}, **body}, [title_of(findings), meaning], notes, theme)


def pooled_consistency(findings: Findings, theme: str) -> Spec:
    """Curve: mean consistency over all configurations, on one scale of separability (paper 004, figure 8)."""
    return _pooled(findings, "mean_consistency_by_bin", "mean_consistency", "Mean consistency", MEAN_CONSISTENCY, theme)


def pooled_strength(findings: Findings, theme: str) -> Spec:
    """Curve: mean absolute preference strength over all configurations, on one scale of separability."""
    axis, meaning = "Mean |preference strength|", "How strongly either system is preferred, by separability"
    return _pooled(findings, "strength_by_bin", "mean_absolute_strength", axis, meaning, theme)


def agreement_by_bin(findings: Findings, theme: str) -> Spec:
    """Curve: agreement of people with one another, and of each judge with them, on one scale of separability."""
    axis, meaning = "Share of ratings that agree", "Agreement with people, by separability"
    why = "no pair has ratings of two people"
    return _pooled(findings, "agreement_by_bin", "agreement", axis, meaning, theme, why=why)


def fully_consistent(findings: Findings, theme: str) -> Spec:
    """Points: the share of rating sets that are fully consistent, by rater."""
    by_rater = {row["rater"]: row for row in findings["pooled"]["fully_consistent"] if row["value"] is not None}
    rows = [
        point(name, "", by_rater[rater], rater_look(findings, rater, theme))
        for rater, name in rater_names(findings, by_rater, MAX_NAME_LENGTH).items()
    ]
    why = "one point adds nothing to the table" if rows else "no rating set yet"
    title, axis, drawn = ["Fully consistent rating sets"], "Share of rating sets", rows if len(rows) > 1 else []
    return dots_picture(findings, title, drawn, [""], axis, theme, why=why, share=True)


def _pooled(findings: Findings, key: str, estimate: str, axis: str, meaning: str, theme: str, *, why: str = "") -> Spec:
    bins = findings["pooled"][key]
    if bins is None:
        return empty_chart(meaning, findings["pooled"].get("why", ""), theme)
    lines: list[Curve] = [
        (rater["rater"], [(bin_, bin_["raters"][index][estimate]) for bin_ in bins])
        for index, rater in enumerate(bins[0]["raters"])
    ]
    together = ["over all configurations"] if len(findings["configurations"]) > 1 else []
    notes, form = [*together, *study_notes(findings)], ".0%" if estimate == "agreement" else ".1f"
    drawn = curves(findings, lines, axis, [meaning], notes, theme, form)
    return drawn or empty_chart(meaning, why or "no rating set yet", theme)


def curves(
    findings: Findings,
    lines: Sequence[Curve],
    axis: str,
    title: list[str],
    notes: list[str],
    theme: str,
    form: str = ".1f",
) -> Spec | None:
    """Draw lines through the bins, or None without a value. With more raters than colours each judge has a panel with people.

    axis : title of the axis of values, which are from 0 to 1 and written in a `form`
    """
    lines = [line for line in lines if any(estimate["value"] is not None for _bin, estimate in line[1])]
    if not lines:
        return None
    estimates = [estimate for _name, line in lines for _bin, estimate in line]
    instances = [sum(estimate["n_instances"] or 0 for _bin, estimate in line) for _name, line in lines]
    notes = [
        "ticks: edges of the bins",
        *interval_notes(findings, estimates),
        f"n = {span_text(instances)} instances",
        *notes,
    ]
    together = len(lines) <= MAX_SERIES
    names = rater_names(findings, (name for name, _line in lines), LONGEST_LABEL)
    looks = dict(zip(names, rater_looks(findings, names, theme), strict=True))
    edges = sorted({edge for _name, line in lines for bin_, _estimate in line for edge in (bin_["low"], bin_["high"])})
    margin = 0.04 * (edges[-1] - edges[0]) or 0.5
    x = quantity(
        "_x",
        "Separability",
        scale={"domain": [edges[0] - margin, edges[-1] + margin], "nice": False, "zero": False},
        axis={"values": edges, "format": ".2f", "labelAngle": 0 if together else -90},
    )
    y = quantity("value", axis if together else wrapped(axis, 20), **shares(form))
    if together:
        rows = [
            with_look(row, looks[name])
            for index, (name, line) in enumerate(lines)
            for row in _points(names[name], line, index, len(lines))
        ]
        return column_spec(curve_body(rows, x, y), title, notes, theme)
    # A panel for each judge, in which people are drawn too.
    people, judges = ([line for line in lines if (line[0] == PEOPLE) == is_people] for is_people in (True, False))
    rows = [
        with_look({"panel": names[judge[0]], **row}, looks[name])
        for judge in judges
        for index, (name, line) in enumerate([*people, judge])
        for row in _points(findings[SUBJECT] if name == PEOPLE else JUDGE_SERIES, line, index, len(people) + 1)
    ]
    panel_names = [names[name] for name, _line in judges]
    body = panels("panel", panel_names, _curve_layers(x, y), SMALL_PANEL, columns=2, resolve=OWN_X_AXES)
    circles = [f"circles: {findings[SUBJECT]}"] if people else []
    return column_spec({"data": {"values": rows}, **body}, title, [*circles, *notes], theme)


def _points(name: str, line: list[tuple[Findings, Findings]], index: int, raters: int) -> list[dict[str, Any]]:
    """Return one row per bin. Raters are offset within the bin, so that no interval hides another."""
    return [
        {
            "rater": name,
            "bin_low": bin_["low"],
            "bin_high": bin_["high"],
            **{key: estimate.get(key) for key in ("value", "low", "high", "n", "n_instances")},
            "_x": (bin_["low"] + bin_["high"]) / 2
            + ((index + 0.5) / raters - 0.5) * BIN_FILL * (bin_["high"] - bin_["low"]),
        }
        for bin_, estimate in line
    ]


def curve_body(rows: Sequence[dict[str, Any]], x: Spec, y: Spec, *behind: Spec) -> Spec:
    """Return the body of a picture of curves by rater, each with its name at its end, before the layers `behind`."""
    rows = with_end_labels(rows, x, "rater", "value", CURVE_HEIGHT)
    layers = [*behind, *_curve_layers(x, y), end_layer(x, y)]
    return {"data": {"values": rows}, "height": CURVE_HEIGHT, "layer": layers}


def _curve_layers(x: Spec, y: Spec) -> list[Spec]:
    """Return the layers of curves by rater, with intervals and points."""
    interval = {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}, "color": LOOK["color"]}
    return [
        {"mark": {"type": "line"}, "encoding": {"x": x, "y": y, "color": LOOK["color"], "detail": {"field": "rater"}}},
        {
            "transform": [{"filter": {"field": "low", "valid": True}}],
            "mark": {"type": "rule", "strokeWidth": 2},
            "encoding": interval,
        },
        {
            "transform": [{"filter": {"field": "value", "valid": True}}],
            "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1},
            "encoding": {"x": x, "y": y, **LOOK},
        },
    ]
