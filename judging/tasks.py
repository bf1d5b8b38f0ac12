"""Long work that a worker does."""

from django_tasks import task

from judging.errors import RunBusy


@task()
def execute_run(run_id: int) -> str:
    """Work on a run until it is done, fails, or the worker is told to end. Running it twice does no harm."""
    # Imported here because web workers import this module, and the engine brings in the `openai` client.
    from judging.services.execution import execute
    from judging.services.stopping import WORKER_STOP

    try:
        return execute(run_id, stop=WORKER_STOP).status
    except RunBusy as busy:
        return str(busy)
