"""Distilling a study's aspects in a worker process."""

from typing import Any

from django_tasks import TaskContext, task


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
    # Web processes import this module to enqueue, and must not load the `openai` client.
    from judging.aspects.distillation import distil_queued

    return distil_queued(
        study_id,
        endpoint_id,
        pairs=pairs,
        seed=seed,
        params=params,
        max_cost=max_cost,
        by=by,
        since=context.task_result.enqueued_at,
    )
