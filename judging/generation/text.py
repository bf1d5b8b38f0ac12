"""Sampling in lines of text: the result of a session and of all of them."""

from judging.core.pricing import money
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
