from django.db import migrations, models


class Migration(migrations.Migration):
    """Runs on a part of a study's or a batch's pairs."""

    dependencies = [("judging", "0003_free_cells_and_reserved_money")]

    operations = [
        migrations.RemoveConstraint(model_name="judgerun", name="run_once_per_batch"),
        migrations.RemoveConstraint(model_name="judgerun", name="run_once_per_study"),
        migrations.AddField(
            model_name="judgerun",
            name="pair_filter",
            field=models.JSONField(blank=True, default=dict, help_text="Only these of the pairs; empty: all."),
        ),
        migrations.AddField(
            model_name="judgerun",
            name="filter_key",
            field=models.CharField(
                blank=True, default="", help_text="SHA-256 of the filter; empty without one.", max_length=64
            ),
            preserve_default=False,
        ),
        migrations.AddConstraint(
            model_name="judgerun",
            constraint=models.UniqueConstraint(
                condition=models.Q(("batch__isnull", False)),
                fields=("study", "judge", "batch", "filter_key"),
                name="run_once_per_batch_and_filter",
            ),
        ),
        migrations.AddConstraint(
            model_name="judgerun",
            constraint=models.UniqueConstraint(
                condition=models.Q(("batch", None)),
                fields=("study", "judge", "filter_key"),
                name="run_once_per_study_and_filter",
            ),
        ),
    ]
