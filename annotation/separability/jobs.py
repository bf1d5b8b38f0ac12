"""Background jobs that compute separability, and their progress."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import timedelta
from threading import Event, Thread
from time import monotonic
from typing import Any

from django.contrib.auth.models import User
from django.db import DatabaseError, connection
from django.utils import timezone

from annotation.core.errors import AnnotationError
from annotation.core.tasks.processes import is_gone, this_process
from annotation.models import SeparabilityJob, Study
from annotation.separability.measure import check_draws, model_of
from annotation.separability.services import StudyPart, compute_separability, ignored_texts_notice
from annotation.separability.store import SeparabilityResult, parse_group

HEARTBEAT_TIMEOUT = timedelta(minutes=5)  # after which a worker of another machine is taken for dead
PROGRESS_SECONDS = 1.0  # between two updates
HEARTBEAT_SECONDS = 60.0
UNDER_WAY = (SeparabilityJob.Status.QUEUED, SeparabilityJob.Status.RUNNING)


@dataclass(frozen=True)
class SeparabilityRequest:
    """The arguments of `compute_separability`, stored with the job."""

    similarity: str
    group: str = "configuration"
    model: str = ""
    samples: int | None = None
    cross_pairs: int | None = None
    seed: int | None = None
    dataset: str = ""
    systems: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "SeparabilityRequest":
        """Return the request that `as_json` has written."""
        return cls(**{**stored, "systems": tuple(stored.get("systems", ()))})

    def as_json(self) -> dict[str, Any]:
        """Return the request as stored with the job."""
        return {**asdict(self), "systems": list(self.systems)}

    def check(self, study: Study) -> None:
        """Raise AnnotationError for invalid settings, and for models given by path."""
        parse_group(self.group)
        check_draws(self.samples, self.cross_pairs, self.seed)
        model_of(self.similarity, self.model, listed_only=True)
        self.part.of(study)

    @property
    def part(self) -> StudyPart:
        """The part of the study to compute."""
        return StudyPart(self.dataset, self.systems)

    def compute(self, study: Study, progress: Any = None) -> list[SeparabilityResult]:
        """Run the computation."""
        return compute_separability(
            study=study,
            part=self.part,
            progress=progress,
            **{
                name: getattr(self, name) for name in ("similarity", "group", "model", "samples", "cross_pairs", "seed")
            },
        )


def open_job(study: Study, request: SeparabilityRequest, by: User | None) -> tuple[SeparabilityJob, bool]:
    """Return the job under way for the same request, or a new one, and whether it is new; needs a transaction."""
    Study.objects.select_for_update().get(pk=study.pk)
    kept = request.as_json()
    for job in SeparabilityJob.objects.filter(study=study, status__in=UNDER_WAY):
        if job.asked == kept:
            return job, False
    return SeparabilityJob.objects.create(study=study, asked=kept, asked_by=by), True


def run_job(job_id: int) -> list[SeparabilityResult]:
    """Run a job and record its progress; idempotent, also if run concurrently."""
    job = SeparabilityJob.objects.select_related("study").get(pk=job_id)
    job.study.refuse_reading()
    _update(job, status=job.Status.RUNNING, executor=this_process(), attempts=job.attempts + 1, message="")
    request = SeparabilityRequest.from_json(job.asked)
    try:
        with _heartbeats(job):
            results = request.compute(job.study, _ProgressRecorder(job))
    except AnnotationError as error:
        _update(job, status=job.Status.FAILED, message=str(error), finished_at=timezone.now())
        raise
    except Exception as error:
        _update(job, status=job.Status.FAILED, message=f"unexpected: {error!r}", finished_at=timezone.now())
        raise
    except BaseException:  # the worker is stopping: the task is queued again, which is no failed attempt
        _update(job, status=job.Status.QUEUED, executor="", attempts=job.attempts - 1)
        raise
    total = sum(result.matchups for result in results)
    notice = ignored_texts_notice(job.study, request.similarity)
    _update(job, status=job.Status.DONE, done=total, total=total, message=notice, finished_at=timezone.now())
    return results


def is_abandoned(job: SeparabilityJob) -> bool:
    """Tell whether the worker of a job has ended, or sent no heartbeat for HEARTBEAT_TIMEOUT."""
    if job.executor and is_gone(job.executor):
        return True
    return (job.heartbeat_at or job.asked_at) < timezone.now() - HEARTBEAT_TIMEOUT


@contextmanager
def _heartbeats(job: SeparabilityJob) -> Iterator[None]:
    """Send heartbeats from a thread, since a large model may take minutes for one portion of texts."""
    stop = Event()

    def beat() -> None:
        try:
            while not stop.wait(HEARTBEAT_SECONDS):
                with suppress(DatabaseError):  # for example a lock; the next heartbeat will do
                    _update(job)
        finally:
            connection.close()  # this thread's

    thread = Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


class _ProgressRecorder:
    """Records a job's progress, at most once in PROGRESS_SECONDS."""

    def __init__(self, job: SeparabilityJob) -> None:
        self.job = job
        self.last = -PROGRESS_SECONDS

    def __call__(self, done: int, total: int) -> None:
        if monotonic() - self.last >= PROGRESS_SECONDS or done == total:
            _update(self.job, done=done, total=total)
            self.last = monotonic()


def _update(job: SeparabilityJob, **values: Any) -> None:
    SeparabilityJob.objects.filter(pk=job.pk).update(heartbeat_at=timezone.now(), **values)
    for name, value in values.items():
        setattr(job, name, value)
