"""Rankings that the worker asks a judge for: queueing, asking with progress, stopping and resuming."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django_tasks import task

from annotation.core.errors import AnnotationError
from annotation.core.tasks.task_queue import last_task, status_of
from annotation.models import Study
from judging.audits.on_demand import asker, asking_alone, check_free
from judging.core.checks import check_in_flight
from judging.core.errors import RunBusy
from judging.core.pricing import check_cap
from judging.jobs.stopping import WORKER_STOP
from judging.models import JudgeRun
from judging.runs.pair_filters import ON_DEMAND
from judging.runs.services import check, pause_run
from reporting.models import SystemRanking
from reporting.system_ranking.designs import WantedRanking, most_presentations

Status = SystemRanking.Status
UNDER_WAY = (Status.QUEUED, Status.RUNNING)
LOST = "the worker ended while it asked; please continue it"


def wanted_by(ranking: SystemRanking) -> WantedRanking:
    """Return what a stored ranking asks for."""
    return WantedRanking(ranking.study, ranking.judge, ranking.question, **ranking.options)


@transaction.atomic
def queue_ranking(
    wanted: WantedRanking, *, in_flight: int = 8, max_cost: Decimal | None = None, limit: int | None = None
) -> SystemRanking:
    """Queue a ranking, new, or one with the same settings that has ended; the answers that are there are not asked for again.

    max_cost : of all calls that the judge's run for rankings of this study has made; limit : presentations to ask this time
    Raises: BadSettings for settings that don't fit, or a judge that can't be asked; RunBusy while the judge is asked for another
    ranking of the study
    """
    study = Study.objects.select_for_update(no_key=True).get(pk=wanted.study.pk)
    wanted = replace(wanted, study=study)
    check_in_flight(in_flight)
    most = most_presentations(wanted, wanted.field)
    like, question = asker(wanted.judge), wanted.question
    check(study, like, [question])
    for run in study.judge_runs.filter(judge__name=like.name, filter_key=ON_DEMAND.key, questions=[question]):
        check_free(run)
    check_cap(max_cost, *wanted.judge.endpoints)
    known = [one for one in rankings_of(study) if (one.judge, one.question) == (wanted.judge, question)]
    if any(one.status in UNDER_WAY for one in known):
        raise RunBusy(
            f"judge {wanted.judge} is being asked for a ranking of {study}; stop that one, or wait for its end"
        )
    ranking = next((one for one in known if one.options == wanted.options), None) or SystemRanking(
        study=study, judge=wanted.judge, question=question, options=wanted.options
    )
    ranking.in_flight, ranking.max_cost, ranking.most = in_flight, max_cost, most
    ranking.status, ranking.asked, ranking.message = Status.QUEUED, 0, ""
    ranking.asked_at, ranking.finished_at = timezone.now(), None
    ranking.save()
    ask_for_ranking.enqueue(ranking.pk, limit)
    return ranking


def rankings_of(study: Study) -> list[SystemRanking]:
    """Return a study's rankings, the latest first; one whose task has failed has failed too."""
    found = list(study.system_rankings.select_related("judge__endpoint", "run"))
    for ranking in found:
        if ranking.status in UNDER_WAY:
            last = last_task(ask_for_ranking.module_path, args__0=ranking.pk)
            if last is None or not status_of(last).under_way:
                _update(ranking, status=Status.FAILED, message=LOST, finished_at=timezone.now())
    return found


@transaction.atomic
def stop_ranking(ranking: SystemRanking) -> None:
    """Stop a ranking after its calls in flight.

    Raises: RunBusy if it has ended
    """
    changed = SystemRanking.objects.filter(pk=ranking.pk, status__in=UNDER_WAY).update(
        status=Status.STOPPED, message=_("stopped on request"), finished_at=timezone.now()
    )
    if not changed:
        raise RunBusy(f"the ranking can't be stopped: it is {ranking.get_status_display().lower()}")
    ranking.refresh_from_db()
    if ranking.run and ranking.run.status in (JudgeRun.Status.QUEUED, JudgeRun.Status.RUNNING):
        pause_run(run=ranking.run)


@task()
def ask_for_ranking(ranking_id: int, limit: int | None = None) -> str:
    """Ask until the design ends or the worker gets a stop signal, which queues it again. Running it twice is harmless.

    limit : presentations to ask this time
    """
    ranking = SystemRanking.objects.select_related("study", "judge__endpoint").filter(pk=ranking_id).first()
    if ranking is None or ranking.status not in UNDER_WAY:
        return ""
    try:
        return _ask(ranking, limit)
    except AnnotationError as error:
        _update(ranking, status=Status.FAILED, message=str(error), finished_at=timezone.now())
        return Status.FAILED
    except Exception as error:
        _update(ranking, status=Status.FAILED, message=f"unexpected: {error!r}", finished_at=timezone.now())
        raise


def _ask(ranking: SystemRanking, limit: int | None) -> str:
    # Web processes import this module to enqueue, and must not load the HTTP client of endpoints.
    from reporting.system_ranking.asking import Spent, ask_for

    waiting = SystemRanking.objects.filter(pk=ranking.pk, status__in=UNDER_WAY)

    def on_step(spent: Spent) -> bool:
        under_way = SystemRanking.objects.filter(pk=ranking.pk, status=Status.RUNNING)
        return bool(under_way.update(asked=spent.asked))

    asked = {name: getattr(ranking, name) for name in ("study", "judge", "question", "in_flight", "max_cost")}
    with asking_alone(**asked) as run:
        if not waiting.update(status=Status.RUNNING, run=run):
            return Status.STOPPED  # meanwhile
        found, spent = ask_for(wanted_by(ranking), run, stop=WORKER_STOP, limit=limit, on_step=on_step)
    ranking.refresh_from_db(fields=["status", "message"])
    if found["stopped"] != "ended":
        status, message = Status.DONE, ""
    elif spent.ended and spent.ended.signal and ranking.status == Status.RUNNING:
        left = None if limit is None else limit - spent.asked
        _update(ranking, status=Status.QUEUED)
        ask_for_ranking.enqueue(ranking.pk, left)
        return Status.QUEUED
    else:
        failed = spent.ended is not None and spent.ended.status == JudgeRun.Status.FAILED
        status = Status.FAILED if failed else Status.STOPPED
        message = ranking.message or found["message"]
    _update(ranking, status=status, message=message, found=found, asked=spent.asked, finished_at=timezone.now())
    return status


def _update(ranking: SystemRanking, **values: Any) -> None:
    for name, value in values.items():
        setattr(ranking, name, value)
    ranking.save(update_fields=[*values])
