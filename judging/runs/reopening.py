"""Reopening presentations of a finished run that have no verdict because a call got no answer."""

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from annotation.core.database.bulk_sql import chunked
from annotation.core.reasons import NO_REASON
from annotation.models import Event
from annotation.studies.log import log
from judging.calls.cases import Case
from judging.calls.presentations import asked_about, prompt_version
from judging.calls.requests import setting_of
from judging.core.errors import BadSettings, RunBusy
from judging.core.pricing import check_cap
from judging.jobs import leases
from judging.methods import AskingMethod, find_method
from judging.models import JudgeRun, Judgment
from judging.runs.cells import replayed
from judging.runs.services import lock_run, open_failed
from judging.runs.tasks import enqueue_run

UNPARSED, PENDING = Judgment.Status.UNPARSED, Judgment.Status.PENDING


@dataclass(frozen=True)
class Reopened:
    """Numbers of reopened presentations that were unparsed, or errors."""

    unparsed: int = 0
    errors: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.unparsed + self.errors


def retry_run(*, run: JudgeRun, unparsed: bool = False, errors: bool = False, by: User | None = None) -> Reopened:
    """Reopen a finished run's presentations that lack an answer, queue the run, and log that in the study.

    unparsed : unparsed ones with a call that never got an answer. If every call was answered, asking again would find
               the same answers in the cache; these stay as they are.
    errors   : those that ended in an error, and those whose request a content filter stopped

    Their cost so far stays counted. Raises: RunBusy for a run that is active or has open presentations; BadSettings if
    its judge asks no endpoint, or its cost can't be capped.
    """
    method = find_method(run.judge.method)
    if not isinstance(method, AskingMethod):
        raise BadSettings(f"method {method.name} makes no calls, so nothing can be asked again")
    _check(run)
    lost: list[int] = []
    if unparsed:  # those of another prompt version are left out, unless they got no answer at all
        setting, questions = setting_of(run.judge), [run.study.questions[number] for number in run.questions]
        presentations = [asked_about(run.judge, run.study.task_kind, item, questions) for item in questions]
        versions = [
            prompt_version(method, version, presentation)
            for presentation in presentations
            for version in (setting, setting.without_schema())
        ]
        cells = run.judgments.filter(Q(calls=0) | Q(prompt_version__in=versions), status=UNPARSED)
        lost = [case.cell.pk for _, cases in replayed(run, method, cells) for case in cases if _lacks_an_answer(case)]
    with transaction.atomic():
        run = lock_run(run)
        _check(run)
        values, cells = {"status": PENDING, "failure": "", "judged_at": None}, run.judgments.filter(status=UNPARSED)
        # Their answers stay linked and counted.
        found = sum(cells.filter(pk__in=part).update(**values) for part in chunked(lost))
        opened = Reopened(found, open_failed(run, final=True) if errors else 0)
        if opened.total:
            run.status, run.message, run.finished_at = JudgeRun.Status.QUEUED, NO_REASON, None
            run.save(update_fields=["status", "message", "finished_at"])
            changes = {"judge": run.judge.name, "run": run.pk, "unparsed": opened.unparsed, "errors": opened.errors}
            log(study=run.study, kind=Event.Kind.REOPENED, batch=run.batch, by=by, changes=changes)
    return opened


@transaction.atomic
def queue_retry(*, run: JudgeRun, by: User | None = None) -> Reopened:
    """Reopen a finished run's errors and filtered presentations, and queue it for a worker.

    Raises: as `retry_run`
    """
    opened = retry_run(run=run, errors=True, by=by)
    if opened.total:
        transaction.on_commit(lambda: enqueue_run(run.pk))
    return opened


def _check(run: JudgeRun) -> None:
    if run.status in leases.ACTIVE:
        raise RunBusy(f"{run} is {run.get_status_display().lower()}: wait until it has ended")
    if open_cells := run.judgments.filter(status=PENDING).count():
        raise RunBusy(f"{run} has {open_cells} open presentations: resume it first")
    check_cap(run.max_cost, *run.judge.endpoints)


def _lacks_an_answer(case: Case) -> bool:
    """Tell whether a call of a case never got an answer, or got one since, for another cell."""
    if case.reading is not None:
        return case.reading.status == Judgment.Status.PARSED
    return any(state.waiting and not state.attempt for state in case.call_states)
