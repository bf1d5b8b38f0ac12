"""Background jobs that compute separability: the request, starting one, and their state."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from annotation.core.tasks.stopping import StopFlag
from annotation.core.version import VERSION
from annotation.jobs.work import held, queue_job
from annotation.models import SeparabilityJob, Study
from annotation.models.jobs import Job
from annotation.separability.alignments import Progress
from annotation.separability.measure import model_of
from annotation.separability.services import compute_separability, ignored_texts_notice, part_of
from annotation.separability.store import SeparabilityResult, parse_group


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
    systems: Sequence[str] = field(default_factory=list)

    def check(self, study: Study) -> None:
        """Raise AnnotationError for invalid settings, and for models given by path."""
        parse_group(self.group)
        model_of(self.similarity, self.model, listed_only=True)
        part_of(study, self.dataset, self.systems)

    def compute(self, study: Study, progress: Progress | None = None) -> list[SeparabilityResult]:
        """Run the computation."""
        return compute_separability(study=study, progress=progress, **asdict(self))


def start_separability(
    study: Study, request: SeparabilityRequest, *, by: User | None = None
) -> tuple[SeparabilityJob, bool]:
    """Queue a job. The second value is False if the same request is under way already.

    Raises: AnnotationError for invalid settings.
    """
    request.check(study)
    requested = asdict(request)
    with transaction.atomic():
        Study.objects.select_for_update().get(pk=study.pk)
        for job in study.separability_jobs.filter(status__in=Job.UNDER_WAY):
            if job.asked == requested:
                return job, False
        job = SeparabilityJob.objects.create(study=study, asked=requested, asked_by=by, software_version=VERSION)
        queue_job(job)
    return job, True


def compute(job: SeparabilityJob, *, stop: StopFlag | None = None) -> list[SeparabilityResult]:
    """Compute what a job asks for. Doing it again reuses what is staged."""
    request = SeparabilityRequest(**job.asked)
    with held(job, stop) as hold:
        job.study.refuse_reading()
        results = request.compute(job.study, hold.step)
        total = sum(result.matchups for result in results)
        hold.note(total, total)
        hold.message = ignored_texts_notice(job.study, request.similarity)
    return results


def separability_state(study: Study) -> dict[str, Any]:
    """Return a study's jobs under way, earliest first, or else the failure or notice of the last one."""
    jobs = list(study.separability_jobs.filter(status__in=Job.UNDER_WAY).order_by("created_at", "pk"))
    last = None if jobs else study.separability_jobs.first()
    message = last.message.text if last else ""
    failed = last is not None and last.status == Job.Status.STOPPED
    return {"busy": bool(jobs), "jobs": jobs, "failure": message if failed else "", "notice": "" if failed else message}
