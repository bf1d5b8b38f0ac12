"""Tasks of the worker."""

from django_tasks import task
from django_tasks.base import TaskResultStatus
from django_tasks_db.models import DBTaskResult

from annotation.models import SeparabilityJob, Study
from annotation.separability.jobs import UNDER_WAY, SeparabilityRequest, run_job


@task()
def compute_separability_of(study_id: int, similarity: str, group: str, job_id: int | None = None) -> int:
    """Compute a study's separability; return the number of configurations.

    job_id : of the job with the request and the progress; None for tasks queued by earlier versions
    """
    if job_id is not None:
        return len(run_job(job_id))
    study = Study.objects.get(pk=study_id)
    return len(SeparabilityRequest(similarity, group).compute(study))


def separability_state(study: Study) -> tuple[bool, str]:
    """Return whether a computation is under way, and the error of the last one, or ""."""
    results = list(
        DBTaskResult.objects.filter(task_path=compute_separability_of.module_path, args_kwargs__args__0=study.pk)
        .defer("return_value", "worker_ids")
        .order_by("-enqueued_at")[:20]
    )
    if any(result.status in (TaskResultStatus.READY, TaskResultStatus.RUNNING) for result in results):
        return True, ""
    if results and results[0].status == TaskResultStatus.FAILED:
        lines = results[0].traceback.strip().splitlines() or ["unknown error"]
        return False, lines[-1].split(": ", 1)[-1]
    return False, ""


def separability_notice(study: Study) -> str:
    """Return the notice of the job requested last, if it is done."""
    last = SeparabilityJob.objects.filter(study=study).order_by("-asked_at", "-pk").first()
    return last.message if last is not None and last.status == SeparabilityJob.Status.DONE else ""


def separability_jobs(study: Study) -> list[SeparabilityJob]:
    """Return a study's jobs under way, the earliest first."""
    return list(SeparabilityJob.objects.filter(study=study, status__in=UNDER_WAY).order_by("asked_at", "pk"))
