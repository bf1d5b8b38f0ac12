"""Long work of this app, done by the worker."""

from django_tasks import task
from django_tasks.base import TaskResultStatus
from django_tasks_db.models import DBTaskResult

from annotation.models import SeparabilityJob, Study
from annotation.services.separability_jobs import SeparabilityRequest, work_on


@task()
def compute_separability_of(study_id: int, similarity: str, group: str, job_id: int | None = None) -> int:
    """Compute a study's separability; returns the number of configurations.

    job_id : of the job that holds all that was asked for, and is told how far this is
    """
    if job_id is not None:
        return len(work_on(job_id))
    study = Study.objects.get(pk=study_id)
    return len(SeparabilityRequest(similarity, group).compute(study))


def separability_state(study: Study) -> tuple[bool, str]:
    """Tell whether a computation is under way, and how the last one failed, if it did."""
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
    """Return what the computation that was asked for last has to say of its texts, once it is done."""
    last = SeparabilityJob.objects.filter(study=study).order_by("-asked_at", "-pk").first()
    return last.message if last is not None and last.status == SeparabilityJob.Status.DONE else ""


def separability_jobs(study: Study) -> list[SeparabilityJob]:
    """Return the jobs of a study that aren't over, the first asked for first."""
    under_way = (SeparabilityJob.Status.QUEUED, SeparabilityJob.Status.RUNNING)
    return list(SeparabilityJob.objects.filter(study=study, status__in=under_way).order_by("asked_at", "pk"))
