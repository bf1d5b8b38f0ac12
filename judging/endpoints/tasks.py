"""Testing an endpoint in a worker process: the task, and queueing it, since web workers make no calls."""

from datetime import timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django_tasks import task
from django_tasks_db.models import DBTaskResult

from annotation.core.tasks.task_queue import UNDER_WAY
from judging.models import Endpoint


@task()
def probe(endpoint_id: int) -> bool:
    """Test an endpoint and store what it supports. Return whether it answers at all."""
    # Web processes import this module to enqueue, and must not load the HTTP client of endpoints.
    from judging.endpoints.probing import probe_endpoint

    return bool(probe_endpoint(Endpoint.objects.get(pk=endpoint_id)).supports["chat"])


MAX_TEST_TIME = timedelta(minutes=15)  # an older test has died with its worker


@transaction.atomic
def queue_test(*, endpoint: Endpoint) -> bool:
    """Queue a test of an endpoint. Return False if one is queued or running."""
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
