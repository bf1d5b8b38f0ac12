"""Sampling texts in a worker."""

from decimal import Decimal
from typing import Any

from annotation.core.errors import AnnotationError
from judging.calls.adhoc_runner import Interrupted
from judging.endpoints.client_factory import MakeClient, retrying_client
from judging.generation.engine import sample
from judging.generation.instances import InstanceSelection
from judging.generation.store import SamplingTotals
from judging.jobs.stopping import WORKER_STOP
from judging.models import GenerationRun


def generate_queued(
    run_id: int,
    *,
    selection: InstanceSelection,
    in_flight: int,
    max_cost: str | None,
    make_client: MakeClient = retrying_client,
) -> dict[str, Any]:
    """Sample in a worker; return the task's result.

    Raises: SystemExit when the worker is told to end, which requeues the task.
    """
    run = GenerationRun.objects.select_related("study", "endpoint").get(pk=run_id)
    totals = SamplingTotals()
    try:
        sample(
            run,
            selection=selection,
            in_flight=in_flight,
            max_cost=None if max_cost is None else Decimal(max_cost),
            stop=WORKER_STOP,
            totals=totals,
            make_client=make_client,
        )
    except Interrupted:
        raise SystemExit(0) from None
    except AnnotationError as error:
        return {**totals_as_dict(totals), "error": str(error)}
    return totals_as_dict(totals)


def totals_as_dict(totals: SamplingTotals) -> dict[str, Any]:
    """Return a session's totals for JSON."""
    return {
        "stored": totals.stored,
        "texts": totals.texts,
        "cut": totals.cut,
        "left_out": len(totals.left_out),
        "calls": totals.calls,
        "cached": totals.cached,
        "failed": totals.failed,
        "prompt_tokens": totals.usage.prompt_tokens,
        "completion_tokens": totals.usage.completion_tokens,
        "cost": None if totals.usage.cost is None else float(totals.usage.cost),
    }
