"""Distilling a study's aspects in a worker process: the task, queueing it, and its status."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.utils import timezone
from django_tasks import TaskContext, task
from django_tasks.base import TaskResultStatus

from annotation.core.tasks.task_queue import QueuedTask, TaskStatus, is_under_way, last_task, status_of
from annotation.models import Study
from judging.aspects.aspect_sets import PAIRS, sample_of
from judging.calls.adhoc import AdhocRequests
from judging.core.errors import Interrupted, JudgingError
from judging.core.pricing import check_cap
from judging.jobs.stopping import WORKER_STOP
from judging.models import Completion, Endpoint


@task(takes_context=True)
def distil_aspects(
    context: TaskContext,
    study_id: int,
    endpoint_id: int,
    pairs: int,
    seed: int,
    params: dict[str, Any],
    max_cost: str | None,
    by: str,
) -> dict[str, Any]:
    """Distil a study's aspects; returns the version and its usage, or the error. Resuming repeats no answered call."""
    # Web processes import this module to enqueue, and must not load the HTTP client of endpoints.
    from judging.aspects.distillation import distil

    try:
        version, is_new, usage = distil(
            Study.objects.get(pk=study_id),
            endpoint=Endpoint.objects.get(pk=endpoint_id),
            pairs=pairs,
            seed=seed,
            params=params,
            max_cost=None if max_cost is None else Decimal(max_cost),
            by=by,
            since=context.task_result.enqueued_at,  # what earlier attempts cost counts towards the cap
            stop=WORKER_STOP,
        )
    except Interrupted:
        raise SystemExit(0) from None  # the task stays, for the next worker
    except JudgingError as error:
        return {"error": str(error)}
    return {"version": str(version), "new": is_new, "calls": usage.calls, "cached": usage.cached}


# A worker that has stored no answer for so long is taken for dead. If it isn't, two workers do no harm: neither repeats
# the other's stored calls.
STALE_AFTER = timedelta(minutes=5)
KINDS = ("aspects-extract", "aspects-merge")


@dataclass(frozen=True)
class DistillationStatus(TaskStatus):
    """The status of a study's last distillation, and what was asked for."""

    endpoint: str
    pairs: int


@transaction.atomic
def queue_distilling(
    study: Study,
    *,
    endpoint: Endpoint,
    pairs: int = PAIRS,
    seed: int = 0,
    params: Mapping[str, Any] | None = None,
    max_cost: Decimal | None = None,
    by: str = "",
) -> bool:
    """Queue the distillation of a study's aspects; False if one is queued or running.

    Raises: BadSettings for a cap that can't be enforced, a reserved parameter, or a study without pairs.
    """
    check_cap(max_cost, endpoint)
    AdhocRequests(endpoint, params=params)
    sample_of(study, pairs=pairs, seed=seed)
    Study.objects.select_for_update().get(pk=study.pk)
    if is_under_way(distil_aspects.module_path, is_stale, args__0=study.pk):
        return False
    cap = None if max_cost is None else str(max_cost)
    distil_aspects.enqueue(study.pk, endpoint.pk, pairs, seed, dict(params or {}), cap, by)
    return True


def last_distillation(study: Study) -> DistillationStatus | None:
    """Return the status of the last distillation; `None` if there was none."""
    task = last_task(distil_aspects.module_path, args__0=study.pk)
    if task is None:
        return None
    _study, endpoint, pairs, *_rest = task.args_kwargs["args"]
    name = Endpoint.objects.filter(pk=endpoint).values_list("name", flat=True).first() or ""
    return DistillationStatus(**vars(status_of(task)), endpoint=name, pairs=pairs)


def is_stale(task: QueuedTask) -> bool:
    """Tell whether a running task started long ago and has stored no answer recently."""
    cutoff = timezone.now() - STALE_AFTER
    if task.status != TaskResultStatus.RUNNING or task.started_at is None or task.started_at > cutoff:
        return False
    endpoint = Endpoint.objects.filter(pk=task.args_kwargs["args"][1]).first()
    answers = Completion.objects.filter(kind__in=KINDS, created_at__gt=cutoff)
    # Latest first, to find one quickly among millions.
    return endpoint is None or not answers.filter(base_url=endpoint.base_url).order_by("-pk")[:1]
