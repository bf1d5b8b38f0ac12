"""Sampling texts in a worker."""

from decimal import Decimal
from typing import Any

from annotation.errors import AnnotationError
from judging.models import GenerationRun
from judging.services.conversations import Interrupted
from judging.services.execution import MakeClient, patient_client
from judging.services.generating_engine import sample
from judging.services.generating_instances import Where
from judging.services.generating_store import Tally
from judging.services.stopping import WORKER_STOP


def generate_queued(
    run_id: int,
    *,
    where: Where,
    in_flight: int,
    max_cost: str | None,
    make_client: MakeClient = patient_client,
) -> dict[str, Any]:
    """Sample in a worker; return what its task keeps.

    Raises: SystemExit when the worker is told to end, which hands the task back to the queue.
    """
    run = GenerationRun.objects.select_related("study", "endpoint").get(pk=run_id)
    tally = Tally()
    try:
        sample(
            run,
            where=where,
            in_flight=in_flight,
            max_cost=None if max_cost is None else Decimal(max_cost),
            stop=WORKER_STOP,
            tally=tally,
            make_client=make_client,
        )
    except Interrupted:
        raise SystemExit(0) from None
    except AnnotationError as error:
        return {**told(tally), "error": str(error)}
    return told(tally)


def told(tally: Tally) -> dict[str, Any]:
    """Return a session's numbers for JSON."""
    return {
        "stored": tally.stored,
        "texts": tally.texts,
        "cut": tally.cut,
        "left_out": len(tally.left_out),
        "calls": tally.calls,
        "cached": tally.cached,
        "failed": tally.failed,
        "prompt_tokens": tally.spent.prompt_tokens,
        "completion_tokens": tally.spent.completion_tokens,
        "cost": None if tally.spent.cost is None else float(tally.spent.cost),
    }
