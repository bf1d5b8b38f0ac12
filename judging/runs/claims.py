"""Claiming open cells for a worker, and loading them with their presentations."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from django.db import connection, transaction
from django.db.models import QuerySet

from annotation.models import Study
from annotation.questions.questions import Question
from judging.calls.cases import Cell, Usage
from judging.calls.made_tables import tables_shown
from judging.calls.presentations import PAIR_FIELDS, present
from judging.jobs import leases
from judging.models import JudgeRun, Judgment, RunWorker

OWN = (
    *("pk", "pair", "question", "order", "repeat", "negated"),
    *("calls", "cached", "prompt_tokens", "completion_tokens", "cost"),
)
FIELDS = (*OWN, *(f"pair__{name}" for name in PAIR_FIELDS))


def free_cells(run: JudgeRun) -> QuerySet[Judgment]:
    """Return the open cells that no worker has claimed."""
    return run.judgments.filter(status=Judgment.Status.PENDING, worker=None)


@transaction.atomic
def claim(run: JudgeRun, worker: RunWorker, *, limit: int) -> list[int]:
    """Claim the next free cells for a worker, skipping those that another worker has locked, or none for one that was removed.

    The worker's row is locked, so that its removal waits for the claim, and releases these cells too.
    """
    if run.judge.params.get("together"):
        JudgeRun.objects.select_for_update().get(pk=run.pk)  # in turn: the questions of one call go to one worker
    if not leases.lock_worker(worker.pk):
        return []
    ids = next_free(run, limit)
    if ids:
        Judgment.objects.filter(pk__in=ids).update(worker=worker)
    return ids


def next_free(run: JudgeRun, limit: int) -> list[int]:
    """Return and lock the next free cells: those that failed before come last."""
    free = free_cells(run).order_by("pk")
    if connection.features.has_select_for_update_skip_locked:
        free = free.select_for_update(skip_locked=True)
    ids = list(free.filter(cause="").values_list("pk", flat=True)[:limit])
    return ids + list(free.exclude(cause="").values_list("pk", flat=True)[: limit - len(ids)])


def load(run: JudgeRun, ids: Sequence[int]) -> list[Cell]:
    """Load cells of a run in the order of these primary keys."""
    questions, order_of = _questions(run), {pk: position for position, pk in enumerate(ids)}
    rows = list(Judgment.objects.filter(pk__in=ids).order_by().values_list(*FIELDS))
    rows.sort(key=lambda row: order_of[row[0]])
    paid = paid_for(row[0] for row in rows if row[8:11] != (None, None, None))
    tables = tables_shown(run.judge, (row[1] for row in rows))
    cells = []
    for row in rows:
        pk, pair, question, order, repeat, negated, calls, cached, *spent = row[: len(OWN)]
        presentation = present(
            run.judge,
            row[len(OWN) :],
            question=questions[question],
            order=order,
            repeat=repeat,
            negated=negated,
            table=tables.get(pair),
            together=[questions[number] for number in run.questions],
        )
        drawn = paid.get(pk, frozenset())
        fetched = (
            calls - cached if calls else len(drawn)
        )  # calls is 0 for cells that an earlier version left unfinished
        cells.append(Cell(pk, order, repeat, presentation, Usage(*spent) if drawn else Usage(), fetched, drawn, cached))
    return cells


def _questions(run: JudgeRun) -> tuple[Question, ...]:
    """Read the study's questions as they are now: their words may have changed since the run began."""
    fields = ("question", "question_key", "question_description", "ties_allowed", "strength", "tie_kinds", "criteria")
    return Study.objects.only(*fields).get(pk=run.study_id).questions


def paid_for(ids: Iterable[int]) -> dict[int, frozenset[int]]:
    """Return the answers that open cells have already paid for, by cell."""
    draws: dict[int, set[int]] = defaultdict(set)
    links = Judgment.completions.through.objects.filter(judgment__in=list(ids))
    for judgment, completion in links.values_list("judgment", "completion"):
        draws[judgment].add(completion)
    return {judgment: frozenset(completions) for judgment, completions in draws.items()}
