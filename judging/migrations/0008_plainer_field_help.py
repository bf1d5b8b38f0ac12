import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    """Help texts only: no SQL on SQLite or PostgreSQL."""

    dependencies = [
        ("annotation", "0015_plainer_field_help"),
        ("judging", "0007_tasks_are_queued_under_their_rooms"),
    ]

    operations = [
        migrations.AlterField(
            model_name="completion",
            name="cost",
            field=models.DecimalField(
                decimal_places=8, help_text="At the prices of that day.", max_digits=14, null=True
            ),
        ),
        migrations.AlterField(
            model_name="endpoint",
            name="price_completion",
            field=models.DecimalField(
                blank=True,
                decimal_places=6,
                help_text="Per million completion tokens; empty: unknown.",
                max_digits=12,
                null=True,
            ),
        ),
        migrations.AlterField(
            model_name="endpoint",
            name="price_prompt",
            field=models.DecimalField(
                blank=True,
                decimal_places=6,
                help_text="Per million prompt tokens; empty: unknown.",
                max_digits=12,
                null=True,
            ),
        ),
        migrations.AlterField(
            model_name="endpoint",
            name="supports",
            field=models.JSONField(blank=True, default=dict, help_text="Features found by the last test."),
        ),
        migrations.AlterField(
            model_name="generationrun",
            name="base_url",
            field=models.CharField(help_text="The endpoint's when the run was created.", max_length=500),
        ),
        migrations.AlterField(
            model_name="generationrun",
            name="counted_until",
            field=models.DateTimeField(
                default=django.utils.timezone.now, help_text="Answers since then are not counted yet."
            ),
        ),
        migrations.AlterField(
            model_name="generationrun",
            name="cut",
            field=models.PositiveIntegerField(
                default=0, help_text="Stored texts that were cut off at the token limit."
            ),
        ),
        migrations.AlterField(
            model_name="generationrun",
            name="left_out",
            field=models.JSONField(
                blank=True, default=list, help_text="First instances left out last time, with reasons."
            ),
        ),
        migrations.AlterField(
            model_name="generationrun",
            name="message",
            field=models.TextField(blank=True, help_text="Why the last execution stopped early."),
        ),
        migrations.AlterField(
            model_name="generationrun",
            name="model",
            field=models.CharField(help_text="The endpoint's when the run was created.", max_length=200),
        ),
        migrations.AlterField(
            model_name="generationrun",
            name="params",
            field=models.JSONField(blank=True, default=dict, help_text="Parameters sent with each call."),
        ),
        migrations.AlterField(
            model_name="generationrun",
            name="settings_key",
            field=models.CharField(help_text="SHA-256 of all settings that affect the texts.", max_length=64),
        ),
        migrations.AlterField(
            model_name="generationrun",
            name="template",
            field=models.TextField(help_text="Prompt template; $source stands for the source text."),
        ),
        migrations.AlterField(
            model_name="judgerun",
            name="tables_as",
            field=models.CharField(
                blank=True, help_text="Variant under which people are shown the tables of its judgments.", max_length=40
            ),
        ),
        migrations.AlterField(
            model_name="judgment",
            name="worker",
            field=models.ForeignKey(
                blank=True,
                help_text="Worker on it now.",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="cells",
                to="judging.runworker",
            ),
        ),
        migrations.AlterField(
            model_name="runworker",
            name="heartbeat_at",
            field=models.DateTimeField(
                default=django.utils.timezone.now, help_text="The worker is alive while this is recent."
            ),
        ),
        migrations.AlterField(
            model_name="runworker",
            name="in_flight",
            field=models.PositiveIntegerField(default=0, help_text="Limit of its calls in flight."),
        ),
        migrations.AlterField(
            model_name="runworker",
            name="reserved",
            field=models.DecimalField(
                decimal_places=8,
                default=0,
                help_text="Budget that it may spend until its next heartbeat.",
                max_digits=14,
            ),
        ),
        migrations.AlterField(
            model_name="tablemaking",
            name="table",
            field=models.ForeignKey(
                blank=True,
                help_text="The winning table, where it is to be shown to people.",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="makings",
                to="annotation.comparisontable",
            ),
        ),
    ]
