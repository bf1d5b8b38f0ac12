"""Sampling a system's texts in a worker process."""

from typing import Any

from django_tasks import task

from judging.generation.instances import InstanceSelection


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
    # Web processes import this module to enqueue, and must not load the `openai` client.
    from judging.generation.engine import generate_queued

    selection = InstanceSelection(dataset, tuple(instances), limit)
    return generate_queued(run_id, selection=selection, in_flight=in_flight, max_cost=max_cost)
