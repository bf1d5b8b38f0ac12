"""Starting, stopping and resuming runs, and adding their cells."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import product
from typing import Any

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from annotation.core.database.bulk_sql import insert_rows
from annotation.core.errors import UnknownName
from annotation.core.reasons import NO_REASON
from annotation.models import Batch, HitPair, Pair, Study
from annotation.questions.questions import MAIN
from judging.calls.presentations import IDENTITY_FIELDS, identity_of, orders_for, task_for
from judging.calls.requests import setting_of
from judging.core.constants import FINAL_CAUSES, NO_ANSWER
from judging.core.errors import BadSettings, RunBusy
from judging.core.pricing import check_cap
from judging.jobs import leases
from judging.methods import find_method
from judging.models import Judge, JudgeRun, Judgment, ProviderBatch
from judging.runs.juries import seat_jury
from judging.runs.pair_filters import EVERY_PAIR, PairFilter, filter_of
from judging.runs.tasks import enqueue_run

# Defaults of a new cell, since bulk SQL doesn't apply the model's.
NEW_CELL_VALUES = {
    "status": Judgment.Status.PENDING.value,
    "rationale": "",
    "failure": "",
    "failure_code": "",
    "cause": "",
    "calls": 0,
    "cached": 0,
    "prompt_version": "",
    "parser_version": "",
}
CHUNK = 1000
NEW_CELL_FIELDS = ("run", "pair", "order", "repeat", "negated", "question", *NEW_CELL_VALUES)
ONLY_MAIN = (MAIN,)


@transaction.atomic
def start_run(
    *,
    study: Study,
    judge: Judge,
    batch: Batch | None = None,
    only: PairFilter = EVERY_PAIR,
    questions: Sequence[int] = ONLY_MAIN,
    in_flight: int | None = None,
    max_cost: Decimal | None = None,
    way: str | None = None,
    batch_size: int | None = None,
    tables_as: str = "",
) -> JudgeRun:
    """Return the run of a judge on a study or a batch, with an open cell for every presentation to be made.

    only      : a part of these pairs; each filter has a run of its own, and all share answers
    questions : those of the study that it answers, by number; each choice of questions has a run of its own
    batch_size : the most requests in a provider's batch
    tables_as : the variant under which comparison tables that it makes are published; empty: as before

    Starting again adds cells for new pairs and opens errors that are not final; nothing else is asked twice. Calls in
    flight, the cap on costs, the way and the size of batches keep their values unless given.
    Raises: BadSettings if there is nothing to judge, the judge can't judge it, or its cost can't be capped; UnknownName
    if the filter names something unknown.
    """
    answered = stored_questions(study, questions)
    check(study, judge, answered)
    if judge.is_jury:
        return seat_jury(study=study, jury=judge, questions=answered, is_part=batch is not None or bool(only.key))
    run = locked_run(study, judge, answered, batch=batch, only=only)
    run.in_flight = in_flight or run.in_flight
    run.max_cost = run.max_cost if max_cost is None else max_cost
    run.way = way or run.way
    run.batch_size = batch_size or run.batch_size
    if run.way == JudgeRun.Way.BATCH and judge.table_endpoint:
        raise BadSettings(f"judge {judge} asks two endpoints: a provider's batch goes to one; choose way calls")
    run.tables_as = tables_as or run.tables_as
    check_cap(run.max_cost, *run.judge.endpoints)
    add_cells(run)
    if not run.judgments.exists():
        raise BadSettings(f"{batch or study} has no {'such ' if only.key else ''}pairs to judge")
    if not leases.has_live_worker(run):  # otherwise its workers fill the new cells as well
        open_failed(run)
        run.status, run.message = JudgeRun.Status.QUEUED, NO_REASON
    run.save(update_fields=["status", "message", "in_flight", "max_cost", "way", "batch_size", "tables_as"])
    return run


@transaction.atomic
def queue_run(*, limit: int | None = None, **settings: Any) -> JudgeRun:
    """Start a run with these settings of `start_run`, and queue it for a worker. `limit`: cells to fill this time."""
    run = start_run(**settings)
    if run.status == JudgeRun.Status.QUEUED:
        transaction.on_commit(lambda: enqueue_run(run.pk, limit))
    return run


@transaction.atomic
def resume_run(*, run: JudgeRun) -> JudgeRun:
    """Queue a run that was paused or stopped by an error.

    Raises: RunBusy if it is queued, running, done or cancelled; BadSettings if its cost can't be capped.
    """
    run = lock_run(run)
    if run.status not in (JudgeRun.Status.PAUSED, JudgeRun.Status.FAILED):
        raise RunBusy(f"{run} can't be resumed: it is {run.get_status_display().lower()}")
    check_cap(run.max_cost, *run.judge.endpoints)
    open_failed(run)
    _set(run, JudgeRun.Status.QUEUED)
    transaction.on_commit(lambda: enqueue_run(run.pk))
    return run


def run_again(*, run: JudgeRun) -> JudgeRun:
    """Start a run again with the same settings, for new pairs and for errors that are not final."""
    only = filter_of(run.pair_filter)
    return queue_run(study=run.study, judge=run.judge, batch=run.batch, only=only, questions=run.questions)


@transaction.atomic
def pause_run(*, run: JudgeRun) -> JudgeRun:
    """Pause a run: its workers notice within seconds, and store the answers of their calls in flight.

    Raises: RunBusy if it is not active.
    """
    return _stop(run, JudgeRun.Status.PAUSED)


@transaction.atomic
def cancel_run(*, run: JudgeRun) -> JudgeRun:
    """Cancel a run: its results stay, and only starting it again resumes it.

    Raises: RunBusy if it has ended.
    """
    return _stop(run, JudgeRun.Status.CANCELLED, JudgeRun.Status.PAUSED, JudgeRun.Status.FAILED)


def _stop(run: JudgeRun, status: str, *also_from: str) -> JudgeRun:
    run = lock_run(run)
    if run.status not in (*leases.ACTIVE, *also_from):
        raise RunBusy(f"{run} can't be stopped: it is {run.get_status_display().lower()}")
    return _set(run, status)


def locked_run(
    study: Study,
    judge: Judge,
    questions: Sequence[int],
    *,
    batch: Batch | None = None,
    only: PairFilter = EVERY_PAIR,
    status: str = JudgeRun.Status.QUEUED,
) -> JudgeRun:
    """Return a judge's run on these pairs, locked: as it is, or a new one without cells in a status."""
    identity = {"study": study, "judge": judge, "batch": batch, "filter_key": only.key, "questions": list(questions)}
    run, _ = JudgeRun.objects.get_or_create(**identity, defaults={"pair_filter": only.stored, "status": status})
    return lock_run(run)


