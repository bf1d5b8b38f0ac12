"""Pictures of separability: distributions, self against cross, consistency by separability, stability, temperatures."""

from typing import Any

import numpy as np

from reporting.charts import Spec, empty, finished, short
from reporting.separability_numbers import SCENARIOS
from reporting.separability_rows import Compared, Look
from reporting.themes import SHAPES, THEMES, Theme

MOST_POINTS = 1000
MOST_PANELS = 24
NAMES = {
    "apart": "1 two groups apart",
    "scattered": "2 both scattered",
    "one_steady": "3 one steady",
    "alike": "4 all alike",
    "other": "none of them",
}
SEPARABILITY = "Separability"


def histograms(found: dict[str, Any], theme: str) -> Spec:
    """Bars: how many instances at each separability, a panel for each configuration, all on one axis."""
    parts = [
        (_title(one), part)
        for one in found["configurations"][:MOST_PANELS]
        for part in one["similarities"]
        if part["label"] == one["similarity"]
    ]
    title = ["Separability by data set and pair of systems"]
    left = len(found["configurations"]) - MOST_PANELS
    captions = [f"the first {MOST_PANELS} of {left + MOST_PANELS} configurations"] if left > 0 else []
    return _bars(parts, title, captions, theme)


def similarity_histograms(one: dict[str, Any], theme: str) -> Spec:
    """Bars: how many instances at each separability, a panel for each similarity."""
    parts = [(part["label"], part) for part in one["similarities"]]
    return _bars(parts, [_title(one), "Instances by separability, for each similarity"], [], theme)


def _bars(parts: list[tuple[str, dict[str, Any]]], title: list[str], captions: list[str], theme: str) -> Spec:
    rows = [
        {"panel": short(name), "low": low, "high": high, "instances": count, "mean": part["mean"]["value"]}
        for name, part in parts
        if part["histogram"]
        for low, high, count in zip(
            part["histogram"]["edges"][:-1], part["histogram"]["edges"][1:], part["histogram"]["counts"], strict=True
        )
    ]
    if not rows:
        return empty(title[0], "no separability has been computed, or no instance has one", theme)
    x = {"field": "low", "type": "quantitative", "title": SEPARABILITY}
    y = {"field": "instances", "type": "quantitative", "title": "Instances", "axis": {"tickMinStep": 1}}
    bars = {
        "mark": {"type": "bar", "color": THEMES[theme].raters[0], "stroke": THEMES[theme].background},
        "encoding": {"x": {**x, "bin": {"binned": True}}, "x2": {"field": "high"}, "y": y},
    }
    mean = {
        "mark": {"type": "rule", "color": THEMES[theme].raters[1], "strokeWidth": 2, "strokeDash": [5, 3]},
        "encoding": {"x": {"field": "mean", "type": "quantitative", "aggregate": "mean", "title": SEPARABILITY}},
    }
    names = list(dict.fromkeys(row["panel"] for row in rows))
    body = {
        "data": {"values": rows},
        "facet": {"field": "panel", "type": "nominal", "sort": names, "title": None},
        "columns": 3,
        "spec": {"width": 220, "height": 130, "layer": [bars, mean]},
        # An axis under each panel: rows of panels are not of one width, and the last row may be short.
        "resolve": {"scale": {"y": "independent"}, "axis": {"x": "independent"}},
    }
    return finished(body, title, ["dashed: the mean", *captions], theme)


