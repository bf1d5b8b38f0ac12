"""Computing separability in the background: what was asked for, and how far the worker is with it."""

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

from annotation.errors import AnnotationError
from annotation.models import SeparabilityJob, Study
from annotation.processes import is_gone, this_process
from annotation.services.separability import Part, SeparabilityResult, blind_notice, compute_separability
from annotation.services.separability_measure import check_draws, model_of
from annotation.services.separability_store import group_of

SILENT = timedelta(minutes=5)  # without a word from a worker of another machine: it is taken for dead
BEAT_SECONDS = 1.0
SIGN_SECONDS = 60.0  # between two signs of life while a portion of texts takes long
UNDER_WAY = (SeparabilityJob.Status.QUEUED, SeparabilityJob.Status.RUNNING)


@dataclass(frozen=True)
class SeparabilityRequest:
    """What a computation is asked for; the arguments of `compute_separability`, as they are kept with the job."""

    similarity: str
    group: str = "configuration"
    model: str = ""
    samples: int | None = None
    cross_pairs: int | None = None
    seed: int | None = None
    dataset: str = ""
    systems: tuple[str, ...] = ()

    @classmethod
    def read(cls, kept: Mapping[str, Any]) -> "SeparabilityRequest":
        """Read what was kept."""
        return cls(**{**kept, "systems": tuple(kept.get("systems", ()))})

    def as_json(self) -> dict[str, Any]:
        """Return what is kept."""
        return {**asdict(self), "systems": list(self.systems)}

    def check(self, study: Study) -> None:
        """Refuse at once what can't be computed, where that shows without a look at the texts, and models that are paths.

        Raises: AnnotationError.
        """
        group_of(self.group)
        check_draws(self.samples, self.cross_pairs, self.seed)
        model_of(self.similarity, self.model, listed_only=True)
        self.part.of(study)

    @property
    def part(self) -> Part:
        """Of what part of the study."""
        return Part(self.dataset, self.systems)

    def compute(self, study: Study, progress: Any = None) -> list[SeparabilityResult]:
        """Do it."""
        return compute_separability(
            study=study,
            similarity=self.similarity,
            group=self.group,
            model=self.model,
            samples=self.samples,
            cross_pairs=self.cross_pairs,
            seed=self.seed,
            part=self.part,
            progress=progress,
        )


def open_job(study: Study, asked: SeparabilityRequest, by: User | None) -> tuple[SeparabilityJob, bool]:
    """Return the job that is under way for just this, or a new one; the second tells which. To be called in a transaction."""
    Study.objects.select_for_update().get(pk=study.pk)
    kept = asked.as_json()
    for job in SeparabilityJob.objects.filter(study=study, status__in=UNDER_WAY):
        if job.asked == kept:
            return job, False
    return SeparabilityJob.objects.create(study=study, asked=kept, asked_by=by), True


def work_on(job_id: int) -> list[SeparabilityResult]:
    """Do a job, and keep how far it is. Doing it twice, or by two at once, does no harm: the same comes of it."""
    job = SeparabilityJob.objects.select_related("study").get(pk=job_id)
    _note(job, status=job.Status.RUNNING, executor=this_process(), attempts=job.attempts + 1, message="")
    asked = SeparabilityRequest.read(job.asked)
    try:
        with _signs_of_life(job):
            results = asked.compute(job.study, _Beat(job))
    except AnnotationError as error:
        _note(job, status=job.Status.FAILED, message=str(error), finished_at=timezone.now())
        raise
    except Exception as error:
        _note(job, status=job.Status.FAILED, message=f"unexpected: {error!r}", finished_at=timezone.now())
        raise
    except BaseException:  # the worker was told to end: the task goes back to the queue, and this was no attempt
        _note(job, status=job.Status.QUEUED, executor="", attempts=job.attempts - 1)
        raise
    total = sum(result.matchups for result in results)
    notice = blind_notice(job.study, asked.similarity)
    _note(job, status=job.Status.DONE, done=total, total=total, message=notice, finished_at=timezone.now())
    return results


def is_silent(job: SeparabilityJob) -> bool:
    """Tell whether whoever works on a job is gone, or hasn't been heard of for long."""
    if job.executor and is_gone(job.executor):
        return True
    return (job.heartbeat_at or job.asked_at) < timezone.now() - SILENT


@contextmanager
def _signs_of_life(job: SeparabilityJob) -> Iterator[None]:
    """Let the job be heard of while this lasts: a large model may take many minutes for one portion of texts."""
    over = Event()

    def tell() -> None:
        try:
            while not over.wait(SIGN_SECONDS):
                with suppress(DatabaseError):  # of a moment, such as a lock: the next sign is as good
                    _note(job)
        finally:
            connection.close()  # of this thread

    teller = Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()


class _Beat:
    """Keeps how far a job is, once a second at most."""

    def __init__(self, job: SeparabilityJob) -> None:
        self.job = job
        self.last = -BEAT_SECONDS

    def __call__(self, done: int, total: int) -> None:
        if monotonic() - self.last >= BEAT_SECONDS or done == total:
            _note(self.job, done=done, total=total)
            self.last = monotonic()


def _note(job: SeparabilityJob, **values: Any) -> None:
    SeparabilityJob.objects.filter(pk=job.pk).update(heartbeat_at=timezone.now(), **values)
    for name, value in values.items():
        setattr(job, name, value)
