"""Pictures of findings: Vega-Lite specifications, drawn on the server as SVG or PNG.

Names come from files. They enter a specification as plain strings only: as values of data, as titles, never as a
field's name, an expression, a link or an image; and drawing may load nothing from anywhere.
"""

from collections.abc import Sequence
from typing import Any

from reporting.findings import SCRIPTED
from reporting.themes import SHAPES, THEMES, Theme

Spec = dict[str, Any]
Findings = dict[str, Any]
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
VERSION = "6.4"
LONGEST_NAME = 60
NOTHING = "Nothing to draw yet"


def consistency_by_bin(found: Findings, theme: str) -> Spec:
    """Stacked bars: the share of rating sets at each consistency, per separability bin and rater."""
    drawn = _with_sets(found)
    names = [short(rater["rater"]) for rater in drawn]
    rows = [row for rater in drawn for row in _stacked(rater)]
    if not rows:
        return empty(_title(found), _reason(found), theme)
    values = sorted({row["consistency"] for row in rows})
    consistency = {
        "field": "consistency",
        "type": "ordinal",
        "title": "Consistency",
        "sort": values,
        "scale": {"domain": values, "range": [THEMES[theme].consistency(value) for value in values]},
        "legend": {"orient": "right"},
    }
    x = {"field": "bin", "type": "ordinal", "sort": None, "title": "Separability", "axis": {"labelAngle": -30}}
    bars = {
        "mark": {"type": "bar", "stroke": THEMES[theme].background, "strokeWidth": 0.5},
        "encoding": {
            "x": x,
            "y": {
                "field": "share",
                "type": "quantitative",
                "title": "Share of rating sets",
                "scale": {"domain": [0, 1]},
                "axis": {"format": ".0%"},
            },
            "color": consistency,
            "order": {"field": "consistency", "type": "quantitative"},
        },
    }
    counts = {
        "transform": [{"filter": {"field": "labelled", "equal": True}}],
        "mark": {"type": "text", "baseline": "bottom", "dy": -3, "fontSize": 11, "color": THEMES[theme].ink},
        "encoding": {"x": x, "y": {"datum": 1}, "text": {"field": "count", "type": "nominal"}},
    }
    facet = {"field": "rater", "type": "nominal", "sort": names, "title": None}
    spec = {
        "data": {"values": rows},
        "facet": facet,
        "columns": 3,
        "spec": {"width": 230, "height": 240, "layer": [bars, counts]},
    }
    return finished(spec, [_title(found), "How consistent rating sets are, by separability"], _captions(found), theme)


def _with_sets(found: Findings) -> list[dict[str, Any]]:
    """Return the raters with something to draw; the others stand in the tables with the reason."""
    return [rater for rater in found["raters"] if rater["rating_sets"]]


def mean_consistency(found: Findings, theme: str) -> Spec:
    """Curve: each rater's mean consistency by separability, with its interval."""
    lines = [
        (short(rater["rater"]), [(bin_, bin_["mean_consistency"]) for bin_ in rater["bins"]])
        for rater in _with_sets(found)
    ]
    title = [_title(found), "Mean consistency by separability, with 95% intervals"]
    return _curve(lines, title, _captions(found), theme) or empty(_title(found), _reason(found), theme)


def pooled_consistency(pooled: Findings, theme: str) -> Spec:
    """Curve: the same over all configurations, on the study-wide scale of separability."""
    bins = pooled["mean_consistency_by_bin"]
    if bins is None:
        return empty("All configurations", pooled["why"], theme)
    names = [rater["rater"] for rater in bins[0]["raters"]]
    lines = [
        (short(name), [(bin_, bin_["raters"][place]["mean_consistency"]) for bin_ in bins])
        for place, name in enumerate(names)
    ]
    captions = [SCRIPTED] if pooled["scripted"] else []
    title = ["All configurations", "Mean consistency by separability on one scale, with 95% intervals"]
    return _curve(lines, title, captions, theme) or empty("All configurations", "no rating set yet", theme)


def separability_histogram(found: Findings, theme: str) -> Spec:
    """Bars: how many instances each separability bin holds."""
    separability = found["separability"]
    if not separability or not separability["bins"]:
        return empty(_title(found), _reason(found), theme)
    labels = _ranges(separability["bins"])
    rows = [
        {"bin": label, "instances": bin_["instances"]} for label, bin_ in zip(labels, separability["bins"], strict=True)
    ]
    x = {"field": "bin", "type": "ordinal", "sort": None, "title": "Separability", "axis": {"labelAngle": -30}}
    y = {"field": "instances", "type": "quantitative", "title": "Instances", "axis": {"tickMinStep": 1}}
    bars = {"mark": {"type": "bar", "color": THEMES[theme].raters[0]}, "encoding": {"x": x, "y": y}}
    text = {
        "mark": {"type": "text", "baseline": "bottom", "dy": -3, "color": THEMES[theme].ink},
        "encoding": {"x": x, "y": y, "text": {"field": "instances", "type": "quantitative"}},
    }
    spec = {"data": {"values": rows}, "width": 320, "height": 200, "layer": [bars, text]}
    return finished(
        spec, [_title(found), f"Instances by separability ({short(separability['similarity'])})"], [], theme
    )


def to_svg(spec: Spec) -> str:
    """Draw a specification as SVG."""
    return str(_renderer().vegalite_to_svg(spec, vl_version=VERSION, allowed_base_urls=[]))


def to_png(spec: Spec) -> bytes:
    """Draw a specification as PNG, two pixels to a point."""
    return bytes(_renderer().vegalite_to_png(spec, vl_version=VERSION, scale=2, allowed_base_urls=[]))


