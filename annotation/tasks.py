"""Long work of this app, done by the worker."""

from django_tasks import task
from django_tasks.base import TaskResultStatus
from django_tasks_db.models import DBTaskResult

from annotation.models import Study
from annotation.services.separability import compute_separability


@task()
def compute_separability_of(study_id: int, similarity: str, group: str) -> int:
    """Compute a study's separability; returns the number of configurations."""
    study = Study.objects.get(pk=study_id)
    return len(compute_separability(study=study, similarity=similarity, group=group))


def separability_state(study: Study) -> tuple[bool, str]:
    """Tell whether a computation is under way, and how the last one failed, if it did."""
    results = DBTaskResult.objects.filter(task_path=compute_separability_of.module_path).order_by("-enqueued_at")
    latest = next((result for result in results[:100] if result.args_kwargs["args"][:1] == [study.pk]), None)
    if latest is None:
        return False, ""
    if latest.status in (TaskResultStatus.READY, TaskResultStatus.RUNNING):
        return True, ""
    if latest.status == TaskResultStatus.FAILED:
        lines = latest.traceback.strip().splitlines() or ["unknown error"]
        return False, lines[-1].split(": ", 1)[-1]
    return False, ""
