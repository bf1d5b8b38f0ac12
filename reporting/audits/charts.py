"""Picture of a stress test: what each change turns verdicts to."""

from typing import Any

from reporting.audits.words import CHANGE_NAMES, TURN_NAMES
from reporting.core.charts import Spec, empty_chart
from reporting.findings.charts.common import column_spec, interval_notes
from reporting.findings.charts.dots import dot_rows, point

DRAWN = ("towards", "away", "to_tie")
NOTHING = "no answers from which it could be drawn"


def turned_verdicts(found: dict[str, Any], theme: str) -> Spec:
    """Points with intervals: the shares of verdicts that each change turns to the changed text, the other one, or a tie."""
    series = [str(TURN_NAMES[turn]) for turn in DRAWN]
    rows = [
        point(str(CHANGE_NAMES[one["change"]]), name, one["all"][turn])
        for one in found["changes"]
        for turn, name in zip(DRAWN, series, strict=True)
        if one["all"][turn]["value"] is not None
    ]
    title = f"Verdicts that turn, {found['judge']}"
    if not rows:
        return empty_chart(title, NOTHING, theme)
    about = {"filters": {"level": found["level"], "two_way": False}}
    body, about_rows = dot_rows(rows, series, "Share of verdicts", theme, share=True)
    return column_spec(body, [title], [*interval_notes(about, rows), *about_rows], theme, legend=series)
