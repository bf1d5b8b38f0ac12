"""The lease of each worker process on a run, renewed by heartbeats. Workers share the run's cells, calls and money."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import ROUND_DOWN, Decimal

from django.db import transaction
from django.db.models import Count, Min, Q, Sum
from django.utils import timezone

from annotation.core.reasons import NO_REASON, Reason, reason
from annotation.core.tasks.processes import is_gone, this_process
from annotation.core.version import VERSION
from annotation.models.jobs import LEASE, lease_expired
from judging.models import Endpoint, JudgeRun, Judgment, RunWorker

HEARTBEAT_SECONDS = 2.0
NOTHING = Decimal(0)
Limits = tuple[float | None, float | None]
ENDPOINTS = ("judge__endpoint", "judge__table_endpoint")
ACTIVE = (JudgeRun.Status.QUEUED, JudgeRun.Status.RUNNING)


@dataclass(frozen=True)
class HeartbeatReply:
    """The reply to a worker's heartbeat.

    status    : of the run; unless queued or running, the worker has to stop
    in_flight : calls that this worker may have in flight
    reserved  : money that it may spend beyond what is stored so far; `None` without a cap
    cap, spent : the run's cap, and its cost so far; `None` without a cap
    others    : number of other workers on the run
    alone     : no other worker has money reserved
    lost      : its lease had expired: other workers may hold its cells
    endpoint, tables : the judge's endpoints with their present prices
    limits    : requests and tokens that this worker may send in a minute; `None`: as many as it can
    """

    status: str
    in_flight: int = 0
    others: int = 0
    reserved: Decimal | None = None
    cap: Decimal | None = None
    spent: Decimal | None = None
    alone: bool = True
    lost: bool = False
    endpoint: Endpoint | None = None
    tables: Endpoint | None = None
    limits: Limits = (None, None)

    @property
    def should_continue(self) -> bool:
        """Tell whether the worker may continue."""
        return self.status in ACTIVE


def is_alive(worker: RunWorker) -> bool:
    """Tell whether a worker's heartbeat is fresh and its process not known to be gone."""
    if lease_expired(worker.heartbeat_at):
        return False
    return not is_gone(worker.executor)


def has_live_worker(run: JudgeRun) -> bool:
    """Tell whether the run is active and has a live worker."""
    return run.status in ACTIVE and any(is_alive(worker) for worker in run.workers.all())


def join(run_id: int) -> tuple[JudgeRun, RunWorker | None]:
    """Add a worker to a run, unless the run was stopped or is done, and remove its dead workers."""
    with transaction.atomic():
        run = JudgeRun.objects.select_for_update().get(pk=run_id)
        reap_dead_workers(run)
        worker = None
        if run.status in ACTIVE:
            run.status = JudgeRun.Status.RUNNING
            run.started_at = run.started_at or timezone.now()
            run.finished_at, run.message, run.software_version = None, NO_REASON, VERSION
            run.save(update_fields=["status", "started_at", "finished_at", "message", "software_version"])
            worker = RunWorker.objects.create(run=run, executor=this_process())
    related = JudgeRun.objects.select_related(*ENDPOINTS, "judge__prompt_file", "study", "batch")
    return related.get(pk=run_id), worker


def send_heartbeat(
    worker: RunWorker, *, in_flight: int = 0, outstanding: Decimal = NOTHING, needed: Decimal = NOTHING
) -> HeartbeatReply:
    """Renew a worker's lease and return its share of calls and money.

    in_flight, outstanding : calls in flight now, and what they may cost
    needed : what the next call may cost, which the last share did not allow

    A worker that lost its lease gets another primary key. No share is granted while another worker holds it: a new worker
    waits for the others' next heartbeats.
    """
    with transaction.atomic():
        run = JudgeRun.objects.select_for_update(of=("self",)).select_related(*ENDPOINTS).get(pk=worker.run_id)
        reap_dead_workers(run)
        workers = {worker.pk: worker for worker in run.workers.order_by("pk")}
        this_worker = workers.pop(worker.pk, None)
        lost = this_worker is None and run.status in ACTIVE
        if lost:  # as after a laptop was suspended; by a new key, since what it knew of its cells may be stale
            this_worker = RunWorker.objects.create(run=run, executor=worker.executor)
            worker.pk = this_worker.pk
        if this_worker is None:
            return HeartbeatReply(run.status)
        live_workers = list(workers.values())
        rank = sum(item.pk < this_worker.pk for item in live_workers)
        share = run.in_flight // (len(live_workers) + 1) + (rank < run.in_flight % (len(live_workers) + 1))
        this_worker.in_flight = max(0, min(share, run.in_flight - sum(item.in_flight for item in live_workers)))
        heartbeat = HeartbeatReply(
            run.status,
            this_worker.in_flight,
            len(live_workers),
            lost=lost,
            endpoint=run.judge.endpoint,
            tables=run.judge.table_endpoint,
        )
        # Calls in flight above the new share count until they have ended.
        this_worker.in_flight = max(this_worker.in_flight, in_flight)
        if run.max_cost is not None:
            heartbeat = with_reserved_money(heartbeat, run, this_worker, live_workers, outstanding, needed)
        this_worker.heartbeat_at = timezone.now()
        this_worker.save(update_fields=["heartbeat_at", "in_flight", "reserved"])
    return replace(heartbeat, limits=limits_of(heartbeat.endpoint, heartbeat.tables))


