from django.db import migrations, models


def delete_files(apps, schema_editor):
    """Delete the rows of files that are no longer made."""
    apps.get_model("reporting", "MadeFile").objects.using(schema_editor.connection.alias).filter(kind="noise").delete()


class Migration(migrations.Migration):
    dependencies = [("reporting", "0009_no_stored_alarms")]

    operations = [
        migrations.RunPython(delete_files, migrations.RunPython.noop),
        migrations.AlterField(
            model_name="madefile",
            name="kind",
            field=models.CharField(
                choices=[
                    ("bundle", "Bundle"),
                    ("report", "Report"),
                    ("preferences", "Preferences"),
                    ("refined", "Repaired preferences"),
                    ("ranking", "Texts ranked by a judge’s answers"),
                    ("table-checks", "Checks of comparison tables"),
                ],
                max_length=20,
            ),
        ),
    ]
