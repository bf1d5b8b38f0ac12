"""Queueing the test of an endpoint: web workers make no calls and don't load the client."""

from datetime import timedelta

from django.db import transaction
from django.utils import timezone
from django_tasks.base import TaskResultStatus
from django_tasks_db.models import DBTaskResult

from judging.endpoints.tasks import probe
from judging.models import Endpoint

MAX_TEST_TIME = timedelta(minutes=15)  # an older test has died with its worker


@transaction.atomic
def queue_test(*, endpoint: Endpoint) -> bool:
    """Queue a test of an endpoint; False if one is queued or running."""
    Endpoint.objects.select_for_update().get(pk=endpoint.pk)
    if is_being_tested(endpoint):
        return False
    probe.enqueue(endpoint.pk)
    return True


def is_being_tested(endpoint: Endpoint) -> bool:
    """Tell whether a test is queued or running."""
    tasks = DBTaskResult.objects.filter(
        task_path=probe.module_path, status__in=[TaskResultStatus.READY, TaskResultStatus.RUNNING]
    )
    recent = timezone.now() - MAX_TEST_TIME
    return any(
        task.args_kwargs["args"] == [endpoint.pk] and (task.started_at is None or task.started_at > recent)
        for task in tasks
    )
