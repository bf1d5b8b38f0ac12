"""Queueing separability jobs, and requeueing those of dead workers."""

import logging
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django_tasks.base import TaskResultStatus
from django_tasks_db.models import DBTaskResult

from annotation.models import SeparabilityJob, Study
from annotation.separability.jobs import HEARTBEAT_TIMEOUT, SeparabilityRequest, is_abandoned, open_job
from annotation.separability.tasks import compute_separability_of

log = logging.getLogger(__name__)
GRACE = timedelta(seconds=10)
ATTEMPTS = 5  # dead workers of one job before it fails


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
            compute_separability_of.enqueue(study.pk, request.similarity, request.group, job.pk)
    return job, is_new


def requeue_separability() -> int:
    """Queue the tasks of dead workers again; return how many. Staged results are reused."""
    count = 0
    running = DBTaskResult.objects.filter(
        task_path=compute_separability_of.module_path, status=TaskResultStatus.RUNNING
    )
    for task in running:
        ids = task.args_kwargs["args"][3:]
        job = SeparabilityJob.objects.filter(pk__in=ids).first()
        if job is None or _is_new(task) or not (is_abandoned(job) if job.executor else _is_old(task)):
            continue
        if job.attempts >= ATTEMPTS:
            reason = f"{ATTEMPTS} workers in a row have ended while they computed this"
            SeparabilityJob.objects.filter(pk=job.pk).update(
                status=SeparabilityJob.Status.FAILED, message=reason, finished_at=timezone.now()
            )
            task.set_failed(RuntimeError(reason))
            continue
        same = running.filter(pk=task.pk, started_at=task.started_at)
        count += same.update(status=TaskResultStatus.READY, started_at=None)
        log.info("separability of %s goes back to the queue", job)
    return count


def _is_new(task: DBTaskResult[Any, Any]) -> bool:
    """Tell whether a worker has just taken the task, so that the job may not name it yet."""
    return task.started_at is not None and task.started_at > timezone.now() - GRACE


def _is_old(task: DBTaskResult[Any, Any]) -> bool:
    return task.started_at is None or task.started_at < timezone.now() - HEARTBEAT_TIMEOUT
