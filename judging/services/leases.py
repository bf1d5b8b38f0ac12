"""Who works on a run: a row for each process, kept fresh by a heartbeat. Several share a run's cells, calls and money."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import ROUND_DOWN, Decimal

from django.db import transaction
from django.db.models import Sum
from django.utils import timezone

from annotation.processes import is_gone, this_process
from annotation.version import VERSION
from judging.models import Endpoint, JudgeRun, Judgment, RunWorker

LEASE = timedelta(seconds=30)
BEAT_SECONDS = 2.0
ACTIVE = (JudgeRun.Status.QUEUED, JudgeRun.Status.RUNNING)


@dataclass(frozen=True)
class Pulse:
    """What a worker learns at a heartbeat.

    status    : of the run; anything but queued or running means that it has to stop
    in_flight : calls that it may have under way
    reserved  : money that it may spend beyond what is stored by now; `None` without a cap
    cap, spent : the run's cap, and what it has spent so far; `None` without a cap
    others    : workers that share the run
    alone     : none of them has money reserved
    lost      : it had been taken for dead: the cells that it held are others' now, or free
    endpoint  : the judge's, with its limits and prices of today
    sharers   : workers that ask this endpoint, for this run or another
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
    sharers: int = 1

    @property
    def go_on(self) -> bool:
        """Tell whether the run is still to be worked on by this process."""
        return self.status in ACTIVE


def has_run_out(since: datetime) -> bool:
    """Tell whether a lease that was last fresh at this time is over."""
    return since < timezone.now() - LEASE


def breathes(worker: RunWorker) -> bool:
    """Tell whether a worker is at work: its heartbeat is fresh, and it isn't known to be dead."""
    if has_run_out(worker.heartbeat_at):
        return False
    return not is_gone(worker.executor)


def is_alive(run: JudgeRun) -> bool:
    """Tell whether anybody is working on the run."""
    return run.status in ACTIVE and any(breathes(worker) for worker in run.workers.all())


def join(run_id: int) -> tuple[JudgeRun, RunWorker | None]:
    """Begin to work on a run; no worker is made for one that was stopped or is done. Those who are dead are let go."""
    with transaction.atomic():
        run = JudgeRun.objects.select_for_update().get(pk=run_id)
        bury(run)
        worker = None
        if run.status in ACTIVE:
            run.status = JudgeRun.Status.RUNNING
            run.started_at = run.started_at or timezone.now()
            run.finished_at, run.message, run.software_version = None, "", VERSION
            run.save(update_fields=["status", "started_at", "finished_at", "message", "software_version"])
            worker = RunWorker.objects.create(run=run, executor=this_process())
    related = JudgeRun.objects.select_related("judge__endpoint", "judge__prompt_file", "study", "batch")
    return related.get(pk=run_id), worker


def beat(worker: RunWorker, *, in_flight: int = 0, owing: Decimal = Decimal(0)) -> Pulse:
    """Keep a worker's row fresh and tell it what holds until the next time.

    in_flight, owing : calls under way now, and the money that they may cost

    Shares are given out one worker at a time, and what somebody else still holds is not given out twice: a newcomer
    waits until the others have heard of it.
    """
    with transaction.atomic():
        run = JudgeRun.objects.select_for_update(of=("self",)).select_related("judge__endpoint").get(pk=worker.run_id)
        bury(run)
        workers = {one.pk: one for one in run.workers.order_by("pk")}
        me = workers.pop(worker.pk, None)
        lost = me is None and run.status in ACTIVE
        if lost:  # as after a night with the lid closed
            me = RunWorker.objects.create(pk=worker.pk, run=run, executor=worker.executor)
        if me is None:
            return Pulse(run.status)
        others = list(workers.values())
        place = sum(one.pk < me.pk for one in others)
        share = run.in_flight // (len(others) + 1) + (place < run.in_flight % (len(others) + 1))
        me.in_flight = max(0, min(share, run.in_flight - sum(one.in_flight for one in others)))
        pulse = Pulse(run.status, me.in_flight, len(others), lost=lost, endpoint=run.judge.endpoint)
        # More may be under way than it may now have: these count until they are back.
        me.in_flight = max(me.in_flight, in_flight)
        if run.max_cost is not None:
            pulse = with_money(pulse, run, me, others, owing)
        me.heartbeat_at = timezone.now()
        me.save(update_fields=["heartbeat_at", "in_flight", "reserved"])
    return pulse if pulse.endpoint is None else with_sharers(pulse, pulse.endpoint)


def with_money(pulse: Pulse, run: JudgeRun, me: RunWorker, others: list[RunWorker], owing: Decimal) -> Pulse:
    """Reserve money for a worker: all that is left if it is alone, half of it otherwise."""
    spent = run.judgments.aggregate(spent=Sum("cost"))["spent"] or Decimal(0)
    left = max(Decimal(0), (run.max_cost or Decimal(0)) - spent - sum(one.reserved for one in others))
    granted = left / 2 if others else left
    me.reserved = max(granted, owing).quantize(Decimal("0.00000001"), ROUND_DOWN)
    alone = not any(one.reserved for one in others)
    return replace(pulse, reserved=granted, cap=run.max_cost, spent=spent, alone=alone)


def with_sharers(pulse: Pulse, endpoint: Endpoint) -> Pulse:
    """Count who asks an endpoint that has limits."""
    if endpoint.requests_per_minute is None and endpoint.tokens_per_minute is None:
        return pulse
    fresh = RunWorker.objects.filter(run__judge__endpoint=endpoint, heartbeat_at__gte=timezone.now() - LEASE)
    sharers = max(1, fresh.count())
    return replace(pulse, sharers=sharers)


def bury(run: JudgeRun) -> None:
    """Free the cells of workers that are dead."""
    for worker in run.workers.all():
        if not breathes(worker):
            dismiss(worker)


def dismiss(worker: RunWorker) -> None:
    """Take a worker's row away; what it had not filled is free again."""
    Judgment.objects.filter(worker=worker.pk).update(worker=None)
    worker.delete()


@transaction.atomic
def leave(worker: RunWorker, *, status: str, message: str = "", only_if_last: bool = False) -> str:
    """Stop working on a run and set its status, unless somebody has set another one meanwhile; return what it is.

    only_if_last : while others work on it, it goes on
    """
    run = JudgeRun.objects.select_for_update().get(pk=worker.run_id)
    dismiss(worker)
    bury(run)
    if run.status not in ACTIVE or (only_if_last and run.workers.exists()):
        return run.status
    run.status, run.message = status, message
    ended = status in (JudgeRun.Status.DONE, JudgeRun.Status.FAILED)
    run.finished_at = timezone.now() if ended else None
    run.save(update_fields=["status", "message", "finished_at"])
    return status


def finish(run: JudgeRun, worker: RunWorker) -> bool:
    """Mark a run done unless cells are open; in step with `start_run`, which may be adding some just now."""
    with transaction.atomic():
        JudgeRun.objects.select_for_update().get(pk=run.pk)
        if run.judgments.filter(status=Judgment.Status.PENDING).exists():
            return False
        leave(worker, status=JudgeRun.Status.DONE)
    return True