def _renderer() -> Any:
    import vl_convert  # a browser engine of 100 MB: only processes that draw hold it

    return vl_convert


def _stacked(rater: Findings) -> list[dict[str, Any]]:
    """One row per bin and consistency value; a bin without rating sets stays in sight with its 0."""
    rows = []
    for label, bin_ in zip(_ranges(rater["bins"]), rater["bins"], strict=True):
        total = bin_["rating_sets"]
        counts = bin_["consistency_distribution"] or {"0.0": 0}
        for place, (value, count) in enumerate(counts.items()):
            rows.append(
                {
                    "rater": short(rater["rater"]),
                    "bin": label,
                    "consistency": float(value),
                    "share": count / total if total else 0.0,
                    "labelled": place == 0,
                    "count": f"n = {total}",
                }
            )
    return rows


def _curve(
    lines: Sequence[tuple[str, list[tuple[Findings, Findings]]]], title: list[str], captions: list[str], theme: str
) -> Spec | None:
    """Lines through the bins' middles; the raters stand a little apart, so that no interval hides another."""
    lows, highs = (
        [bin_["low"] for _, line in lines for bin_, _ in line],
        [bin_["high"] for _, line in lines for bin_, _ in line],
    )
    if not any(mean["value"] is not None for _, line in lines for _, mean in line):
        return None
    start, end = min(lows), max(highs)
    margin = 0.04 * (end - start) or 0.5
    rows = [
        {
            "rater": name,
            "x": (bin_["low"] + bin_["high"]) / 2 + (place - (len(lines) - 1) / 2) * margin / 3,
            "mean": mean["value"],
            "low": mean["value"] if mean["low"] is None else mean["low"],
            "high": mean["value"] if mean["high"] is None else mean["high"],
        }
        for place, (name, line) in enumerate(lines)
        for bin_, mean in line
    ]
    edges = sorted({*lows, *highs})
    return finished(
        {
            "data": {"values": rows},
            "width": 520,
            "height": 260,
            "layer": _curve_layers([name for name, _ in lines], (start - margin, end + margin), edges, THEMES[theme]),
        },
        title,
        captions,
        theme,
    )


def _curve_layers(names: list[str], domain: tuple[float, float], edges: list[float], theme: Theme) -> list[Spec]:
    x = {
        "field": "x",
        "type": "quantitative",
        "title": "Separability (ticks at the edges of the bins)",
        "scale": {"domain": list(domain), "nice": False, "zero": False},
        "axis": {"values": edges, "format": ".2f"},
    }
    y = {"field": "mean", "type": "quantitative", "title": "Mean consistency", "scale": {"domain": [0, 1]}}
    cycle = range(len(names))
    colours = [theme.raters[place % len(theme.raters)] for place in cycle]
    shapes = [SHAPES[place % len(SHAPES)] for place in cycle]
    rater = {"field": "rater", "type": "nominal", "sort": names, "title": "Rater"}
    color = {**rater, "scale": {"domain": names, "range": colours}}
    shape = {**rater, "scale": {"domain": names, "range": shapes}}
    low = {"field": "low", "type": "quantitative", "title": y["title"]}
    known = [{"filter": {"field": "mean", "valid": True}}]
    return [
        {"mark": {"type": "line"}, "encoding": {"x": x, "y": y, "color": color}},
        {
            "transform": known,
            "mark": {"type": "rule", "strokeWidth": 2},
            "encoding": {"x": x, "y": low, "y2": {"field": "high"}, "color": color},
        },
        {
            "transform": known,
            "mark": {"type": "point", "filled": True, "size": 80, "opacity": 1},
            "encoding": {"x": x, "y": y, "color": color, "shape": shape},
        },
    ]


def finished(body: Spec, title: list[str], captions: list[str], theme: str) -> Spec:
    """Return a whole specification: schema, title (the first line, then those below it), captions and colours."""
    config = THEMES[theme].config()
    heading = {"text": title[0], "subtitle": [*title[1:], *captions]}
    return {"$schema": SCHEMA, **body, "title": heading, "config": config, "background": config.pop("background")}


def empty(title: str, reason: str, theme: str) -> Spec:
    """Return a picture that says why there is none."""
    mark = {"type": "text", "fontSize": 13, "color": THEMES[theme].ink, "limit": 500}
    body = {
        "data": {"values": [{"text": NOTHING}]},
        "width": 520,
        "height": 60,
        "mark": mark,
        "encoding": {"text": {"field": "text", "type": "nominal"}},
    }
    return finished(body, [title, reason], [], theme)


def _reason(found: Findings) -> str:
    return str(found.get("why") or (found["separability"] or {}).get("why") or "no rating set yet")


def _captions(found: Findings) -> list[str]:
    return [SCRIPTED] if any(rater.get("scripted") for rater in found["raters"]) else []


def _title(found: Findings) -> str:
    return f"{short(found['dataset'])}: A = {short(found['system_a'])}, B = {short(found['system_b'])}"


def _ranges(bins: list[Findings]) -> list[str]:
    """Name the bins by their edges; by their number too where edges coincide, so that none hides another."""
    labels = [f"{bin_['low']:.3f} – {bin_['high']:.3f}" for bin_ in bins]
    if len(set(labels)) == len(labels):
        return labels
    return [f"{place}: {label}" for place, label in enumerate(labels, start=1)]


def short(name: str) -> str:
    """Return a name on one line, without control characters (XML has no place for them) and not longer than a title."""
    clean = "".join(character if character.isprintable() else "�" for character in name)
    return clean if len(clean) <= LONGEST_NAME else clean[: LONGEST_NAME - 1] + "…"
