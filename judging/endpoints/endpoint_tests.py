"""Queueing the test of an endpoint: web workers make no calls and don't load the client."""

from datetime import timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from judging.endpoints.tasks import probe
from judging.jobs.task_queue import UNDER_WAY
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
        Q(started_at=None) | Q(started_at__gt=timezone.now() - MAX_TEST_TIME),
        task_path=probe.module_path,
        status__in=UNDER_WAY,
        args_kwargs__args__0=endpoint.pk,
    )
    return tasks.exists()
