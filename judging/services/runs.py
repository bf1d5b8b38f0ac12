"""Runs: which pairs a judge is to rate, the cells for them, and handing them to a worker."""

from collections.abc import Iterator
from itertools import islice

from django.db import transaction
from django.db.models import QuerySet

from annotation.errors import UnknownName
from annotation.models import Batch, HitPair, Pair, Study
from judging.errors import BadSettings
from judging.judges import PromptedMethod, find_method
from judging.models import Judge, JudgeRun, Judgment
from judging.services import leases
from judging.services.presentations import IDENTITY_FIELDS, identity_of, orders_for
from judging.tasks import execute_run

CHUNK = 1000
MAX_IN_FLIGHT = 1024


@transaction.atomic
def start_run(*, study: Study, judge: Judge, batch: Batch | None = None, in_flight: int | None = None) -> JudgeRun:
    """Return the run of a judge on a study or a batch, with an open cell for every presentation still to be made.

    Starting again adds cells for new pairs and opens those that ended in an error; nothing else is asked twice.
    Raises: BadSettings when there is nothing to judge or the judge can't judge it.
    """
    if in_flight is not None and not 1 <= in_flight <= MAX_IN_FLIGHT:
        raise BadSettings(f"calls in flight must be between 1 and {MAX_IN_FLIGHT}, got {in_flight}")
    method = find_method(judge.method)
    if isinstance(method, PromptedMethod):
        method.prompt(study.task_kind)  # a missing prompt is said now, not by the worker
    run, _ = JudgeRun.objects.get_or_create(study=study, judge=judge, batch=batch)
    run = JudgeRun.objects.select_for_update(of=("self",)).select_related("judge", "study", "batch").get(pk=run.pk)
    add_cells(run)
    if not run.judgments.exists():
        raise BadSettings(f"{batch or study} has no pairs to judge")
    if leases.is_alive(run):
        return run  # whoever works on it takes up the new cells as well
    run.judgments.filter(status=Judgment.Status.ERROR).update(
        status=Judgment.Status.PENDING, failure="", calls=0, cached=0
    )
    run.status = JudgeRun.Status.QUEUED
    run.message = ""
    run.in_flight = in_flight or run.in_flight
    run.save(update_fields=["status", "message", "in_flight"])
    return run


@transaction.atomic
def queue_run(*, study: Study, judge: Judge, batch: Batch | None = None, in_flight: int | None = None) -> JudgeRun:
    """Start a run and leave the work to a worker."""
    run = start_run(study=study, judge=judge, batch=batch, in_flight=in_flight)
    if run.status == JudgeRun.Status.QUEUED:
        transaction.on_commit(lambda: execute_run.enqueue(run.pk))
    return run


def pairs_of(study: Study, batch: Batch | None) -> QuerySet[Pair]:
    """Return the pairs that a run is about: those on the batch's HITs, or on the study's, or all if it has no batch.

    Qualifications and hidden checks are for knowing the raters: of the study's batches only those for rating count.
    """
    pairs = Pair.objects.filter(matchup__instance__study=study)
    if batch is not None:
        return pairs.filter(pk__in=HitPair.objects.filter(hit__batch=batch).values("pair_id"))
    batches = study.batches.for_rating()
    if batches.exists():
        return pairs.filter(pk__in=HitPair.objects.filter(hit__batch__in=batches.order_by()).values("pair_id"))
    return pairs


def add_cells(run: JudgeRun) -> None:
    """Add the cells that a run lacks."""
    pairs = pairs_of(run.study, run.batch).exclude(pk__in=run.judgments.values("pair_id")).order_by("pk")
    cells = missing_cells(run, pairs)
    while chunk := list(islice(cells, CHUNK)):
        Judgment.objects.bulk_create(chunk)


def missing_cells(run: JudgeRun, pairs: QuerySet[Pair]) -> Iterator[Judgment]:
    """Yield a cell for each presentation of the given pairs."""
    for pk, *fields in list(pairs.values_list("pk", *IDENTITY_FIELDS)):
        for order in orders_for(run.judge, identity_of(*fields)):
            yield Judgment(run=run, pair_id=pk, order=order)


def find_batch(study: Study, name: str) -> Batch:
    """Return a batch of a study by its name.

    Raises: UnknownName listing those that exist.
    """
    batch = study.batches.filter(name=name).first()
    if batch is None:
        known = ", ".join(study.batches.values_list("name", flat=True)) or "none yet"
        raise UnknownName(f"study {study.slug} has no batch {name}; it has: {known}")
    return batch
