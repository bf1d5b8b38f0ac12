"""Charts of separability."""

from typing import Any

import numpy as np

from reporting.core.charts import (
    CURVE_HEIGHT,
    JUDGE_SERIES,
    LONGEST_LABEL,
    LOOK,
    MAX_NAME_LENGTH,
    MAX_SERIES,
    OWN_X_AXES,
    PANEL,
    Spec,
    column_spec,
    empty_chart,
    end_layer,
    interval_and_point,
    looks_of,
    padded,
    panels,
    quantity,
    series_encoding,
    shares,
    short_names,
    shorten,
    with_end_labels,
    with_ends,
    with_look,
)
from reporting.core.text import rater_name
from reporting.core.themes import THEMES, Theme
from reporting.separability.arrays import ConfigurationAlignments, SeparabilityFilters
from reporting.separability.distributions import SCENARIOS

MAX_POINTS = 1000
MAX_PANELS = 24
SCENARIO_LABELS = {
    "apart": "1 two groups apart",
    "scattered": "2 both scattered",
    "one_steady": "3 one steady",
    "alike": "4 all alike",
    "other": "none of them",
}
SEPARABILITY = "Separability"


def histograms(numbers: dict[str, Any], theme: str) -> Spec:
    """Bars: how many instances at each separability, a panel for each configuration, all on one axis."""
    parts = [
        (_title(configuration), part)
        for configuration in numbers["configurations"][:MAX_PANELS]
        for part in configuration["similarities"]
        if part["label"] == configuration["similarity"]
    ]
    title = ["Separability by data set and pair of systems"]
    omitted = len(numbers["configurations"]) - MAX_PANELS
    captions = [f"the first {MAX_PANELS} of {omitted + MAX_PANELS} configurations"] if omitted > 0 else []
    return _bars(parts, title, captions, theme)


def similarity_histograms(configuration: dict[str, Any], theme: str) -> Spec:
    """Bars: how many instances at each separability, a panel for each similarity."""
    parts = [(part["label"], part) for part in configuration["similarities"]]
    return _bars(parts, [_title(configuration), "Instances by separability, for each similarity"], [], theme)


def _bars(parts: list[tuple[str, dict[str, Any]]], title: list[str], captions: list[str], theme: str) -> Spec:
    rows = [
        {
            "panel": shorten(name, 24 if len(parts) > 1 else MAX_NAME_LENGTH),
            "low": low,
            "high": high,
            "instances": count,
            "mean": part["mean"]["value"],
        }
        for name, part in parts
        if part["histogram"]
        for low, high, count in zip(
            part["histogram"]["edges"][:-1], part["histogram"]["edges"][1:], part["histogram"]["counts"], strict=True
        )
    ]
    if not rows:
        return empty_chart(title[0], "no separability has been computed, or no instance has one", theme)
    x, y = quantity("low", SEPARABILITY), quantity("instances", "Instances", axis={"tickMinStep": 1})
    bars = {
        "mark": {"type": "bar", "color": THEMES[theme].series[0], "stroke": THEMES[theme].background},
        "encoding": {"x": {**x, "bin": {"binned": True}}, "x2": {"field": "high"}, "y": y},
    }
    mean = {
        "mark": {"type": "rule", "color": THEMES[theme].series[1], "strokeWidth": 2, "strokeDash": [5, 3]},
        "encoding": {"x": quantity("mean", SEPARABILITY, aggregate="mean")},
    }
    names = list(dict.fromkeys(row["panel"] for row in rows))
    drawn: Spec = {"height": 180, "layer": [bars, mean]}
    if len(names) > 1:
        drawn = panels("panel", names, [bars, mean], PANEL, 2, {"scale": {"y": "independent"}, **OWN_X_AXES})
    return column_spec(
        {"data": {"values": rows}, **drawn},
        title,
        [*(names if len(names) == 1 else []), "dashed: the mean", *captions],
        theme,
    )