def self_and_cross(one: Compared, look: Look, theme: str) -> Spec:
    """Points: each instance by the greater self-alignment and the cross-alignment, coloured by scenario."""
    named = one.configuration
    title = f"{short(named.dataset)}: A = {short(named.system_a.name)}, B = {short(named.system_b.name)}"
    main = one.by(look.similarity)
    if main is None or np.isnan(main.delta).all():
        return empty(title, "no separability has been computed, or no instance has one", theme)
    thresholds = main.thresholds(look.threshold)
    codes, (own_a, own_b, cross) = main.codes(look.threshold), main.normalised.T
    places = np.flatnonzero(codes >= 0)
    captions = [f"by {short(main.label)}; below the dashed diagonal separability is above 0"]
    if len(places) > MOST_POINTS:
        captions.append(f"{MOST_POINTS} of {len(places)} instances, drawn at random")
        places = np.sort(look.sampler.rng("points", one.seed_label).choice(places, MOST_POINTS, replace=False))
    by_code = {int(code): NAMES[name] for name, code in SCENARIOS.items() if name in NAMES}
    own = np.maximum(own_a, own_b)
    rows = [
        {"own": float(own[place]), "cross": float(cross[place]), "scenario": by_code[int(codes[place])]}
        for place in places
    ]
    layers = _points(THEMES[theme], thresholds.cross, thresholds.own)
    body = {"data": {"values": rows}, "width": 420, "height": 360, "layer": layers}
    return finished(body, [title, "Self-alignment against cross-alignment"], captions, theme)


def _points(theme: Theme, cross: float, own: float) -> list[Spec]:
    names = list(NAMES.values())
    x = {"field": "own", "type": "quantitative", "title": "Self-alignment of the steadier system"}
    y = {"field": "cross", "type": "quantitative", "title": "Cross-alignment"}
    scenario = {"field": "scenario", "type": "nominal", "sort": names, "title": "Scenario"}
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
            "encoding": {
                "x": x,
                "y": y,
                "color": {**scenario, "scale": {"domain": names, "range": list(theme.raters[: len(names)])}},
                "shape": {**scenario, "scale": {"domain": names, "range": list(SHAPES[: len(names)])}},
            },
        },
    ]


def consistency_curve(advice: dict[str, Any] | None, title: str, theme: str) -> Spec:
    """Curves with bands: fitted mean consistency by separability, with the means of bins as points, by rater."""
    raters = [one for one in (advice or {}).get("raters", []) if one.get("curve")]
    if not raters:
        return empty(title, "no rating set yet with a consistency and a separability", theme)
    names = [short(one["rater"]) for one in raters]
    curves = [{"rater": name, **point} for name, one in zip(names, raters, strict=True) for point in one["curve"]]
    points = [
        {
            "rater": name,
            "separability": (point["low"] + point["high"]) / 2,
            "mean_consistency": point["mean_consistency"]["value"],
            "n": point["mean_consistency"]["n"],
        }
        for name, one in zip(names, raters, strict=True)
        for point in one["points"]
        if point["mean_consistency"]["value"] is not None
    ]
    layers = _curve_layers(THEMES[theme], names, curves, points)
    body = {"width": 460, "height": 280, "layer": layers}
    captions = ["lines: logistic fit with its interval; points: means of bins, larger for more rating sets"]
    return finished(body, [title, "Mean consistency by separability"], captions, theme)


def _curve_layers(theme: Theme, names: list[str], curves: list[Spec], points: list[Spec]) -> list[Spec]:
    cycle = range(len(names))
    rater = {"field": "rater", "type": "nominal", "sort": names, "title": "Rater"}
    colours = {"domain": names, "range": [theme.raters[place % len(theme.raters)] for place in cycle]}
    shapes = {"domain": names, "range": [SHAPES[place % len(SHAPES)] for place in cycle]}
    color = {**rater, "scale": colours}
    x = {"field": "separability", "type": "quantitative", "title": SEPARABILITY, "scale": {"zero": False}}
    y = {"field": "mean_consistency", "type": "quantitative", "title": "Mean consistency", "scale": {"domain": [0, 1]}}
    size = {"field": "n", "type": "quantitative", "legend": None, "scale": {"range": [30, 160], "zero": True}}
    band = {
        "data": {"values": curves},
        "mark": {"type": "area", "opacity": 0.2},
        "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}, "color": color},
    }
    line = {
        "data": {"values": curves},
        "mark": {"type": "line", "strokeWidth": 2},
        "encoding": {"x": x, "y": y, "color": color},
    }
    means = {
        "data": {"values": points},
        "mark": {"type": "point", "filled": True, "opacity": 1},
        "encoding": {"x": x, "y": y, "color": color, "size": size, "shape": {**rater, "scale": shapes}},
    }
    half = {
        "data": {"values": [{}]},
        "mark": {"type": "rule", "color": theme.ink, "strokeDash": [5, 4]},
        "encoding": {"y": {"datum": 0.5}},
    }
    return [band, half, line, means]


