"""The step of a study's page about its judges."""

from collections.abc import Sequence

from django.db.models import Count, Q
from django.template.defaultfilters import pluralize
from django.urls import reverse

from annotation.models import Study
from annotation.study_pages.checklist import Action, Step, StepState
from judging.models import JudgeRun, Judgment

Status = JudgeRun.Status
UNDER_WAY = (Status.QUEUED, Status.RUNNING)


def judges_step(study: Study) -> Step:
    """Return the step: judges asked, presentations with an outcome, and runs that have stopped."""
    address = reverse("judging:judges", args=[study.slug])
    runs = list(study.judge_runs.values_list("judge_id", "status"))
    if not runs:
        is_open = study.systems.exists()
        return Step(
            "judges",
            "Judges",
            StepState.OPEN if is_open else StepState.WAITING,
            "No judge has been asked",
            "Language models and baselines that rate the same pairs as people do.",
            (Action("Choose a judge", address),) if is_open else (),
        )
    found = {status for _judge, status in runs}
    stopped = found - {Status.DONE, Status.CANCELLED, *UNDER_WAY}
    state = StepState.RUNNING if found & set(UNDER_WAY) else StepState.OPEN if stopped else StepState.DONE
    missing = "A run has stopped before its end." if stopped else ""
    return Step("judges", "Judges", state, _figures(study, runs), missing, (Action("Judges", address),))


def _figures(study: Study, runs: Sequence[tuple[int, str]]) -> str:
    judges = len({judge for judge, _status in runs})
    cells = Judgment.objects.filter(run__study=study).aggregate(
        total=Count("pk"), done=Count("pk", filter=~Q(status=Judgment.Status.PENDING))
    )
    return f"{judges} judge{pluralize(judges)} · {cells['done']} of {cells['total']} presentations"
