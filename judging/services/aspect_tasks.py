"""Handing the distilling of aspects to a worker, and how far that is: web workers make no calls."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.utils import timezone
from django_tasks.base import TaskResultStatus
from django_tasks_db.models import DBTaskResult

from annotation.models import Study
from judging.models import Completion, Endpoint
from judging.services.aspect_sets import PAIRS, sample_of
from judging.services.talks import PlainRequests, check_cap
from judging.tasks import distil_aspects

# A worker at it stores an answer now and then. One that hasn't for so long is dead; if it is not, two of them do no harm:
# what either has stored is asked no more.
SILENT = timedelta(minutes=5)
ATTEMPTS = 5  # workers that may die of one task, before it is given up
KINDS = ("aspects-extract", "aspects-merge")
UNDER_WAY = (TaskResultStatus.READY, TaskResultStatus.RUNNING)


@dataclass(frozen=True)
class Work:
    """The last distilling that was asked for in a study.

    waiting, running : for a worker; by one
    error            : why nothing came of it; empty while it is under way or when all went well
    """

    endpoint: str
    pairs: int
    seed: int
    waiting: bool
    running: bool
    error: str
    version: str
    is_new: bool
    calls: int
    cached: int

    @property
    def under_way(self) -> bool:
        """Tell whether it isn't over."""
        return self.waiting or self.running


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
    """Have a worker distil a study's aspects; False when that is under way already.

    Raises: BadSettings for a cap that can't be kept, a parameter that can't be set, or if there is nothing to draw from.
    """
    check_cap(max_cost, endpoint)
    PlainRequests(endpoint, params=params)
    sample_of(study, pairs=pairs, seed=seed)
    Study.objects.select_for_update().get(pk=study.pk)
    last = last_task(study)
    if last is not None and last.status in UNDER_WAY and not is_silent(last):
        return False
    cap = None if max_cost is None else str(max_cost)
    distil_aspects.enqueue(study.pk, endpoint.pk, pairs, seed, dict(params or {}), cap, by)
    return True


def last_task(study: Study) -> DBTaskResult | None:
    """Return the last task that distils a study's aspects."""
    tasks = DBTaskResult.objects.filter(task_path=distil_aspects.module_path, args_kwargs__args__0=study.pk)
    return tasks.order_by("enqueued_at").last()


def work_on(study: Study) -> Work | None:
    """Say how far the last distilling is; `None` if there was none."""
    task = last_task(study)
    if task is None:
        return None
    _study, endpoint, pairs, seed, *_rest = task.args_kwargs["args"]
    came: dict[str, Any] = task.return_value or {}
    failed = task.status == TaskResultStatus.FAILED
    return Work(
        endpoint=Endpoint.objects.filter(pk=endpoint).values_list("name", flat=True).first() or "",
        pairs=pairs,
        seed=seed,
        waiting=task.status == TaskResultStatus.READY,
        running=task.status == TaskResultStatus.RUNNING,
        error=came.get("error", "") or (f"unexpected: {task.exception_class_path}" if failed else ""),
        version=came.get("version", ""),
        is_new=came.get("new", False),
        calls=came.get("calls", 0),
        cached=came.get("cached", 0),
    )


def is_silent(task: DBTaskResult) -> bool:
    """Tell whether a task that runs was begun long ago and has stored no answer since."""
    cutoff = timezone.now() - SILENT
    if task.status != TaskResultStatus.RUNNING or task.started_at is None or task.started_at > cutoff:
        return False
    endpoint = Endpoint.objects.filter(pk=task.args_kwargs["args"][1]).first()
    answers = Completion.objects.filter(kind__in=KINDS, created_at__gt=cutoff)
    # From the latest on, so that one that is there is found at once: there may be millions.
    return endpoint is None or not answers.filter(base_url=endpoint.base_url).order_by("-pk")[:1]


def requeue_distilling() -> int:
    """Hand tasks whose worker is dead to the queue again; returns how many. Nothing is asked twice for that."""
    count = 0
    running = DBTaskResult.objects.filter(task_path=distil_aspects.module_path, status=TaskResultStatus.RUNNING)
    for task in running:
        if not is_silent(task):
            continue
        if len(task.worker_ids) >= ATTEMPTS:
            task.set_failed(RuntimeError(f"{ATTEMPTS} workers in a row have died of this"))
            continue
        same = running.filter(pk=task.pk, started_at=task.started_at)
        count += same.update(status=TaskResultStatus.READY, started_at=None)
    return count