def lock_run(run: JudgeRun) -> JudgeRun:
    """Lock a run and return it as it is now, with what is related to it."""
    related = ("judge__endpoint", "judge__prompt_file", "study", "batch")
    return JudgeRun.objects.select_for_update(of=("self",)).select_related(*related).get(pk=run.pk)


def _set(run: JudgeRun, status: str) -> JudgeRun:
    run.status, run.message = status, NO_REASON
    run.finished_at = timezone.now() if status == JudgeRun.Status.CANCELLED else None
    run.save(update_fields=["status", "message", "finished_at"])
    return run


def stored_questions(study: Study, questions: Iterable[int]) -> list[int]:
    """Return a run's questions as they are stored: ascending, each once.

    Raises: BadSettings if there are none, or the study doesn't ask them.
    """
    numbers, questions_of_study = sorted(set(questions)), study.questions
    if not numbers:
        raise BadSettings("a run answers at least one question")
    if strange := [number for number in numbers if not 0 <= number < len(questions_of_study)]:
        raise BadSettings(
            f"study {study.slug} asks {len(questions_of_study)} questions, numbered from 0; it has no {strange[0]}"
        )
    return numbers


def check(study: Study, judge: Judge, questions: Iterable[int] = ONLY_MAIN) -> None:
    """Refuse a judge that can't answer these questions about the pairs of a study, before a worker finds out.

    Raises: BadSettings
    """
    method, setting, variant = find_method(judge.method), setting_of(judge), judge.table_variant
    if variant and not study.tables.filter(variant=variant).exists():
        raise BadSettings(f"{study} has no tables of variant {variant} for judge {judge}: create them with make_tables")
    for number in questions:
        method.check(task_for(judge, study.task_kind, number), setting)


