"""Chart of the effect of comparison tables: scores (without gold: agreement) before and after, by arm."""

from typing import Any

from reporting.core.charts import (
    Spec,
    build_spec,
    empty_chart,
    interval_and_point,
    quantity,
    series_encoding,
    shorten,
    with_ends,
)
from reporting.core.themes import THEMES, Theme

NO_PICTURE = "no decision has a gold label, or votes of others beside it"
NO_ARM = "no arm on record"
BEFORE, AFTER = "Before", "After"
SCORE = ("score_before", "score_after", "Mean score (1 right, 0 tie, −1 wrong)", (-1, 1))
AGREEMENT = ("agreement_before", "agreement_after", "Mean agreement with others’ first votes", (0, 1))
TITLE = "Before and after the comparison table"


def before_and_after(effect: dict[str, Any], theme: str) -> Spec:
    """Points: the mean score before and after the second stage, by arm, with intervals.

    Without any gold label it shows the mean agreement with the others' first votes instead.
    """
    for before, after, name, domain in (SCORE, AGREEMENT):
        rows = [
            _point(arm, arm[key], stage)
            for arm in effect["arms"]
            for key, stage in ((before, BEFORE), (after, AFTER))
            if arm[key]["value"] is not None
        ]
        if rows:
            body = {"data": {"values": rows}, "height": 280, "layer": _layers(name, domain, THEMES[theme])}
            level = f"{effect['filters']['level']:.0%}"
            captions = [effect["note"]] if "note" in effect else []
            title = [TITLE, f"{name}, with {level} intervals over instances"]
            return build_spec({**body, "width": {"step": 30}}, title, captions, theme)
    return empty_chart(TITLE, str(effect.get("why") or NO_PICTURE), theme)


def _point(arm: dict[str, Any], mean: dict[str, Any], stage: str) -> dict[str, Any]:
    return {
        "arm": f"{shorten(arm['arm'] or NO_ARM)} (n = {mean['n']})",
        "stage": stage,
        **with_ends("mean", mean),
    }


def _layers(name: str, domain: tuple[int, int], theme: Theme) -> list[Spec]:
    stages = [BEFORE, AFTER]
    gap = {"paddingInner": 0.6, "paddingOuter": 0.5}  # between arms, so that before and after stand together
    x = {"field": "arm", "type": "nominal", "sort": None, "title": "Arm", "axis": {"labelAngle": -30}, "scale": gap}
    position = {"x": x, "xOffset": {"field": "stage", "type": "nominal", "sort": stages}}
    y = quantity("mean", name, scale={"domain": list(domain)})
    series = series_encoding("stage", "Vote", stages, theme)
    zero = {"mark": {"type": "rule", "color": theme.ink, "strokeDash": [4, 4]}, "encoding": {"y": {"datum": 0}}}
    interval, points = interval_and_point(position, y, series, size=90, opacity=1)
    return [interval, zero, points] if domain[0] < 0 else [interval, points]
