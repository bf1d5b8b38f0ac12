"""Sampling in lines of text: the result of a session and of all of them, an estimate."""

from decimal import Decimal

from judging.core.pricing import cost_line, money
from judging.generation.estimates import GenerationEstimate
from judging.generation.instances import InstanceCounts
from judging.generation.store import SamplingTotals
from judging.models import GenerationRun


def summary(run: GenerationRun, counts: InstanceCounts, totals: SamplingTotals) -> str:
    """Format the outcome as one line."""
    parts = [f"{totals.stored:,} instances got {run.samples} texts each"]
    if existing := counts.there + totals.there:
        parts.append(f"{existing:,} unchanged")
    if totals.left_out:
        parts.append(f"{len(totals.left_out):,} left out")
    if counts.without_source:
        parts.append(f"{counts.without_source:,} have no source")
    if totals.cut:
        parts.append(f"{totals.cut:,} texts ended at the length limit")
    cost = f", cost {money(totals.usage.cost, run.currency)}" if totals.calls else ""
    return f"{run.name}: {', '.join(parts)}; cached {totals.cached}, calls {totals.calls}{cost}"


def run_summary(run: GenerationRun, instances: int) -> str:
    """Say what a run has come to over all sessions."""
    cost = f", cost {money(run.cost, run.currency)}" if run.calls else ""
    return f"{instances:,} instances have its texts; calls {run.calls:,}{cost}"


def estimate_lines(estimate: GenerationEstimate, cap: Decimal | None) -> list[str]:
    """Format an estimate. One above the cap says so."""
    counts = estimate.instances
    lines = [
        f"instances: {counts.chosen:,} chosen, {counts.there:,} have such texts, {counts.without_source:,} have no "
        f"source; {counts.open:,} to sample",
        f"calls: {estimate.calls:,}; answers already there: {estimate.cached:,}",
    ]
    if not estimate.calls:
        return lines
    how = "as texts so far" if estimate.learned else "a guess"
    return [
        *lines,
        f"tokens: about {estimate.prompt_tokens:,} sent (by the number of characters) and {estimate.completion_tokens:,} "
        f"written ({estimate.answer_tokens:,} a text, {how})",
        cost_line(estimate.cost, estimate.currency, total=estimate.cost, cap=cap),
    ]