def stability_curve(found: dict[str, Any], title: str, theme: str) -> Spec:
    """Points with intervals: how far separability moves with fewer generations, and with fewer cross pairs."""
    groups = (("samples", "Generations of each system"), ("cross_pairs", "Cross pairs"))
    rows = [
        {
            "panel": name,
            "count": one[key],
            "change": one["change"]["value"],
            "low": one["change"]["value"] if one["change"]["low"] is None else one["change"]["low"],
            "high": one["change"]["value"] if one["change"]["high"] is None else one["change"]["high"],
        }
        for key, name in groups
        for one in found[key]
        if one["change"]["value"] is not None
    ]
    if not rows:
        return empty(title, str(found.get("why") or "no instance has enough generations"), theme)
    colour = THEMES[theme].raters[0]
    x = {"field": "count", "type": "ordinal", "title": "How many", "axis": {"labelAngle": 0}}
    y = {"field": "change", "type": "quantitative", "title": "Mean change of separability"}
    layers: list[Spec] = [
        {"mark": {"type": "line", "color": colour}, "encoding": {"x": x, "y": y}},
        {
            "mark": {"type": "rule", "color": colour, "strokeWidth": 2},
            "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}},
        },
        {"mark": {"type": "point", "filled": True, "size": 70, "color": colour}, "encoding": {"x": x, "y": y}},
    ]
    body = {
        "data": {"values": rows},
        "facet": {"field": "panel", "type": "nominal", "sort": [name for _, name in groups], "title": None},
        "columns": 2,
        "spec": {"width": 260, "height": 200, "layer": layers},
        "resolve": {"scale": {"x": "independent"}},
    }
    captions = [f"{found['instances']} of {found['of']} instances, {found['draws']} draws each"]
    return finished(body, [title, "Separability from fewer samples, beside that from all"], captions, theme)


def temperatures(found: dict[str, Any], theme: str) -> Spec:
    """Points with intervals: mean separability at each pair of temperatures, a panel for each two models on a data set."""
    title = "Mean separability by temperature"
    rows = [
        {
            "panel": short(f"{group['dataset']}: {' / '.join(group['models'])}, by {group['similarity']}"),
            "temperatures": " · ".join("own" if one is None else f"{one:g}" for one in row["temperatures"]),
            "mean": row["mean"]["value"],
            "low": row["mean"]["value"] if row["mean"]["low"] is None else row["mean"]["low"],
            "high": row["mean"]["value"] if row["mean"]["high"] is None else row["mean"]["high"],
        }
        for group in found["temperatures"]
        for row in group["rows"]
        if row["mean"]["value"] is not None
    ]
    if not rows:
        return empty(title, "no two configurations differ by the temperatures alone, or none has a separability", theme)
    colour = THEMES[theme].raters[0]
    x = {"field": "temperatures", "type": "ordinal", "sort": None, "title": "Temperatures", "axis": {"labelAngle": 0}}
    y = {"field": "mean", "type": "quantitative", "title": "Mean separability", "scale": {"zero": False}}
    layers: list[Spec] = [
        {
            "mark": {"type": "rule", "color": colour, "strokeWidth": 2},
            "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}},
        },
        {"mark": {"type": "point", "filled": True, "size": 70, "color": colour}, "encoding": {"x": x, "y": y}},
    ]
    body = {
        "data": {"values": rows},
        "facet": {
            "field": "panel",
            "type": "nominal",
            "sort": list(dict.fromkeys(row["panel"] for row in rows)),
            "title": None,
        },
        "columns": 2,
        "spec": {"width": 260, "height": 200, "layer": layers},
        "resolve": {"scale": {"x": "independent", "y": "independent"}},
    }
    return finished(body, [title], ["each panel has a scale of its own"], theme)


def _title(one: dict[str, Any]) -> str:
    return short(f"{one['dataset']}: {one['system_a']} / {one['system_b']}")
