"""Distilling the aspects of a study's texts at an endpoint, and storing them as a version."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from annotation.models import Study
from judging.aspects.aspect_sets import DISTILLED, PAIRS, PairSample, procedure_of, sample_of, store_distilled
from judging.calls.adhoc import AdhocRequests
from judging.calls.adhoc_runner import IN_FLIGHT, Interrupted, ProcedureUsage, run_procedure
from judging.core.errors import JudgingError
from judging.endpoints.client_factory import MakeClient, retrying_client
from judging.jobs.progress import OnProgress, ignore_progress
from judging.jobs.stopping import WORKER_STOP, StopFlag
from judging.methods.sc2.distilling import Distilled, prompt_versions
from judging.methods.tasks import task_of
from judging.models import AspectSet, Endpoint


def distil(
    study: Study,
    *,
    endpoint: Endpoint,
    pairs: int = PAIRS,
    seed: int = 0,
    params: Mapping[str, Any] | None = None,
    max_cost: Decimal | None = None,
    by: str = "",
    in_flight: int = IN_FLIGHT,
    since: datetime | None = None,
    stop: StopFlag | None = None,
    on_progress: OnProgress = ignore_progress,
    make_client: MakeClient = retrying_client,
) -> tuple[AspectSet, bool, ProcedureUsage]:
    """Distil the aspects of a sample of a study's pairs; return the version, whether it is new, and the usage.

    params : sent with each call
    Repeating it makes no call, and returns the same version as long as it is the latest.
    Raises: as `run_procedure`; BadSettings if the study has no pairs.
    """
    sample = sample_of(study, pairs=pairs, seed=seed)
    outcome = run_procedure(
        procedure_of(study, sample),
        endpoint=endpoint,
        requests=AdhocRequests(endpoint, params=params),
        in_flight=in_flight,
        max_cost=max_cost,
        since=since,
        stop=stop,
        on_progress=on_progress,
        make_client=make_client,
    )
    origin = {
        **_asked(study, endpoint, sample, seed, params or {}),
        **_found(outcome.result),
        **_took(outcome.usage, endpoint),
        "by": by,
    }
    version, is_new = store_distilled(study, aspects=outcome.result.aspects, made_by=origin)
    return version, is_new, outcome.usage


def _asked(
    study: Study, endpoint: Endpoint, sample: PairSample, seed: int, params: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "how": DISTILLED,
        "study": study.slug,
        "endpoint": endpoint.name,
        "model": endpoint.model,
        "params": dict(params),
        "prompts": prompt_versions(task_of(study.task_kind)),
        "pairs": sample.pairs,
        "pairs_hash": sample.identities,
        "seed": seed,
        "empty": sample.empty,
    }


def _found(result: Distilled) -> dict[str, Any]:
    counts = ("texts", "lost", "found", "merges", "unmerged", "filled")
    return {name: getattr(result, name) for name in counts}


def _took(usage: ProcedureUsage, endpoint: Endpoint) -> dict[str, Any]:
    return {
        "calls": usage.calls,
        "cached": usage.cached,
        "failed": usage.failed,
        "prompt_tokens": usage.total.prompt_tokens,
        "completion_tokens": usage.total.completion_tokens,
        "cost": None if usage.total.cost is None else str(usage.total.cost),
        "currency": endpoint.currency,
    }


def distil_queued(
    study_id: int,
    endpoint_id: int,
    *,
    pairs: int,
    seed: int,
    params: Mapping[str, Any],
    max_cost: str | None,
    by: str,
    since: datetime | None,
    make_client: MakeClient = retrying_client,
) -> dict[str, Any]:
    """Distil in a worker; return the task's result.

    since : when it was queued: the cost of earlier attempts counts towards the cap
    Raises: SystemExit when the worker is told to end, which requeues the task.
    """
    try:
        version, is_new, usage = distil(
            Study.objects.get(pk=study_id),
            endpoint=Endpoint.objects.get(pk=endpoint_id),
            pairs=pairs,
            seed=seed,
            params=params,
            max_cost=None if max_cost is None else Decimal(max_cost),
            by=by,
            since=since,
            stop=WORKER_STOP,
            make_client=make_client,
        )
    except Interrupted:
        raise SystemExit(0) from None
    except JudgingError as error:
        return {"error": str(error)}
    return {"version": str(version), "new": is_new, "calls": usage.calls, "cached": usage.cached}
