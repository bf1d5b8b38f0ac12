from django.db import migrations

PATHS = {
    "judging.tasks.distil_aspects": "judging.aspects.tasks.distil_aspects",
    "judging.tasks.execute_run": "judging.runs.tasks.execute_run",
    "judging.tasks.generate_texts": "judging.generation.tasks.generate_texts",
    "judging.tasks.probe": "judging.endpoints.tasks.probe",
}


def rename(apps, schema_editor, paths=PATHS):
    """Let tasks that are queued, running or kept be found under the path that they are queued under from now on."""
    for old, new in paths.items():
        apps.get_model("django_tasks_database", "DBTaskResult").objects.filter(task_path=old).update(task_path=new)


def rename_back(apps, schema_editor):
    """Return to the old paths."""
    rename(apps, schema_editor, {new: old for old, new in PATHS.items()})


class Migration(migrations.Migration):
    dependencies = [
        ("judging", "0006_generation_runs"),
        ("django_tasks_database", "0021_conditional_partial_index_ordering"),
    ]
    operations = [migrations.RunPython(rename, rename_back)]
