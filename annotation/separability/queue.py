"""Separability jobs in the queue: the task, starting one, their state, and requeueing those of dead workers."""

from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django_tasks import task

from annotation.core.tasks.task_queue import DeathRule, QueuedTask
from annotation.models import SeparabilityJob, Study
from annotation.separability.jobs import (
    HEARTBEAT_TIMEOUT,
    UNDER_WAY,
    SeparabilityRequest,
    is_abandoned,
    open_job,
    run_job,
)

GRACE = timedelta(seconds=10)


@task()
def compute_separability_of(job_id: int) -> int:
    """Do a job; return the number of configurations."""
    return len(run_job(job_id))


def start_separability(
    study: Study, request: SeparabilityRequest, *, by: User | None = None
) -> tuple[SeparabilityJob, bool]:
    """Queue a job; the second value is False if the same request is under way already.

    Raises: AnnotationError for invalid settings.
    """
    request.check(study)
    with transaction.atomic():
        job, is_new = open_job(study, request, by)
        if is_new:
            compute_separability_of.enqueue(job.pk)
    return job, is_new


def separability_state(study: Study) -> dict[str, Any]:
    """Return a study's jobs under way, the earliest first; without any, why the last one failed, or its notice."""
    jobs = list(study.separability_jobs.filter(status__in=UNDER_WAY).order_by("asked_at", "pk"))
    last = None if jobs else study.separability_jobs.first()
    message = last.message if last else ""
    failed = last is not None and last.status == SeparabilityJob.Status.FAILED
    return {"busy": bool(jobs), "jobs": jobs, "failure": message if failed else "", "notice": "" if failed else message}


def _is_dead(task: QueuedTask) -> bool:
    """Tell whether a task's worker has ended; one that has just taken it may not be named yet."""
    job = _job_of(task).first()
    age = timezone.now() - (task.started_at or job.asked_at) if job else timedelta(0)
    if job is None or age < GRACE:
        return False
    return is_abandoned(job) if job.executor else age > HEARTBEAT_TIMEOUT


def _fail(task: QueuedTask, reason: str) -> None:
    _job_of(task).update(status=SeparabilityJob.Status.FAILED, message=reason, finished_at=timezone.now())


def _job_of(task: QueuedTask) -> QuerySet[SeparabilityJob]:
    return SeparabilityJob.objects.filter(pk__in=task.args_kwargs["args"])


# Staged results are reused.
DEATH_RULE = DeathRule(_is_dead, give_up=_fail)
