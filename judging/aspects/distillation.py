"""Distilling the aspects of a study's texts at an endpoint, and storing them as a version."""

from collections.abc import Mapping
from typing import Any

from annotation.core.tasks.stopping import StopFlag
from annotation.jobs.work import held
from annotation.models import Study
from judging.aspects.aspect_sets import DISTILLED, PAIRS, procedure_of, sample_of, store_distilled
from judging.calls.adhoc import ProcedureUsage, run_procedure
from judging.calls.requests import AdhocRequests
from judging.jobs.progress import OnProgress, ignore_progress, noted_by
from judging.methods.sc2.distilling import prompt_versions
from judging.methods.task_files import task_of
from judging.models import AspectSet, Distillation, Endpoint

Distilled = tuple[AspectSet, bool, ProcedureUsage]


def work_on(job: Distillation, *, stop: StopFlag, on_progress: OnProgress = ignore_progress) -> Distilled:
    """Distil the aspects of a study as its job says, as `distil`. Resuming repeats no answered call.

    Raises: as `distil`; JobBusy while another process works on it
    """
    same = ("endpoint", "pairs", "seed", "params", "in_flight", "max_cost", "by")
    with held(job, stop) as hold:
        version, is_new, usage = distil(
            job.study,
            **{name: getattr(job, name) for name in same},
            since=job.created_at,  # what earlier attempts cost counts towards the cap
            stop=hold.stop,
            on_progress=noted_by(hold, on_progress),
        )
        job.found = {"version": str(version), "new": is_new, "calls": usage.calls, "cached": usage.cached}
        job.save(update_fields=["found"])
    return version, is_new, usage


def distil(
    study: Study,
    *,
    endpoint: Endpoint,
    pairs: int = PAIRS,
    seed: int = 0,
    params: Mapping[str, Any] | None = None,
    by: str = "",
    **running: Any,
) -> Distilled:
    """Distil the aspects of a sample of a study's pairs and return the version, whether it is new, and the usage.

    params  : sent with each call
    running : further arguments of `run_procedure`
    Repeating it makes no call, and returns the same version as long as it is the latest.
    Raises: as `run_procedure`; BadSettings if the study has no pairs.
    """
    sample = sample_of(study, pairs=pairs, seed=seed)
    requests = AdhocRequests(endpoint, params=params)
    outcome = run_procedure(procedure_of(study, sample), endpoint=endpoint, requests=requests, **running)
    result, usage = outcome.result, outcome.usage
    counts = ("texts", "lost", "found", "merges", "unmerged", "filled")
    origin = {
        "how": DISTILLED,
        "study": study.slug,
        "endpoint": endpoint.name,
        "model": endpoint.model,
        "params": dict(params or {}),
        "prompts": prompt_versions(task_of(study.task_kind)),
        "pairs": sample.pairs,
        "pairs_hash": sample.identities,
        "seed": seed,
        "empty": sample.empty,
        **{name: getattr(result, name) for name in counts},
        "calls": usage.calls,
        "cached": usage.cached,
        "failed": usage.failed,
        "prompt_tokens": usage.total.prompt_tokens,
        "completion_tokens": usage.total.completion_tokens,
        "cost": None if usage.total.cost is None else str(usage.total.cost),
        "currency": endpoint.currency,
        "by": by,
    }
    version, is_new = store_distilled(study, aspects=result.aspects, made_by=origin)
    return version, is_new, usage
