"""Estimates of what sampling texts would take."""

from dataclasses import dataclass
from itertools import islice
from typing import Any

from judging.calls.budget import LENGTH_FIELDS
from judging.calls.dry_run import (
    FALLBACK_ANSWER_TOKENS,
    CallsEstimate,
    DryPool,
    LearnedSizes,
    estimates_by_kind,
    sums_of,
)
from judging.core.pricing import cost_of
from judging.generation.instances import CHUNK, InstanceCounts, InstanceSelection, count_instances, open_instances
from judging.generation.store import KIND, SampleRequests, case_of
from judging.models import GenerationRun

ON_A_PAGE = 1000  # instances in a page's dry run


@dataclass(frozen=True, kw_only=True)
class GenerationEstimate(CallsEstimate):
    """The expected usage of a session without retries.

    instances     : counts of the selected ones
    looked_at     : instances in the dry run, from which the figures are scaled to all open ones
    answer_tokens : of one text; `learned`: from stored texts, not a guess
    """

    instances: InstanceCounts
    samples: int
    looked_at: int
    answer_tokens: int
    learned: bool

    @property
    def is_exact(self) -> bool:
        """Tell whether the dry run covered all instances, so that calls are counted."""
        return self.looked_at == self.instances.open

    def as_dict(self) -> dict[str, Any]:
        """Return everything for JSON."""
        return {**super().as_dict(), "exact": self.is_exact}


def estimate_generating(
    run: GenerationRun, selection: InstanceSelection, *, limit: int | None = None
) -> GenerationEstimate:
    """Estimate a run, which need not be stored, by a dry run.

    limit : instances in the dry run; `None`: all
    """
    counts = count_instances(run.study, run.name, selection)
    pool, looked_at = DryPool(SampleRequests(run)), 0
    instances = islice(open_instances(run.study, run.name, selection), limit)
    while chunk := list(islice(instances, CHUNK)):
        looked_at += len(chunk)
        pool.dry_run(case_of(run, pk, source) for pk, _, source in chunk)
    scale = counts.open / looked_at if looked_at else 0.0
    answer, learned = answer_tokens(run)
    estimates = estimates_by_kind(pool.found.values(), LearnedSizes(answers={KIND: answer}), scale=scale)
    sums = sums_of(estimates)
    return GenerationEstimate(
        instances=counts,
        samples=run.samples,
        **sums,
        kinds=estimates,
        cost=cost_of(run.endpoint, sums["prompt_tokens"], sums["completion_tokens"]),
        currency=run.endpoint.currency,
        looked_at=looked_at,
        answer_tokens=answer,
        learned=learned,
    )


def answer_tokens(run: GenerationRun) -> tuple[int, bool]:
    """Return the expected tokens of a text, and whether they are learned from texts of this run or of its model."""
    runs = GenerationRun.objects.filter(base_url=run.base_url, model=run.model, calls__gt=0).exclude(
        completion_tokens=None
    )
    earlier = runs.filter(study=run.study, name=run.name).first() or runs.order_by("-pk").first()
    if earlier is not None and earlier.completion_tokens is not None:
        return max(1, round(earlier.completion_tokens / earlier.calls)), True
    limits = [run.params[name] for name in LENGTH_FIELDS if isinstance(run.params.get(name), int)]
    return min([FALLBACK_ANSWER_TOKENS, *limits]), False
