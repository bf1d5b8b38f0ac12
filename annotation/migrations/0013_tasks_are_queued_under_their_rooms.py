from django.db import migrations

PATHS = {"annotation.tasks.compute_separability_of": "annotation.separability.tasks.compute_separability_of"}


def rename(apps, schema_editor, paths=PATHS):
    """Let tasks that are queued, running or kept be found under the path that they are queued under from now on."""
    for old, new in paths.items():
        apps.get_model("django_tasks_database", "DBTaskResult").objects.filter(task_path=old).update(task_path=new)


def rename_back(apps, schema_editor):
    """Return to the old paths."""
    rename(apps, schema_editor, {new: old for old, new in PATHS.items()})


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0012_judges_presentations_are_asked_again"),
        ("django_tasks_database", "0021_conditional_partial_index_ordering"),
    ]
    operations = [migrations.RunPython(rename, rename_back)]
