"""Storing sampled texts, all of an instance together, with their usage."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from annotation.core.reasons import reason
from annotation.importing.content import store_generations
from judging.calls.cases import CallState, Case, Usage
from judging.core.errors import RunStopped
from judging.generation.sampled_text import SHOWN, SampledText
from judging.models import GenerationRun

NAMED = 1000  # instances left out that are stored with the reason


@dataclass
class SamplingTotals:
    """The totals of a session.

    stored, texts : instances that got their texts, and these texts; `cut`: texts that ended at the length limit
    there         : instances that got texts from another process meanwhile
    left_out      : instances that lack texts, with the reason
    calls, cached : answers paid for, and answers from the cache; `failed`: calls without an answer
    """

    stored: int = 0
    texts: int = 0
    cut: int = 0
    there: int = 0
    left_out: dict[str, str] = field(default_factory=dict)
    calls: int = 0
    cached: int = 0
    failed: int = 0
    usage: Usage = field(default_factory=Usage)

    def as_dict(self) -> dict[str, Any]:
        """Return them for JSON."""
        plain = ("stored", "texts", "cut", "calls", "cached", "failed")
        return {
            **{name: getattr(self, name) for name in plain},
            "left_out": len(self.left_out),
            "prompt_tokens": self.usage.prompt_tokens,
            "completion_tokens": self.usage.completion_tokens,
            "cost": None if self.usage.cost is None else float(self.usage.cost),
        }


@dataclass(frozen=True)
class SampledInstance:
    """An instance whose calls have all ended. `why`: the reason why it can't be stored, empty if it can."""

    pk: int
    texts: Sequence[SampledText]
    why: str


def sampled(case: Case) -> SampledInstance:
    """Return what came of an instance's calls."""
    texts = [state.value for state in case.call_states if state.value is not None]
    lost = [why_no_text(state) for state in case.call_states if state.value is None]
    why = f"{lost[0]} ({len(lost)} of {len(case.call_states)})" if lost else ""
    return SampledInstance(case.cell.pk, texts, why)


def why_no_text(state: CallState) -> str:
    """Say why a call gave no text."""
    if state.lost:
        return f"rejected: {state.lost.text[:SHOWN]}"
    return f"refused: {state.declined.text[:SHOWN]}" if state.declined else state.unread.text[: SHOWN + 20]


def store_texts(
    run: GenerationRun,
    ended: Mapping[str, SampledInstance],
    totals: SamplingTotals,
    *,
    bill: Callable[[GenerationRun], None],
    longest: int | None = None,
) -> None:
    """Store the texts of complete instances, given by id, and the usage. Record the others as left out."""
    complete = {item.pk: item for item in ended.values() if not item.why}
    lost = {instance_id: item.why for instance_id, item in ended.items() if item.why}
    with transaction.atomic():
        row = GenerationRun.objects.select_for_update().get(pk=run.pk)
        if row.settings_key != run.settings_key:
            raise RunStopped(reason("system_changed", system=run.name))
        texts = {pk: [drawn.text for drawn in item.texts] for pk, item in complete.items()}
        stored = store_generations(study=run.study, system=run.name, texts=texts, name=run.name) if texts else set()
        cut = sum(drawn.cut for pk in stored for drawn in complete[pk].texts)
        bill(row)
        row.longest = max(filter(None, (row.longest, longest)), default=None)
        row.cut += cut
        free_places = max(0, NAMED - len(row.left_out))
        row.left_out += [{"instance": item, "why": why} for item, why in list(lost.items())[:free_places]]
        row.left_out_count += len(lost)
        row.save()
    totals.stored += len(stored)
    totals.texts += len(stored) * run.samples
    totals.there += len(complete) - len(stored)
    totals.cut += cut
    totals.left_out |= lost
