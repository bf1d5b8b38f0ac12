"""Storing sampled texts: those of an instance together, and with them what they took."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.utils import timezone

from annotation.services.generations import store_generations
from judging.errors import RunStopped, UnparsedVerdict
from judging.judges import Reply
from judging.models import GenerationRun
from judging.services.cases import Ask, Spent, added
from judging.services.generating_answers import SHOWN, Drawn
from judging.services.reading import marked_refusal, read_reply

NAMED = 1000  # instances left out whose reasons are kept


@dataclass
class Tally:
    """What came of a session.

    stored, texts : instances that got their texts, and these; `cut`: texts that ended at the limit of their length
    there         : instances that another process gave texts meanwhile
    left_out      : instances without all of their texts, and why
    calls, cached : answers that were paid for, and those that were there before; `failed`: calls that came to nothing
    """

    stored: int = 0
    texts: int = 0
    cut: int = 0
    there: int = 0
    left_out: dict[str, str] = field(default_factory=dict)
    calls: int = 0
    cached: int = 0
    failed: int = 0
    spent: Spent = field(default_factory=Spent)


@dataclass(slots=True)
class Draw(Ask):
    """A call for one text; `why`: what kept it from being one."""

    why: str = ""


@dataclass
class Open:
    """An instance in the window."""

    pk: int
    instance_id: str
    draws: list[Draw]

    @property
    def done(self) -> bool:
        """Tell whether all its calls have ended."""
        return all(draw.done for draw in self.draws)

    @property
    def texts(self) -> list[Drawn]:
        """The texts that there are."""
        return [draw.value for draw in self.draws if draw.value is not None]

    @property
    def why(self) -> str:
        """Say what keeps it from being stored; empty when nothing does."""
        lost = [draw.why for draw in self.draws if draw.value is None]
        return f"{lost[0]} ({len(lost)} of {len(self.draws)})" if lost else ""


def why_no_text(ask: Ask, reply: Reply) -> str:
    """Say why an answer is no text."""
    if declined := marked_refusal(reply):
        return f"refused: {declined[:SHOWN]}"
    try:
        read_reply(ask.call, reply)
    except UnparsedVerdict as error:
        return str(error)[: SHOWN + 20]
    return ""


def keep(
    run: GenerationRun,
    ended: Sequence[Open],
    tally: Tally,
    *,
    bill: tuple[int, int, Spent],
    at: datetime,
    longest: int | None = None,
) -> None:
    """Store the texts of instances that have all of theirs, and what was spent; name the others."""
    whole = {one.pk: one for one in ended if not one.why}
    lost = {one.instance_id: one.why for one in ended if one.why}
    with transaction.atomic():
        row = GenerationRun.objects.select_for_update().get(pk=run.pk)
        if row.settings_key != run.settings_key:
            raise RunStopped(f"the settings of system {run.name} were changed meanwhile; nothing more is stored")
        texts = {pk: [drawn.text for drawn in one.texts] for pk, one in whole.items()}
        stored = store_generations(study=run.study, system=run.name, texts=texts, name=run.name) if texts else set()
        cut = sum(drawn.cut for pk in stored for drawn in whole[pk].texts)
        _bill(row, *bill)
        row.longest = max(filter(None, (row.longest, longest)), default=None)
        row.counted_until, row.cut = at, row.cut + cut
        room = max(0, NAMED - len(row.left_out))
        row.left_out += [{"instance": one, "why": why} for one, why in list(lost.items())[:room]]
        row.left_out_count += len(lost)
        row.heartbeat_at = timezone.now()
        row.save()
    tally.stored += len(stored)
    tally.texts += len(stored) * run.samples
    tally.there += len(whole) - len(stored)
    tally.cut += cut
    tally.left_out |= lost


def _bill(row: GenerationRun, calls: int, cached: int, spent: Spent) -> None:
    row.calls, row.cached = row.calls + calls, row.cached + cached
    row.prompt_tokens = added(row.prompt_tokens, spent.prompt_tokens)
    row.completion_tokens = added(row.completion_tokens, spent.completion_tokens)
    row.cost = None if row.cost is None or spent.cost is None else row.cost + spent.cost


def copied(spent: Spent) -> Spent:
    """Return the same, to be kept while the other grows."""
    return Spent(spent.prompt_tokens, spent.completion_tokens, spent.cost)


def less(spent: Spent, before: Spent) -> Spent:
    """Return what was spent since; a part that is unknown stays unknown."""
    return Spent(
        None if spent.prompt_tokens is None else spent.prompt_tokens - (before.prompt_tokens or 0),
        None if spent.completion_tokens is None else spent.completion_tokens - (before.completion_tokens or 0),
        None if spent.cost is None else spent.cost - (before.cost or Decimal(0)),
    )
