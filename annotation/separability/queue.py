"""Queueing separability jobs, and requeueing those of dead workers."""

from datetime import timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from annotation.core.tasks.task_queue import DeathRule, QueuedTask
from annotation.models import SeparabilityJob, Study
from annotation.separability.jobs import HEARTBEAT_TIMEOUT, SeparabilityRequest, is_abandoned, open_job
from annotation.separability.tasks import compute_separability_of

GRACE = timedelta(seconds=10)


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
    return SeparabilityJob.objects.filter(pk__in=task.args_kwargs["args"][3:])


# Staged results are reused.
DEATH_RULE = DeathRule(_is_dead, give_up=_fail)