def open_failed(run: JudgeRun, *, final: bool = False) -> int:
    """Open the cells that ended in an error, which keep the answers they paid for. Return how many.

    final : also those whose request was rejected for its length, or by a content filter, which are refused
    """
    cells = run.judgments.all()
    failed = cells.filter(status=Judgment.Status.ERROR)
    failed = failed if final else failed.exclude(cause__in=FINAL_CAUSES)
    opened = {
        "status": Judgment.Status.PENDING,
        "failure": "",
        "failure_code": "",
        "cause": NO_ANSWER,
        "judged_at": None,
    }
    count = failed.update(**opened, calls=F("calls") - F("cached"), cached=0)
    if final:
        count += cells.filter(status=Judgment.Status.REFUSED, cause__in=FINAL_CAUSES).update(**opened)
    run.provider_batches.filter(status=ProviderBatch.Status.COLLECTED).update(
        keys=[]
    )  # resets the attempts counted in batches
    return count


def pairs_of(study: Study, batch: Batch | None, only: PairFilter = EVERY_PAIR) -> QuerySet[Pair]:
    """Return the pairs of a run: those on the batch's HITs, or on HITs of the study's rating batches, or else all.

    A filter with `off_hits` has all pairs where no batch is named.

    Raises: as `PairFilter.within`
    """
    pairs, batches = Pair.objects.filter(matchup__instance__study=study), study.batches.for_rating()
    if batch is not None:
        pairs = pairs.filter(pk__in=HitPair.objects.filter(hit__batch=batch).values("pair_id"))
    elif not only.off_hits and batches.exists():
        pairs = pairs.filter(pk__in=HitPair.objects.filter(hit__batch__in=batches.order_by()).values("pair_id"))
    return only.within(pairs, study)


def add_cells(run: JudgeRun, pairs_to_add: QuerySet[Pair] | None = None) -> None:
    """Add a run's missing cells (orders × repeats × questions, plain and negated) on its pairs, or on `pairs_to_add`.

    All questions on a pair have the same order of the texts, as people see them.
    """
    pairs_to_add = pairs_of(run.study, run.batch, filter_of(run.pair_filter)) if pairs_to_add is None else pairs_to_add
    pairs = pairs_to_add.exclude(pk__in=run.judgments.order_by().values("pair_id"))
    ids = list(pairs.order_by("pk").values_list("pk", flat=True))
    cells = repeats_and_questions(run.judge, run.questions)
    for start in range(0, len(ids), CHUNK):
        chunk = Pair.objects.filter(pk__in=ids[start : start + CHUNK]).order_by("pk")
        rows = (
            (run.pk, pk, order, *cell, *NEW_CELL_VALUES.values())
            for pk, *fields in chunk.values_list("pk", *IDENTITY_FIELDS)
            for order, cell in product(orders_for(run.judge, identity_of(*fields)), cells)
        )
        insert_rows(Judgment, NEW_CELL_FIELDS, rows)


def repeats_and_questions(judge: Judge, questions: Sequence[int]) -> list[tuple[int, bool, int]]:
    """List (repeat, negated, question) for the cells of each pair and order of a run."""
    return list(product(range(judge.repeats), [False, True] if judge.negated else [False], questions))


def find_batch(study: Study, name: str) -> Batch:
    """Return a batch of a study by its name.

    Raises: UnknownName listing those that exist.
    """
    batch = study.batches.filter(name=name).first()
    if batch is None:
        names = ", ".join(study.batches.values_list("name", flat=True)) or "none yet"
        raise UnknownName(f"study {study.slug} has no batch {name}; it has: {names}", "batch")
    return batch
