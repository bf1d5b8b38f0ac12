"""Examples of the components of pages, shown below the page of the documentation that explains them."""

from datetime import UTC, datetime, timedelta
from typing import Any

from annotation.models import Study
from annotation.monitoring.timeline import Timeline
from annotation.studies.settings_form import StudySettingsForm
from annotation.study_pages.checklist import Action, Step, StepState

PAGE = "components.md"
HERE = "#components"
BEGAN = datetime(2026, 3, 2, 9, tzinfo=UTC)


def examples() -> dict[str, Any]:
    """Return what `_components.html` shows; no row of the database is read."""
    form = StudySettingsForm(instance=Study())
    hours = [(BEGAN + timedelta(hours=hour), filled) for hour, filled in enumerate((8, 20, 36))]
    return {
        "steps": [
            Step(
                "texts",
                "Texts",
                StepState.DONE,
                "50 instances · system-x, system-y",
                actions=[Action("Instances", HERE)],
            ),
            Step("batch", "Batch", StepState.NEXT, "none yet", "Choose instances.", [Action("New batch", HERE)]),
            Step("raters", "Raters", StepState.WAITING, "0 of 90 slots filled", "A batch comes first."),
        ],
        "rows": [(f"r-{number:04x}", 12 - number // 3) for number in range(1, 31)],
        "fields": [form[name] for name in ("pairs_per_hit", "protocol", "ties_allowed")],
        "slots": {"total": 90},
        "timeline": Timeline(
            steps=hours,
            by_the_hour=True,
            first=BEGAN,
            last=BEGAN + timedelta(hours=3),
            finish=BEGAN + timedelta(hours=7, minutes=40),
            line="0,120 78,120 78,109 157,109 157,93 235,93 235,72",
            expected="235,72 600,0",
        ),
    }
