"""Asking for texts, reading them, and storing all of an instance together, with their usage."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from django.db import transaction

from annotation.core.files.lines import text_problem
from annotation.core.reasons import NO_REASON, Reason, reason
from annotation.importing.content import store_generations
from judging.calls.cases import AnyProcedure, Case, Cell, Usage
from judging.calls.requests import Requests, read_reply
from judging.core.errors import RunStopped, UnparsedVerdict
from judging.generation.prompt_templates import Wording
from judging.methods import Call, Reply
from judging.methods.parsing.response_parts import split_response
from judging.models import GenerationRun

KIND = "generation"
NAMED = 1000  # instances left out that are stored with the reason
SHOWN = 200  # characters of an answer that a reason quotes
# Narrower than a judge's refusals, since "I can't stand it" may be a system's text: it must decline a typical request.
DECLINES = (
    r"(?i)\A\W*(?:(?:(?:i['’]?m|i am)\s+(?:very\s+|so\s+)?sorry|sorry|i apologi[sz]e|unfortunately|as an ai\b[^.!?\n]{0,60})"
    r"[\W]*(?:but\W+)?)?"
    r"i(?:['’]m (?:unable|not able) to| am (?:unable|not able) to| must decline to| (?:can['’]?t|cannot|can not|won['’]?t|will not))"
    r"\s+(?:help|assist|comply|fulfil+|answer|respond|provide|generate|create|write|produce|summari[sz]e|translate|simplify"
    r"|continue|engage|discuss|complete|do (?:that|this))\b"
)


@dataclass(frozen=True)
class SampledText:
    """One sampled text. `cut`: it ended at the length limit."""

    text: str
    cut: bool


def read_text(reply: Reply, *, keep_refusals: bool = False) -> SampledText:
    """Read a reply as a text, stripped, without thoughts at its start and tokens at its end.

    Raises: UnparsedVerdict with the reason if it is none.
    """
    text = split_response(reply.text, leading_only=True).answer.strip()
    if not text:
        why = reason("thoughts_alone" if reply.text.strip() else "answer_empty")
        raise UnparsedVerdict(reason("cut_off", why=why) if reply.is_cut_off else why)
    if not keep_refusals and re.match(DECLINES, text):
        raise UnparsedVerdict(reason("refused", why=text[:SHOWN]))
    if problem := text_problem(text, "a text that"):
        raise UnparsedVerdict(problem)
    return SampledText(text, reply.is_cut_off)


class SampleRequests(Requests):
    """Makes the requests of a run. Each draw has its own seed and cache key."""

    def __init__(self, run: GenerationRun) -> None:
        self.base_url = run.base_url
        self.model = run.model
        self.seed = run.seed
        self.defaults = {}
        self.params = dict(run.params)


def case_of(run: GenerationRun, pk: int, source: str) -> Case:
    """Return the procedure for one instance: a call for each sample, all in one round."""
    messages = [{"role": "user", "content": Wording(run.template_version, run.template).fill(source)}]
    if run.system_prompt:
        messages.insert(0, {"role": "system", "content": run.system_prompt})
    calls = [replace(_call(run, messages), draw=draw) for draw in range(run.samples)]

    def at_once() -> AnyProcedure:
        return (yield calls)

    return Case(Cell(pk), at_once())


def _call(run: GenerationRun, messages: Sequence[Mapping[str, str]] = ()) -> Call:
    read = partial(read_text, keep_refusals=run.keep_refusals)
    return Call(KIND, messages, read, optional=True, attempts=1)


def is_text(run: GenerationRun, reply: Reply) -> bool:
    """Tell whether a reply is a text that can be stored."""
    try:
        read_reply(_call(run), reply)
    except UnparsedVerdict:
        return False
    return True


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
    left_out: dict[str, Reason] = field(default_factory=dict)
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
    """An instance whose calls have all ended. `why`: the reason why it can't be stored, `NO_REASON` if it can."""

    pk: int
    texts: Sequence[SampledText]
    why: Reason = NO_REASON


def sampled(case: Case) -> SampledInstance:
    """Return what came of an instance's calls."""
    texts = [state.value for state in case.call_states if state.value is not None]
    lost = [state for state in case.call_states if state.value is None]
    if not lost:
        return SampledInstance(case.cell.pk, texts)
    why = lost[0].unread
    if lost[0].lost:
        why = reason("rejected", why=lost[0].lost)
    elif lost[0].declined:
        why = reason("refused", why=lost[0].declined)
    return SampledInstance(
        case.cell.pk, texts, reason("texts_lost", why=why, number=len(lost), count=len(case.call_states))
    )


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
        row.left_out += [{"instance": item, "why": why.stored()} for item, why in list(lost.items())[:free_places]]
        row.left_out_count += len(lost)
        row.save()
    totals.stored += len(stored)
    totals.texts += len(stored) * run.samples
    totals.there += len(complete) - len(stored)
    totals.cut += cut
    totals.left_out |= lost