def self_and_cross(alignments: ConfigurationAlignments, filters: SeparabilityFilters, theme: str) -> Spec:
    """Points: each instance by the greater self-alignment and the cross-alignment, coloured by scenario."""
    named = alignments.configuration
    title = f"{shorten(named.dataset)}: A = {shorten(named.system_a.name)}, B = {shorten(named.system_b.name)}"
    main = alignments.by_similarity(filters.similarity)
    if main is None or np.isnan(main.delta).all():
        return empty_chart(title, "no separability has been computed, or no instance has one", theme)
    thresholds = main.thresholds(filters.threshold)
    codes, (own_a, own_b, cross) = main.codes(filters.threshold), main.normalised.T
    indexes = np.flatnonzero(codes >= 0)
    captions = [f"by {shorten(main.label)}; below the dashed diagonal separability is above 0"]
    if len(indexes) > MAX_POINTS:
        captions.append(f"{MAX_POINTS} of {len(indexes)} instances, drawn at random")
        indexes = np.sort(filters.rng("points", alignments.seed_label).choice(indexes, MAX_POINTS, replace=False))
    by_code = {int(code): SCENARIO_LABELS[name] for name, code in SCENARIOS.items() if name in SCENARIO_LABELS}
    own = np.maximum(own_a, own_b)
    rows = [
        {"own": float(own[index]), "cross": float(cross[index]), "scenario": by_code[int(codes[index])]}
        for index in indexes
    ]
    layers = _points(THEMES[theme], thresholds.cross, thresholds.own)
    body = {"data": {"values": rows}, "height": 300, "layer": layers}
    return column_spec(body, [title, "Self-alignment against cross-alignment"], captions, theme)


def _points(theme: Theme, cross: float, own: float) -> list[Spec]:
    names = list(SCENARIO_LABELS.values())
    x, y = quantity("own", "Self-alignment of the steadier system"), quantity("cross", "Cross-alignment")
    lines = {"color": theme.ink, "opacity": 0.5}
    ends = {"values": [{"v": 0}, {"v": 1}]}
    diagonal = {
        "data": ends,
        "mark": {"type": "line", "strokeDash": [5, 4], **lines},
        "encoding": {"x": {"field": "v", "type": "quantitative"}, "y": {"field": "v", "type": "quantitative"}},
    }
    return [
        diagonal,
        {"data": {"values": [{}]}, "mark": {"type": "rule", **lines}, "encoding": {"y": {"datum": cross}}},
        {"data": {"values": [{}]}, "mark": {"type": "rule", **lines}, "encoding": {"x": {"datum": own}}},
        {
            "mark": {"type": "point", "filled": True, "size": 45, "opacity": 0.75},
            "encoding": {"x": x, "y": y, **series_encoding("scenario", "Scenario", names, theme)},
        },
    ]


def consistency_curve(advice: dict[str, Any] | None, everyone: list[str], title: str, theme: str) -> Spec:
    """Curves with bands: fitted mean consistency by separability, with the means of bins as points, by rater.

    everyone : names of all raters of the study
    """
    raters = [rater for rater in (advice or {}).get("raters", []) if rater.get("curve")]
    if not raters:
        return empty_chart(title, "no rating set has both consistency and separability yet", theme)
    names = short_names((rater["rater"] for rater in raters), LONGEST_LABEL, rater_name)
    looks = dict(zip(names, looks_of(everyone, names, theme), strict=True))
    curves = [(rater["rater"], point) for rater in raters for point in rater["curve"]]
    points = [
        (
            rater["rater"],
            {
                "separability": (point["low"] + point["high"]) / 2,
                "mean_consistency": point["mean_consistency"]["value"],
                "n": point["mean_consistency"]["n"],
            },
        )
        for rater in raters
        for point in rater["points"]
        if point["mean_consistency"]["value"] is not None
    ]
    several = len(names) > MAX_SERIES
    rows = [
        with_look({"rater": JUDGE_SERIES if several else names[name], "panel": names[name], **row}, looks[name])
        for name, row in (*points, *curves)
    ]
    x = quantity("separability", SEPARABILITY, **padded((row["separability"] for row in rows), ticks=4))
    notes = ["lines: logistic fit with its interval; points: means of bins, larger for more rating sets"]
    lines = [title, "Mean consistency by separability"]
    if several:
        drawn = panels("panel", list(names.values()), _curve_layers(THEMES[theme], x), PANEL, 2, OWN_X_AXES)
        return column_spec({"data": {"values": rows}, **drawn}, lines, notes, theme)
    rows = with_end_labels([{**row, "panel": ""} for row in rows], x, "rater", "mean_consistency", CURVE_HEIGHT)
    layers = [*_curve_layers(THEMES[theme], x), end_layer(x, _CONSISTENCY)]
    return column_spec({"data": {"values": rows}, "height": CURVE_HEIGHT, "layer": layers}, lines, notes, theme)


