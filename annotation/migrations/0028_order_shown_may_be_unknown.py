"""Displays of imported files that do not say which text was shown first."""

from typing import Any

from django.db import migrations, models


def assume_a(apps: Any, schema_editor: Any) -> None:
    """Fill in an order, which the schema before needs."""
    apps.get_model("annotation", "Display").objects.filter(a_is_left=None).update(a_is_left=True)


class Migration(migrations.Migration):
    atomic = False  # PostgreSQL alters no table in the transaction that has changed its rows

    dependencies = [("annotation", "0027_names_in_the_admin")]

    operations = [
        migrations.AlterField(
            model_name="display",
            name="a_is_left",
            field=models.BooleanField(
                blank=True,
                help_text="Left is shown first; empty where an imported file does not say.",
                null=True,
            ),
        ),
        migrations.RunPython(migrations.RunPython.noop, assume_a),
    ]
