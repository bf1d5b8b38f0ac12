"""The aspects of a task: their versions, which of them holds, and changing them by hand. A version is never edited."""

from annotation.models import ResearchGroup, Study
from judging.judges.tasks import find_task, task_of
from judging.models import AspectSet


def latest_aspects(*, group: ResearchGroup, task: str) -> AspectSet | None:
    """Return the version of a task's aspects that holds in a group; `None` where the task's own five do."""
    return AspectSet.objects.filter(group=group, task=task).order_by("version").last()


def resolve_offline(study: Study) -> tuple[list[str], str]:
    """Return the aspects that texts of a study are compared under, and their name: a version's, or the task's own."""
    task = task_of(study.task_kind)
    found = latest_aspects(group=study.group, task=task)
    if found is None:
        return list(find_task(task).aspects), f"{task} (built in)"
    return list(found.aspects), str(found)
