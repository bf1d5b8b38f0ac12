"""Delete checks of drift, so that stress tests are alone in their table."""

from django.db import migrations


def delete_checks(apps, schema_editor):
    """Delete the checks of drift with their answers."""
    audits = apps.get_model("judging", "JudgeAudit").objects.using(schema_editor.connection.alias)
    audits.filter(kind="drift").delete()


class Migration(migrations.Migration):
    dependencies = [("judging", "0026_no_embeddings")]

    operations = [migrations.RunPython(delete_checks, migrations.RunPython.noop)]
