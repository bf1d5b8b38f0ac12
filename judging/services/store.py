"""Writing results in groups: whatever is waiting when one write ends goes into the next transaction.

So many calls in flight cost few transactions, and yet nobody waits for a group to fill up.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from asgiref.sync import sync_to_async
from django.db import transaction

from judging.models import Completion, Judgment

GROUP = 200
JUDGMENT_FIELDS = [
    *("status", "verdict", "rationale", "failure", "calls", "cached"),
    *("prompt_version", "parser_version", "judged_at"),
]


@dataclass(frozen=True)
class Filled:
    """A judgment with its result, and the completions behind it."""

    judgment: Judgment
    completions: Sequence[Completion] = ()


class Store:
    """Saves completions and judgments; `save` returns when its item is in the database."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Completion | Filled, asyncio.Future[Completion | None]]] = []
        self._writer: asyncio.Task[None] | None = None

    async def save_completion(self, completion: Completion) -> Completion:
        """Store a completion; returns the one that is kept, which is the older one when the key is taken."""
        kept = await self._save(completion)
        if kept is None:
            raise TypeError("a completion was saved, but none came back")
        return kept

    async def save_judgment(self, filled: Filled) -> None:
        """Store a judgment's result."""
        await self._save(filled)

    async def drain(self) -> None:
        """Wait until everything that was handed in is written, also for those who no longer wait for it."""
        if self._writer is not None:
            await self._writer

    async def _save(self, item: Completion | Filled) -> Completion | None:
        future: asyncio.Future[Completion | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, future))
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write_all())
        return await future

    async def _write_all(self) -> None:
        while self._waiting:
            group, self._waiting = self._waiting[:GROUP], self._waiting[GROUP:]
            try:
                kept = await sync_to_async(write)([item for item, _ in group])
            except Exception as error:
                for _, future in group:
                    if not future.done():
                        future.set_exception(error)
                continue
            for (_, future), row in zip(group, kept, strict=True):
                if not future.done():  # whoever waited may have been stopped meanwhile
                    future.set_result(row)


@transaction.atomic
def write(items: Sequence[Completion | Filled]) -> list[Completion | None]:
    """Store a group; returns the kept completion for each completion, `None` for each judgment."""
    new = [item for item in items if isinstance(item, Completion)]
    Completion.objects.bulk_create([row for row in new if row.cache_key is None])
    keyed = [row for row in new if row.cache_key is not None]
    Completion.objects.bulk_create(keyed, ignore_conflicts=True)
    keys = [row.cache_key for row in keyed]
    kept = {row.cache_key: row for row in Completion.objects.filter(cache_key__in=keys)} if keys else {}
    write_judgments([item for item in items if isinstance(item, Filled)])
    return [kept.get(item.cache_key, item) if isinstance(item, Completion) else None for item in items]


def write_judgments(filled: Sequence[Filled]) -> None:
    """Store judgments' results and link them to their completions."""
    if not filled:
        return
    # An upsert of rows that are all there: `bulk_update` would spend more time on building its statement.
    rows = [item.judgment for item in filled]
    Judgment.objects.bulk_create(rows, update_conflicts=True, unique_fields=["id"], update_fields=JUDGMENT_FIELDS)
    through = Judgment.completions.through
    links = [
        through(judgment_id=item.judgment.pk, completion_id=completion.pk)
        for item in filled
        for completion in item.completions
    ]
    through.objects.bulk_create(links, ignore_conflicts=True)
