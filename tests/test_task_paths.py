"""Tasks that were queued before their modules moved: a worker still finds them, and so do the pages that look for them."""

from importlib import import_module

import pytest
from django.apps import apps
from django_tasks_db.models import DBTaskResult, get_date_max

from annotation.separability.tasks import compute_separability_of
from judging.aspects.tasks import distil_aspects
from judging.endpoints.tasks import probe
from judging.generation.tasks import generate_texts
from judging.runs.tasks import execute_run

OLD = {
    "annotation.tasks.compute_separability_of": compute_separability_of,
    "judging.tasks.distil_aspects": distil_aspects,
    "judging.tasks.execute_run": execute_run,
    "judging.tasks.generate_texts": generate_texts,
    "judging.tasks.probe": probe,
}


def queued(path: str) -> DBTaskResult:
    """Store a task as it was queued under a path."""
    return DBTaskResult.objects.create(
        task_path=path,
        args_kwargs={"args": [1], "kwargs": {}},
        run_after=get_date_max(),
        backend_name="default",
        queue_name="default",
    )


@pytest.mark.django_db
@pytest.mark.parametrize("path", OLD)
def test_a_worker_finds_a_task_under_its_old_path(path: str) -> None:
    assert queued(path).task.func is OLD[path].func


@pytest.mark.django_db
def test_migrating_finds_tasks_under_their_new_paths_and_back() -> None:
    tasks = {queued(path).pk: path for path in OLD}
    migrations = [
        import_module("annotation.migrations.0013_tasks_are_queued_under_their_rooms"),
        import_module("judging.migrations.0007_tasks_are_queued_under_their_rooms"),
    ]

    for migration in migrations:
        migration.rename(apps, None)
    renamed = dict(DBTaskResult.objects.values_list("pk", "task_path"))
    for migration in migrations:
        migration.rename_back(apps, None)

    assert renamed == {pk: OLD[path].module_path for pk, path in tasks.items()}
    assert dict(DBTaskResult.objects.values_list("pk", "task_path")) == tasks
