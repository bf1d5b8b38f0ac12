"""Handing separability to a worker, and taking up again what a worker that is gone has left."""

import logging
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django_tasks.base import TaskResultStatus
from django_tasks_db.models import DBTaskResult

from annotation.models import SeparabilityJob, Study
from annotation.services.separability_jobs import SILENT, SeparabilityRequest, is_silent, open_job
from annotation.tasks import compute_separability_of

log = logging.getLogger(__name__)
GRACE = timedelta(seconds=10)
ATTEMPTS = 5  # workers that may die of one job, before it is given up


def start_separability(
    study: Study, asked: SeparabilityRequest, *, by: User | None = None
) -> tuple[SeparabilityJob, bool]:
    """Have a worker compute separability; the second value is False when just this is under way already.

    Raises: AnnotationError for what can't be computed.
    """
    asked.check(study)
    with transaction.atomic():
        job, is_new = open_job(study, asked, by)
        if is_new:
            compute_separability_of.enqueue(study.pk, asked.similarity, asked.group, job.pk)
    return job, is_new


def requeue_separability() -> int:
    """Hand the tasks whose worker is gone to the queue again; returns how many. What was staged is not computed twice."""
    count = 0
    running = DBTaskResult.objects.filter(
        task_path=compute_separability_of.module_path, status=TaskResultStatus.RUNNING
    )
    for task in running:
        ids = task.args_kwargs["args"][3:]
        job = SeparabilityJob.objects.filter(pk__in=ids).first()
        if job is None or _is_new(task) or not (is_silent(job) if job.executor else _is_old(task)):
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


def _is_new(task: DBTaskResult) -> bool:
    """Tell whether a worker took the task a moment ago, so that the job may not name it yet."""
    return task.started_at is not None and task.started_at > timezone.now() - GRACE


def _is_old(task: DBTaskResult) -> bool:
    return task.started_at is None or task.started_at < timezone.now() - SILENT
