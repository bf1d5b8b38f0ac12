"""Long work that a worker does."""

from typing import Any

from django_tasks import TaskContext, task


@task()
def execute_run(run_id: int, limit: int | None = None) -> str:
    """Work on a run until it is done, fails, or the worker is told to end. Running it twice does no harm.

    limit : cells to fill this time
    """
    # Imported here because web workers import this module, and the engine brings in the `openai` client.
    from judging.services.execution import execute
    from judging.services.requeue import call_for_help, come_back
    from judging.services.stopping import WORKER_STOP

    if limit is None:
        call_for_help(run_id)
    ended = execute(run_id, stop=WORKER_STOP, limit=limit, patient=False)
    if ended.come_back:
        come_back(run_id, ended.left)
    return ended.status


def enqueue_run(run_id: int, limit: int | None = None) -> None:
    """Hand a run to the queue; `limit`: cells to fill this time."""
    if limit is None:
        execute_run.enqueue(run_id)
    else:
        execute_run.enqueue(run_id, limit)


@task()
def probe(endpoint_id: int) -> bool:
    """Test an endpoint and store what it supports; returns whether it answers at all."""
    from judging.models import Endpoint
    from judging.services.probing import probe_endpoint

    return bool(probe_endpoint(Endpoint.objects.get(pk=endpoint_id)).supports["chat"])


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
    """Distil a study's aspects; returns the version and what it took, or the error. Taken up again, it asks nothing twice."""
    from judging.services.distillation import distil_queued

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
    """Sample a system's texts; returns what came of it. Taken up again, it asks nothing twice.

    study_id : finds the tasks of a study
    """
    from judging.services.generating_instances import Where
    from judging.services.generating_queued import generate_queued

    where = Where(dataset, tuple(instances), limit)
    return generate_queued(run_id, where=where, in_flight=in_flight, max_cost=max_cost)
