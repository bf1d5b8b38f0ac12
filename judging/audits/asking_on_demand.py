"""Asking a run that grows on demand for what it lacks, in this process."""

from collections.abc import Collection

from annotation.core.tasks.stopping import StopFlag
from judging.audits.on_demand import Asked, Found, add_presentations, answers_to
from judging.endpoints.retrying import MakeClient, retrying_client
from judging.models import JudgeRun
from judging.runs.execution import ExecutionResult, execute


def ask_missing(
    run: JudgeRun,
    questions: Collection[Asked],
    *,
    stop: StopFlag,
    limit: int | None = None,
    make_client: MakeClient = retrying_client,
) -> tuple[Found, ExecutionResult | None]:
    """Return a run's judgments of these presentations, and how asking for the missing ones ended, or None where there were none.

    limit : presentations to ask this time
    """
    missing = sorted(set(questions) - answers_to(run, questions).keys())
    ended = None
    if missing:
        add_presentations(run, missing)
        paused = JudgeRun.Status.PAUSED
        ended = execute(run.pk, stop=stop, when_stopped=paused, make_client=make_client, limit=limit)
    return answers_to(run, questions), ended
