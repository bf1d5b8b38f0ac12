"""Which open cells are whose, and loading them with everything that asking about them takes."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from django.db import connection, transaction
from django.db.models import QuerySet

from judging.models import Judge, JudgeRun, Judgment, RunWorker
from judging.services.cases import Cell, Spent
from judging.services.presentations import IDENTITY_FIELDS, SHOWN_FIELDS, present

OWN = ("pk", "order", "repeat", "negated", "prompt_tokens", "completion_tokens", "cost")
FIELDS = (*OWN, *(f"pair__{name}" for name in (*IDENTITY_FIELDS, *SHOWN_FIELDS)))
SHOWN_FROM = len(OWN) + len(IDENTITY_FIELDS)


def free_cells(run: JudgeRun) -> QuerySet[Judgment]:
    """Return the open cells that nobody works on."""
    return run.judgments.filter(status=Judgment.Status.PENDING, worker=None)


@transaction.atomic
def claim(run: JudgeRun, worker: RunWorker, *, limit: int) -> list[int]:
    """Take the next free cells for a worker; what another one is taking just now is passed over."""
    free = free_cells(run).order_by("pk")
    if connection.features.has_select_for_update_skip_locked:
        free = free.select_for_update(skip_locked=True)
    taken = list(free.values_list("pk", flat=True)[:limit])
    if taken:
        Judgment.objects.filter(pk__in=taken).update(worker=worker)
    return taken


def load(judge: Judge, ids: Sequence[int]) -> list[Cell]:
    """Load cells in the order of their primary keys."""
    rows = list(Judgment.objects.filter(pk__in=ids).order_by("pk").values_list(*FIELDS))
    paid = paid_for(row[0] for row in rows if row[4:7] != (None, None, None))
    cells = []
    for row in rows:
        pk, order, repeat, negated, *spent = row[: len(OWN)]
        shown = present(
            judge, row[len(OWN) : SHOWN_FROM], row[SHOWN_FROM:], order=order, repeat=repeat, negated=negated
        )
        held = paid.get(pk)
        cells.append(Cell(pk, order, repeat, shown, Spent(*spent) if held else Spent(), held or frozenset()))
    return cells


def paid_for(ids: Iterable[int]) -> dict[int, frozenset[int]]:
    """Return the answers that open cells have paid for already, by cell."""
    held: dict[int, set[int]] = defaultdict(set)
    links = Judgment.completions.through.objects.filter(judgment__in=list(ids))
    for judgment, completion in links.values_list("judgment", "completion"):
        held[judgment].add(completion)
    return {judgment: frozenset(completions) for judgment, completions in held.items()}
