"""Chart of the effect of comparison tables: scores (without gold: agreement) before and after, by arm."""

from typing import Any

from reporting.core.charts import Spec, column_spec, empty_chart
from reporting.findings.charts.dots import dot_rows, point

NO_PICTURE = "no decision has a gold label, or votes of others beside it"
NO_ARM = "no arm on record"
BEFORE, AFTER = "before", "after"
SCORE = ("score_before", "score_after", "Mean score (1 right, 0 tie, −1 wrong)")
AGREEMENT = ("agreement_before", "agreement_after", "Mean agreement with others’ first votes")
TITLE = "Before and after the comparison table"


def before_and_after(effect: dict[str, Any], theme: str) -> Spec:
    """Points: the mean score before and after the second stage, by arm, with intervals.

    Without any gold label it shows the mean agreement with the others' first votes instead.
    """
    for before, after, axis in (SCORE, AGREEMENT):
        rows = [
            point(arm["arm"] or NO_ARM, stage, {**arm[key], "n_instances": arm[key]["n"]})
            for arm in effect["arms"]
            for key, stage in ((before, BEFORE), (after, AFTER))
            if arm[key]["value"] is not None
        ]
        if rows:
            marks = [(0.0, True)] if before == SCORE[0] else []
            body, about_rows = dot_rows(rows, [BEFORE, AFTER], axis, theme, share=before != SCORE[0], marks=marks)
            note = [effect["note"]] if "note" in effect else []
            level = f"bars: {effect['filters']['level']:.0%} intervals over instances"
            return column_spec(body, [TITLE], [level, *about_rows, *note], theme)
    return empty_chart(TITLE, str(effect.get("why") or NO_PICTURE), theme)
