"""Sampling a system's texts in a worker process: the task, queueing it, and its status."""

from decimal import Decimal
from typing import Any

from django.db import transaction
from django_tasks import task

from annotation.core.errors import AnnotationError
from annotation.core.tasks.task_queue import TaskStatus, is_under_way, statuses_in_study
from annotation.models import Study
from judging.core.errors import BadSettings, Interrupted
from judging.core.pricing import check_cap
from judging.generation.instances import InstanceSelection, check_selection, count_instances
from judging.generation.services import Sampling, start_generating
from judging.jobs import leases
from judging.jobs.stopping import WORKER_STOP
from judging.models import GenerationRun

is_dead = leases.dead_by_heartbeat(GenerationRun)


@task()
def generate_texts(
    study_id: int,
    run_id: int,
    dataset: str,
    instances: list[str],
    limit: int | None,
    in_flight: int,
    max_cost: str | None,
) -> dict[str, Any]:
    """Sample a system's texts; returns the totals. Resuming repeats no answered call.

    study_id : finds the tasks of a study
    """
    # Web processes import this module to enqueue, and must not load the HTTP client of endpoints.
    from judging.generation.engine import sample
    from judging.generation.store import SamplingTotals

    run, totals = GenerationRun.objects.select_related("study", "endpoint").get(pk=run_id), SamplingTotals()
    try:
        sample(
            run,
            selection=InstanceSelection(dataset, tuple(instances), limit),
            in_flight=in_flight,
            max_cost=None if max_cost is None else Decimal(max_cost),
            stop=WORKER_STOP,
            totals=totals,
        )
    except Interrupted:
        raise SystemExit(0) from None  # the task stays, for the next worker
    except AnnotationError as error:
        return {**totals.as_dict(), "error": str(error)}
    return totals.as_dict()


@transaction.atomic
def queue_generating(
    study: Study,
    name: str,
    sampling: Sampling,
    *,
    selection: InstanceSelection,
    in_flight: int,
    max_cost: Decimal | None = None,
    by: str = "",
) -> bool:
    """Queue the sampling of a system's texts; False if that is queued or running.

    Raises: BadSettings, UnknownName for invalid settings, or if there is nothing to sample.
    """
    check_cap(max_cost, sampling.endpoint)
    check_selection(study, selection)
    run = start_generating(study, name, sampling, by=by)
    if count_instances(study, name, selection).open == 0:
        raise BadSettings(f"there is nothing to ask: every chosen instance has texts of {name}, or no source")
    if is_under_way(generate_texts.module_path, is_dead, args__1=run.pk):
        return False
    cap = None if max_cost is None else str(max_cost)
    generate_texts.enqueue(
        study.pk, run.pk, selection.dataset, list(selection.instances), selection.limit, in_flight, cap
    )
    return True


def status_by_run(study: Study) -> dict[int, TaskStatus]:
    """Return the status of the last task of each of a study's runs, by the run's primary key."""
    return statuses_in_study(generate_texts.module_path, study.pk)


def is_running(run: GenerationRun) -> bool:
    """Tell whether a run's heartbeat is fresh."""
    return run.heartbeat_at is not None and not leases.lease_expired(run.heartbeat_at)
