"""Jobs at work: queueing them, the lease of the process that holds one, and how work ends."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.apps import apps
from django.db import InterfaceError, OperationalError, transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.module_loading import import_string
from django_tasks import task
from django_tasks.base import TaskResultStatus

from annotation.core.errors import AnnotationError, Interrupted, JobBusy, UnknownName
from annotation.core.reasons import NO_REASON, reason
from annotation.core.tasks.processes import RepeatingThread, is_gone, this_process
from annotation.core.tasks.progress import Rate
from annotation.core.tasks.stopping import WORKER_STOP, StopFlag
from annotation.core.tasks.task_queue import DeathRule, QueuedTask, is_under_way
from annotation.models import Study
from annotation.models.jobs import LEASE, Job, lease_expired

Status = Job.Status
BEAT_SECONDS = 2.0


@task()
def do_job(kind: str, job_id: int) -> str:
    """Work on a job, given by its model's label, and return its status. Doing it again repeats no answered call."""
    job = _row(kind, job_id).first()
    if job is None or job.status not in Job.UNDER_WAY:
        return ""
    WORKER_STOP.is_watched = job.stops_itself
    try:
        # By its path: web processes import this module to enqueue, and must not load the HTTP client of endpoints.
        import_string(job.worked_by)(job, stop=WORKER_STOP)
    except (OperationalError, InterfaceError, SystemExit):  # the worker puts the task back into the queue
        _row(kind, job_id).update(status=Status.QUEUED, message="")
        raise
    except AnnotationError:
        if WORKER_STOP.is_set():
            _row(kind, job_id).update(status=Status.QUEUED, message="")
            raise SystemExit(0) from None  # the task stays, for the next worker
    job.refresh_from_db(fields=["status"])
    return str(job.status)


@transaction.atomic
def queue_job(job: Job) -> bool:
    """Queue a job. Return False if it is queued or a process works on it."""
    kind = job._meta.label
    locked = _row(kind, job.pk).select_for_update().get()
    if is_taken(locked):
        return False
    job.status, job.message = Status.QUEUED, NO_REASON
    job.save(update_fields=["status", "message"])
    do_job.enqueue(kind, job.pk)
    return True


def is_taken(job: Job) -> bool:
    """Tell whether a job is queued or a process works on it."""
    task = {"args__0": job._meta.label, "args__1": job.pk}
    return job.is_at_work or (job.status in Job.UNDER_WAY and is_under_way(do_job.module_path, _is_dead, **task))


def stop_job(job: Job) -> bool:
    """Have a job stop, or False if it is neither queued nor running. What works on it learns of it by its next heartbeat."""
    rows = _row(job._meta.label, job.pk).filter(status__in=Job.UNDER_WAY)
    return bool(rows.update(status=Status.STOPPED, message=""))


def job_kinds() -> dict[str, Any]:
    """Return the tables of all kinds of jobs, by the kind's name."""
    return {model.job_kind: model for model in apps.get_models() if issubclass(model, Job)}


def jobs_of(study: Study) -> list[Job]:
    """Return the jobs of a study, the latest first."""
    rows: list[Job] = [
        job for model in job_kinds().values() for job in model.objects.filter(study=study).select_related()
    ]
    return sorted(rows, key=lambda job: job.created_at, reverse=True)


def find_job(study: Study, kind: str, pk: int) -> Job:
    """Return a job of a study.

    Raises: UnknownName
    """
    model = job_kinds().get(kind)
    job: Job | None = model and model.objects.filter(study=study, pk=pk).first()
    if job is None:
        raise UnknownName(f"there is no job {kind}/{pk}")
    return job


class Hold:
    """A job that this process holds.

    stop    : set when the job is to stop, or another process holds it
    message : stored when the work is done
    """

    def __init__(self, job: Job, stop: StopFlag | None) -> None:
        self.job = job
        self.stop = StopFlag(stop)
        self.done = self.total = 0
        self.message = NO_REASON
        self._rate = Rate()

    def note(self, done: int, total: int) -> None:
        """Note how far the work is."""
        self.done, self.total = done, total
        self._rate.begin(done)

    def step(self, done: int, total: int) -> None:
        """Note how far the work is.

        Raises: Interrupted if it is to stop
        """
        self.note(done, total)
        if self.stop.is_set():
            raise Interrupted

    def beat(self) -> None:
        """Renew the lease, and store how far the work is."""
        values = {"done": self.done, "total": self.total, "rate": self._rate.at(self.done)}
        if not held_row(self.job).exclude(status=Status.STOPPED).update(heartbeat_at=timezone.now(), **values):
            self.stop.set()


@contextmanager
def held(job: Job, stop: StopFlag | None = None) -> Iterator[Hold]:
    """Hold a job for this process while it works on it, and note in its row how that ended.

    Raises: JobBusy while another process holds it
    """
    now, row = timezone.now(), _row(job._meta.label, job.pk)
    holder = row.values_list("executor", flat=True).get()
    died = row.filter(executor=holder) if is_gone(holder) else row.filter(heartbeat_at__lt=now - LEASE)
    lease = {"status": Status.RUNNING, "message": "", "heartbeat_at": now, "executor": this_process()}
    # After an end nothing is left to be counted; after a kill, what was stored since the last count is.
    counted = {"counted_until": now} if hasattr(job, "counted_until") else {}
    if not (row.filter(heartbeat_at=None).update(**lease, **counted) or died.update(**lease)):
        raise JobBusy(f"another process works on {job}; if it has died, try again in {LEASE.seconds} seconds")
    _refresh(job)
    hold, status = Hold(job, stop), Status.STOPPED
    # A thread of its own: what is computed or asked may take minutes without a word.
    beats = RepeatingThread(f"lease of {job}", BEAT_SECONDS, hold.beat)
    beats.start()
    try:
        yield hold
        status = Status.DONE
    except AnnotationError as error:
        hold.message = error.reason
        raise
    except Exception as error:
        hold.message = reason("unexpected", error=type(error).__name__)
        raise
    finally:
        beats.end(timeout=LEASE.seconds)
        ended_at = timezone.now() if status == Status.DONE else None
        progress = {"done": hold.done, "total": hold.total, "rate": None}
        held_row(job).update(
            status=status, message=hold.message, ended_at=ended_at, heartbeat_at=None, executor="", **progress
        )
        _refresh(job)


def held_row(job: Job) -> QuerySet[Job]:
    """Return the row of a job unless another process holds it."""
    return _row(job._meta.label, job.pk).filter(executor=job.executor)


def _refresh(job: Job) -> None:
    """Read a job's row again. What it points to stays loaded, since the event loop can't query the database."""
    job.refresh_from_db(fields=[field.name for field in job._meta.concrete_fields if not field.is_relation])


def _row(kind: str, pk: int) -> QuerySet[Any]:
    rows: QuerySet[Any] = apps.get_model(kind)._default_manager.filter(pk=pk)
    return rows


def _is_dead(task: QueuedTask) -> bool:
    """Tell whether a running task's worker is dead: neither the task nor the job's heartbeat is recent."""
    if task.status != TaskResultStatus.RUNNING or task.started_at is None or not lease_expired(task.started_at):
        return False
    beat = _row(*task.args_kwargs["args"]).values_list("heartbeat_at", flat=True).first()
    return beat is None or lease_expired(beat)


DEATH_RULE = DeathRule(
    _is_dead,
    requeue=lambda task: _row(*task.args_kwargs["args"]).filter(status=Status.RUNNING).update(status=Status.QUEUED),
    give_up=lambda task, why: _row(*task.args_kwargs["args"]).update(status=Status.STOPPED, message=why),
)
