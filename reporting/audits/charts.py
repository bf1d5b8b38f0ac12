"""Picture of a stress test: what each change turns verdicts to."""

from typing import Any

from reporting.audits.words import CHANGE_NAMES, TURN_NAMES
from reporting.core.charts import Spec, column_spec, empty_chart
from reporting.findings.charts.common import interval_notes
from reporting.findings.charts.dots import dot_rows, point

DRAWN = ("towards", "away", "to_tie")
NOTHING = "no answers from which it could be drawn"


def turned_verdicts(findings: dict[str, Any], theme: str) -> Spec:
    """Points with intervals: the shares of verdicts that each change turns to the changed text, the other one, or a tie."""
    series = [str(TURN_NAMES[turn]) for turn in DRAWN]
    rows = [
        point(str(CHANGE_NAMES[row["change"]]), name, row["all"][turn])
        for row in findings["changes"]
        for turn, name in zip(DRAWN, series, strict=True)
        if row["all"][turn]["value"] is not None
    ]
    title = f"Verdicts that turn, {findings['judge']}"
    if not rows:
        return empty_chart(title, NOTHING, theme)
    context = {"filters": {"level": findings["level"], "two_way": False}}
    body, about_rows = dot_rows(rows, series, "Share of verdicts", theme, share=True)
    return column_spec(body, [title], [*interval_notes(context, rows), *about_rows], theme)