def limits_of(*endpoints: Endpoint | None, sharers: Callable[[Endpoint], int] | None = None) -> Limits:
    """Return a worker's share of the limits of the endpoints that it asks: of the tighter one, where they are two.

    sharers : counts those that share an endpoint (default: the workers of runs)
    """
    shares: tuple[list[float], list[float]] = ([], [])
    for endpoint in endpoints:
        if endpoint is None or (endpoint.requests_per_minute, endpoint.tokens_per_minute) == (None, None):
            continue
        workers = max(1, (sharers or count_workers)(endpoint))
        for limit, share in zip((endpoint.requests_per_minute, endpoint.tokens_per_minute), shares, strict=True):
            share += [] if limit is None else [limit / workers]
    return min(shares[0], default=None), min(shares[1], default=None)


def with_reserved_money(
    heartbeat: HeartbeatReply,
    run: JudgeRun,
    this_worker: RunWorker,
    workers: list[RunWorker],
    outstanding: Decimal,
    needed: Decimal,
) -> HeartbeatReply:
    """Reserve the rest of the money for a worker, or half of it if there are others.

    Where half is too little for its next call, it gets all or nothing: shares that suffice for no call would never be spent.
    """
    spent = run.judgments.aggregate(spent=Sum("cost"))["spent"] or Decimal(0)
    remaining = max(Decimal(0), (run.max_cost or Decimal(0)) - spent - sum(item.reserved for item in workers))
    granted = remaining / 2 if workers else remaining
    if granted < needed:
        granted = remaining if remaining >= needed else NOTHING
    this_worker.reserved = max(granted, outstanding).quantize(Decimal("0.00000001"), ROUND_DOWN)
    alone = not any(item.reserved for item in workers)
    return replace(heartbeat, reserved=granted, cap=run.max_cost, spent=spent, alone=alone)


def count_workers(endpoint: Endpoint) -> int:
    """Count the workers with a fresh heartbeat whose runs use an endpoint."""
    asking = Q(run__judge__endpoint=endpoint) | Q(run__judge__table_endpoint=endpoint)
    return RunWorker.objects.filter(asking, heartbeat_at__gte=timezone.now() - LEASE).count()


def reap_dead_workers(run: JudgeRun) -> None:
    """Remove dead workers and release their cells."""
    for worker in run.workers.all():
        if not is_alive(worker):
            remove_worker(worker)


def lock_worker(pk: int) -> bool:
    """Lock a worker's row until the end of the transaction and return whether it has one, and with it its cells."""
    # Without the model's order, whose join would lock the run for all of its workers.
    return RunWorker.objects.select_for_update().order_by("pk").filter(pk=pk).values_list("pk").first() is not None


@transaction.atomic
def remove_worker(worker: RunWorker) -> None:
    """Delete a worker and release its open cells, once it has written what it is writing."""
    lock_worker(worker.pk)
    Judgment.objects.filter(worker=worker.pk).update(worker=None)
    worker.delete()


@transaction.atomic
def leave(worker: RunWorker, *, status: str, message: Reason = NO_REASON, only_if_last: bool = False) -> str:
    """Remove a worker and set the run's status, unless the run is no longer active. Return the status.

    only_if_last : leave the status as it is while there are other workers
    """
    run = JudgeRun.objects.select_for_update().get(pk=worker.run_id)
    remove_worker(worker)
    reap_dead_workers(run)
    if run.status not in ACTIVE or (only_if_last and run.workers.exists()):
        return run.status
    run.status, run.message = status, message
    ended = status in (JudgeRun.Status.DONE, JudgeRun.Status.FAILED)
    run.finished_at = timezone.now() if ended else None
    run.save(update_fields=["status", "message", "finished_at"])
    return status


def finish(run: JudgeRun, worker: RunWorker) -> bool:
    """End a run unless cells are open. Locks the run, since `start_run` may be adding cells.

    It is done, or has failed if it got nothing but errors; one that grows on demand may get others yet.
    """
    with transaction.atomic():
        JudgeRun.objects.select_for_update().get(pk=run.pk)
        cells = run.judgments.order_by()
        if cells.filter(status=Judgment.Status.PENDING).exists():
            return False
        may_grow = run.pair_filter.get("on_demand", False)
        has_answers = may_grow or cells.exclude(status=Judgment.Status.ERROR).exists()
        message = NO_REASON
        if not has_answers:
            kinds = cells.values_list("failure_code").annotate(count=Count("pk"), example=Min("failure"))
            if most := kinds.order_by("-count", "failure_code").first():
                message = reason("nothing_answered", number=cells.count(), count=most[1], error=most[2])
        leave(worker, status=JudgeRun.Status.FAILED if message else JudgeRun.Status.DONE, message=message)
    return True
