"""Handing the test of an endpoint to a worker: web workers make no calls and don't load the client."""

from datetime import timedelta

from django.db import transaction
from django.utils import timezone
from django_tasks.base import TaskResultStatus
from django_tasks_db.models import DBTaskResult

from judging.models import Endpoint
from judging.tasks import probe

LONGEST = timedelta(minutes=15)  # a test that began before has died with its worker


@transaction.atomic
def queue_test(*, endpoint: Endpoint) -> bool:
    """Have an endpoint tested; False when that is under way already."""
    Endpoint.objects.select_for_update().get(pk=endpoint.pk)
    if is_being_tested(endpoint):
        return False
    probe.enqueue(endpoint.pk)
    return True


def is_being_tested(endpoint: Endpoint) -> bool:
    """Tell whether a test waits for a worker, or is under way."""
    tasks = DBTaskResult.objects.filter(
        task_path=probe.module_path, status__in=[TaskResultStatus.READY, TaskResultStatus.RUNNING]
    )
    recent = timezone.now() - LONGEST
    return any(
        task.args_kwargs["args"] == [endpoint.pk] and (task.started_at is None or task.started_at > recent)
        for task in tasks
    )
