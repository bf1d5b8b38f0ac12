"""Charts of an audit: transitivity by the number of texts, and how the measures go together over judges and wordings.

After figures 9, 4 and 5 of *Aligning with Logic*.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from reporting.core.charts import (
    COLUMN_WIDTH,
    CURVE_HEIGHT,
    LONGEST_LABEL,
    LOOK,
    OWN_X_AXES,
    Spec,
    column_spec,
    empty_chart,
    end_layer,
    first_of,
    interval_and_point,
    looks_of,
    padded,
    panels,
    quantity,
    short_names,
    shorten,
    with_end_labels,
    with_ends,
    with_look,
)
from reporting.logic.audit import SIZES
from reporting.logic.audits import estimate_of, side_by_side

Found = dict[str, Any]
Row = dict[str, Any]
PANEL_SIZE = (COLUMN_WIDTH - 60, 150)
PERCENT = {"format": ".0%"}


def transitivity_by_size(audit: Found, theme: str) -> Spec:
    """Curve for each rater: transitivity by the number of texts in a set."""
    rows = [
        {**item, "k": k, **with_ends("y", estimate)}
        for item, measures in _raters(audit)
        for k in SIZES
        if (estimate := measures["transitivity"][str(k)])["value"] is not None
    ]
    x = quantity("k", "Texts in a set, K", **padded(SIZES)) | {"axis": {"values": list(SIZES), "format": "d"}}
    why = "no rater has 20 complete sets of three texts"
    return _chart("Transitivity by the number of texts", rows, x, "s_tran(K)", audit, theme, why, joined=True)


def transitivity_and_self_agreement(audit: Found, theme: str) -> Spec:
    """Point for each judge: transitivity against self-agreement."""
    rows = _pairs(audit, "self_agreement", "transitivity_5")
    x = _share("Self-agreement", rows)
    why = "no judge was asked the same twice and has 20 complete sets of five texts"
    return _chart("Transitivity and self-agreement", rows, x, "s_tran(5)", audit, theme, why)


def commutativity_and_human_agreement(audit: Found, theme: str) -> Spec:
    """Point for each judge or wording: agreement with people against commutativity. Wordings of one judge share a colour.

    Those with the most wordings come first, as not all judges may have a colour.
    """
    names = {rater["alike"]: _alike(rater) for rater in audit["raters"] if rater.get("alike")}
    rows = [
        {**row, "series": names[row["alike"]]}
        for row in _pairs(audit, "commutativity", "human_agreement")
        if row["alike"]
    ]
    wordings = Counter(row["series"] for row in rows)
    rows.sort(key=lambda row: -wordings[row["series"]])
    x = _share("Commutativity, s_comm", rows)
    why = "no judge has answers in both orders and on pairs that people or gold decide"
    return _chart("Commutativity and agreement with people", rows, x, "Agreement with people, H", audit, theme, why)


CHARTS: dict[str, Callable[[Found, str], Spec]] = {
    "transitivity": transitivity_by_size,
    "self-agreement": transitivity_and_self_agreement,
    "commutativity": commutativity_and_human_agreement,
}


def _raters(audit: Found) -> Iterator[tuple[Row, Found]]:
    """Yield what names a rater in a chart, and its measures, in each data set."""
    for rater in side_by_side(audit["raters"]):
        for dataset, measures in rater["datasets"].items():
            name = shorten(rater["rater"].removeprefix("judge:"))
            row = {"series": name, "rater": name, "alike": rater.get("alike", ""), "panel": shorten(dataset)}
            yield {**row, "_rater": rater["rater"]}, measures


def _pairs(audit: Found, across: str, up: str) -> list[Row]:
    return [
        {**item, "x": x["value"], **with_ends("y", y)}
        for item, measures in _raters(audit)
        for x, y in [(estimate_of(measures, across), estimate_of(measures, up))]
        if x["value"] is not None and y["value"] is not None
    ]


def _alike(rater: Found) -> str:
    return shorten(", ".join(filter(None, (rater["model"], rater["method"]))))


def _share(title: str, rows: list[Row]) -> Spec:
    """Return the horizontal axis of a share, as wide as its values."""
    scale = padded((row["x"] for row in rows) if rows else (0, 1))["scale"]
    low, high = scale["domain"]
    ticks = [tick / 10 for tick in range(11) if low <= tick / 10 <= high]
    return quantity(
        "x", title, scale=scale, axis={**PERCENT, **({"values": ticks} if len(ticks) > 1 else {"tickCount": 4})}
    )


def _chart(
    title: str, rows: list[Row], x: Spec, name: str, audit: Found, theme: str, why: str, *, joined: bool = False
) -> Spec:
    """Draw rows of series with intervals, a panel for each data set. `why` explains an empty one."""
    if not rows:
        return empty_chart(title, why, theme)
    first_rater = {row["series"]: row["_rater"] for row in reversed(rows)}
    series, more = first_of(list(dict.fromkeys(row["series"] for row in rows)))
    names = short_names(series, LONGEST_LABEL)
    looks = dict(zip(series, looks_of(audit["everyone"], (first_rater[item] for item in series), theme), strict=True))
    rows = [
        with_look({**row, "series": names[row["series"]]}, looks[row["series"]])
        for row in rows
        if row["series"] in names
    ]
    scale = padded(row[key] for row in rows for key in ("y", "low", "high"))["scale"]
    y = quantity("y", name, scale=scale, axis=PERCENT)
    panel_names = list(dict.fromkeys(row["panel"] for row in rows))
    height = CURVE_HEIGHT if len(panel_names) == 1 else PANEL_SIZE[1]
    rows = with_end_labels(rows, x, "series", "y", height, scale["domain"])
    colour = {"x": x, "y": y, "color": LOOK["color"], "detail": {"field": "series"}}
    line = [{"mark": {"type": "line"}, "encoding": colour}] if joined else []
    layers = [*line, *interval_and_point({"x": x}, y, LOOK, size=70, opacity=1), end_layer(x, y)]
    body: Spec = {"height": height, "layer": layers}
    if len(panel_names) > 1:
        body = panels("panel", panel_names, layers, PANEL_SIZE, columns=1, resolve=OWN_X_AXES)
    notes = [f"bars: {audit['level']:.0%} intervals over instances", *more]
    return column_spec({"data": {"values": rows}, **body}, [title], notes, theme)
