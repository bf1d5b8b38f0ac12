"""Distilling the aspects of a study's texts at an endpoint: the calls, and the version that comes of them."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from annotation.models import Study
from judging.errors import JudgingError
from judging.judges.sc2.distilling import Distilled, prompt_versions
from judging.judges.tasks import task_of
from judging.models import AspectSet, Endpoint
from judging.services.aspect_sets import DISTILLED, PAIRS, Sample, keep_distilled, procedure_of, sample_of
from judging.services.conversations import IN_FLIGHT, Interrupted, Spend, hold
from judging.services.execution import MakeClient, patient_client
from judging.services.progress import OnProgress, quiet
from judging.services.stopping import WORKER_STOP, StopFlag
from judging.services.talks import PlainRequests


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
    on_progress: OnProgress = quiet,
    make_client: MakeClient = patient_client,
) -> tuple[AspectSet, bool, Spend]:
    """Distil the aspects of a sample of a study's pairs; return the version, whether it is new, and what it took.

    params : sent with each call
    The same again asks nothing, and gives the version that is there as long as it is the latest one.
    Raises: as `conversations.hold`; BadSettings if there is nothing to draw from.
    """
    sample = sample_of(study, pairs=pairs, seed=seed)
    held = hold(
        procedure_of(study, sample),
        endpoint=endpoint,
        requests=PlainRequests(endpoint, params=params),
        in_flight=in_flight,
        max_cost=max_cost,
        since=since,
        stop=stop,
        on_progress=on_progress,
        make_client=make_client,
    )
    origin = {
        **_asked(study, endpoint, sample, seed, params or {}),
        **_found(held.result),
        **_took(held.spend, endpoint),
        "by": by,
    }
    version, is_new = keep_distilled(study, aspects=held.result.aspects, made_by=origin)
    return version, is_new, held.spend


def _asked(study: Study, endpoint: Endpoint, sample: Sample, seed: int, params: Mapping[str, Any]) -> dict[str, Any]:
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


def _took(spend: Spend, endpoint: Endpoint) -> dict[str, Any]:
    return {
        "calls": spend.calls,
        "cached": spend.cached,
        "failed": spend.failed,
        "prompt_tokens": spend.spent.prompt_tokens,
        "completion_tokens": spend.spent.completion_tokens,
        "cost": None if spend.spent.cost is None else str(spend.spent.cost),
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
    make_client: MakeClient = patient_client,
) -> dict[str, Any]:
    """Distil in a worker; return what its task keeps.

    since : when it was asked for: what an attempt before this one has paid is taken from the same cap
    Raises: SystemExit when the worker is told to end, which hands the task back to the queue.
    """
    try:
        version, is_new, spend = distil(
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
    return {"version": str(version), "new": is_new, "calls": spend.calls, "cached": spend.cached}
