from django.db import migrations, models


class Migration(migrations.Migration):
    """An index over the cells that are free to be taken, in the order in which they are; and workers' money."""

    dependencies = [("judging", "0002_procedures_prices_and_shared_runs")]

    operations = [
        migrations.AddField(
            model_name="runworker",
            name="reserved",
            field=models.DecimalField(
                decimal_places=8,
                default=0,
                help_text="Money that it may spend until its next heartbeat.",
                max_digits=14,
            ),
        ),
        migrations.AlterField(
            model_name="runworker",
            name="in_flight",
            field=models.PositiveIntegerField(
                default=0, help_text="Calls that it may have under way at the same time."
            ),
        ),
        migrations.AddIndex(
            model_name="judgment",
            index=models.Index(
                condition=models.Q(("status", "pending"), ("worker", None)), fields=["run", "id"], name="judgment_free"
            ),
        ),
    ]
