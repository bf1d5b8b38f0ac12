"""Charts of an ablation: accuracy by the number of tables, and by the calls that a verdict takes."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from reporting.ablation.comparison import differing_settings
from reporting.ablation.files import asked_at
from reporting.core.charts import (
    Spec,
    build_spec,
    empty_chart,
    interval_and_point,
    padded,
    quantity,
    series_encoding,
    shorten,
    with_ends,
)
from reporting.core.themes import THEMES

Found = Mapping[str, Any]
NO_TABLES_YET = "no judge with tables was asked yet, or nothing has a gold label"
NO_CALLS_YET = "no judge was asked yet, or nothing has a gold label"
# What is drawn: the accuracy where there are gold labels, else the agreement with people.
MEASURES = {"accuracy": "Accuracy", "agreement_with_majority": "Agreement with the majority of the people"}


def by_samples(found: Found, theme: str) -> Spec:
    """Curve: accuracy by |C|, the number of tables that compete in the tournament."""
    rows = found["parts"].get("samples", [])
    measure = _measure(rows)
    rows = [row for row in rows if _is_known(row, measure)]
    points = [_point(row, row[measure], row["samples"], asked_at(row)) for row in rows]
    title = "By the number of tables, |C|"
    if not points:
        return empty_chart(title, str(found.get("why", NO_TABLES_YET)), theme)
    scale = {"type": "log", "base": 2, "nice": False, "padding": 12}
    axis = {"values": sorted({point["x"] for point in points}), "format": "d", "grid": False}
    x = quantity("x", "Tables drawn, |C|", scale=scale, axis=axis)
    heading = [title, f"{MEASURES[measure]}, mean over rounds{_level(found)}", *_warning(rows)]
    return _chart(points, x, MEASURES[measure], heading, theme, joined=True)


def by_calls(found: Found, theme: str) -> Spec:
    """Points: accuracy by the calls that a verdict takes, for every configuration without examples."""
    by_judge = {row["judge"]: row for part in found["parts"].values() for row in part if not row["shots"]}
    rows = list(by_judge.values())
    measure = _measure(rows)
    rows = [row for row in rows if _is_known(row, measure) and row["calls_per_verdict"]["total"]["value"]]
    points = [_point(row, row[measure], row["calls_per_verdict"]["total"]["value"], _kind(row)) for row in rows]
    title = "By the calls that a verdict takes"
    if not points:
        return empty_chart(title, str(found.get("why", NO_CALLS_YET)), theme)
    scale = {"type": "log", "base": 2, "padding": 12}
    x = quantity("x", "Calls a verdict (logarithmic scale)", scale=scale, axis={"format": "~g", "grid": False})
    heading = [title, f"{MEASURES[measure]}, mean over rounds{_level(found)}", *_warning(rows)]
    return _chart(points, x, MEASURES[measure], heading, theme)


def _kind(row: Found) -> str:
    names: dict[str, Callable[[], str]] = {
        "sc2": lambda: f"SC², {row['scheme']}",
        "self-consistency": lambda: "self-consistency",
    }
    return names.get(row["method"], lambda: "single answers")()


def _measure(rows: Iterable[Found]) -> str:
    return "accuracy" if any(row["accuracy"]["value"] is not None for row in rows) else "agreement_with_majority"


def _is_known(row: Found, measure: str) -> bool:
    return row[measure]["value"] is not None


def _warning(rows: Iterable[Found]) -> list[str]:
    unlike = differing_settings(rows)
    return [f"Careful: the rows also differ in their {', '.join(unlike)}"] if unlike else []


def _level(found: Found) -> str:
    return f", with {found['filters']['level']:.0%} intervals over instances"


def _point(row: Found, estimate: Found, x: float, kind: str) -> dict[str, Any]:
    return {"kind": shorten(kind), "x": x, **with_ends("value", estimate)}


def _chart(
    points: list[dict[str, Any]], x: Spec, measure: str, title: list[str], theme: str, *, joined: bool = False
) -> Spec:
    series = series_encoding("kind", None, sorted({point["kind"] for point in points}), THEMES[theme])
    y = quantity("value", measure, **padded(point[key] for point in points for key in ("value", "low", "high")))
    line = {"mark": {"type": "line"}, "encoding": {"x": x, "y": y, "color": series["color"]}}
    layers = [*([line] if joined else []), *interval_and_point({"x": x}, y, series, size=80, opacity=1)]
    return build_spec({"data": {"values": points}, "width": 520, "height": 260, "layer": layers}, title, [], theme)
