"""Charts of an audit: transitivity by the number of texts, and how the measures go together over judges and wordings.

After figures 9, 4 and 5 of *Aligning with Logic*.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from reporting.core.charts import (
    MAX_SERIES,
    OWN_X_AXES,
    Spec,
    build_spec,
    empty_chart,
    interval_and_point,
    padded,
    panels,
    quantity,
    series_encoding,
    shorten,
    with_ends,
)
from reporting.core.themes import THEMES
from reporting.logic.audit import SIZES
from reporting.logic.audits import estimate_of, side_by_side

Found = dict[str, Any]
Row = dict[str, Any]
SIZE = (340, 240)
PERCENT = {"format": ".0%"}


def transitivity_by_size(audit: Found, theme: str) -> Spec:
    """Curve for each rater: transitivity by the number of texts in a set."""
    rows = [
        {**item, "k": k, **with_ends("y", estimate)}
        for item, measures in _raters(audit)
        for k in SIZES
        if (estimate := measures["transitivity"][str(k)])["value"] is not None
    ]
    x = quantity(
        "k", "Texts in a set, K", scale={"zero": False, "nice": False}, axis={"values": list(SIZES), "format": "d"}
    )
    why = "no rater has 20 complete sets of three texts"
    return _chart("Transitivity by the number of texts", rows, x, "s_tran(K)", audit, theme, why, joined=True)


def transitivity_and_self_agreement(audit: Found, theme: str) -> Spec:
    """Point for each judge: transitivity against self-agreement."""
    rows = _pairs(audit, "self_agreement", "transitivity_5")
    x = quantity("x", "Self-agreement", scale={"zero": False}, axis=PERCENT)
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
    x = quantity("x", "Commutativity, s_comm", scale={"zero": False}, axis=PERCENT)
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
            yield {"series": name, "rater": name, "alike": rater.get("alike", ""), "panel": shorten(dataset)}, measures


def _pairs(audit: Found, across: str, up: str) -> list[Row]:
    return [
        {**item, "x": x["value"], **with_ends("y", y)}
        for item, measures in _raters(audit)
        for x, y in [(estimate_of(measures, across), estimate_of(measures, up))]
        if x["value"] is not None and y["value"] is not None
    ]


def _alike(rater: Found) -> str:
    return shorten(", ".join(filter(None, (rater["model"], rater["method"]))))


def _chart(
    title: str, rows: list[Row], x: Spec, name: str, audit: Found, theme: str, why: str, *, joined: bool = False
) -> Spec:
    """Draw rows of series with intervals, a panel for each data set. `why` explains an empty one."""
    if not rows:
        return empty_chart(title, why, theme)
    every = list(dict.fromkeys(row["series"] for row in rows))
    series_drawn = every[:MAX_SERIES]
    rows = [row for row in rows if row["series"] in series_drawn]
    scale = padded(row[key] for row in rows for key in ("y", "low", "high"))["scale"]
    y = quantity("y", name, scale=scale, axis=PERCENT)
    series = series_encoding("series", None, series_drawn, THEMES[theme])
    line = {"mark": {"type": "line"}, "encoding": {"x": x, "y": y, "color": series["color"]}}
    layers = [*([line] if joined else []), *interval_and_point({"x": x}, y, series, size=70, opacity=1)]
    names = list(dict.fromkeys(row["panel"] for row in rows))
    body: Spec = {"width": SIZE[0], "height": SIZE[1], "layer": layers}
    if len(names) > 1:
        body = panels("panel", names, layers, SIZE, resolve=OWN_X_AXES)
    captions = [f"{audit['level']:.0%} intervals over instances"]
    if len(every) > len(series_drawn):
        captions.append(f"the first {len(series_drawn)} of {len(every)}; all are in the table")
    return build_spec({"data": {"values": rows}, **body}, [title], captions, theme)