_CONSISTENCY = quantity("mean_consistency", "Mean consistency", **shares(".1f"))


def _curve_layers(theme: Theme, x: Spec) -> list[Spec]:
    """Return the layers. Rows of a curve have a `low`, those of a bin's mean have an `n`."""
    y, curve = _CONSISTENCY, [{"filter": "datum.n == null"}]
    colour = {"color": LOOK["color"], "detail": {"field": "rater"}}
    size = {"field": "n", "type": "quantitative", "legend": None, "scale": {"range": [30, 160], "zero": True}}
    return [
        {
            "transform": curve,
            "mark": {"type": "area", "opacity": 0.2},
            "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}, **colour},
        },
        {
            "data": {"values": [{}]},
            "mark": {"type": "rule", "color": theme.ink, "strokeDash": [5, 4]},
            "encoding": {"y": {"datum": 0.5}},
        },
        {
            "transform": curve,
            "mark": {"type": "line", "strokeWidth": 2},
            "encoding": {"x": x, "y": y, **colour},
        },
        {
            "transform": [{"filter": "datum.n != null"}],
            "mark": {"type": "point", "filled": True, "opacity": 1},
            "encoding": {"x": x, "y": y, "size": size, **LOOK},
        },
    ]


def stability_curve(numbers: dict[str, Any], title: str, theme: str) -> Spec:
    """Points with intervals: how far separability moves with fewer generations, and with fewer cross pairs."""
    groups = (("samples", "Generations of each system"), ("cross_pairs", "Cross pairs"))
    rows = [
        {
            "panel": name,
            "count": row[key],
            **with_ends("change", row["change"]),
        }
        for key, name in groups
        for row in numbers[key]
        if row["change"]["value"] is not None
    ]
    if not rows:
        return empty_chart(title, str(numbers.get("why") or "no instance has enough generations"), theme)
    colour = THEMES[theme].series[0]
    x = {"field": "count", "type": "ordinal", "title": "How many", "axis": {"labelAngle": 0}}
    y = quantity("change", "Mean change of separability")
    line = {"mark": {"type": "line", "color": colour}, "encoding": {"x": x, "y": y}}
    layers = [line, *interval_and_point({"x": x}, y, {}, size=70, color=colour)]
    names = [name for _, name in groups]
    body = {"data": {"values": rows}, **panels("panel", names, layers, PANEL, 2, {"scale": {"x": "independent"}})}
    captions = [f"{numbers['instances']} of {numbers['of']} instances, {numbers['draws']} draws each"]
    return column_spec(body, [title, "Separability from fewer samples, beside that from all"], captions, theme)


def temperatures(numbers: dict[str, Any], theme: str) -> Spec:
    """Points with intervals: mean separability at each pair of temperatures, a panel for each two models on a data set."""
    title = "Mean separability by temperature"
    rows = [
        {
            "panel": shorten(f"{group['dataset']}: {' / '.join(group['models'])}, by {group['similarity']}"),
            "temperatures": " · ".join(
                "own" if temperature is None else f"{temperature:g}" for temperature in row["temperatures"]
            ),
            **with_ends("mean", row["mean"]),
        }
        for group in numbers["temperatures"]
        for row in group["rows"]
        if row["mean"]["value"] is not None
    ]
    if not rows:
        return empty_chart(
            title, "no two configurations differ by the temperatures alone, or none has a separability", theme
        )
    colour = THEMES[theme].series[0]
    x = {"field": "temperatures", "type": "ordinal", "sort": None, "title": "Temperatures", "axis": {"labelAngle": 0}}
    layers = interval_and_point(
        {"x": x}, quantity("mean", "Mean separability", scale={"zero": False}), {}, size=70, color=colour
    )
    names = list(dict.fromkeys(row["panel"] for row in rows))
    body = panels("panel", names, layers, PANEL, 2, {"scale": {"x": "independent", "y": "independent"}})
    return column_spec({"data": {"values": rows}, **body}, [title], ["each panel has a scale of its own"], theme)


def _title(configuration: dict[str, Any]) -> str:
    return shorten(f"{configuration['dataset']}: {configuration['system_a']} / {configuration['system_b']}")
