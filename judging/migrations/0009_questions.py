from django.db import migrations, models

import judging.models.runs


class Migration(migrations.Migration):
    """A question on each judgment; what is there becomes an answer to the main one by a column default."""

    dependencies = [
        ("annotation", "0019_questions"),
        ("judging", "0008_plainer_field_help"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="judgment",
            options={"ordering": ["run", "pair", "order", "repeat", "question"]},
        ),
        migrations.RemoveConstraint(
            model_name="judgerun",
            name="run_once_per_batch_and_filter",
        ),
        migrations.RemoveConstraint(
            model_name="judgerun",
            name="run_once_per_study_and_filter",
        ),
        migrations.RemoveConstraint(
            model_name="judgment",
            name="judgment_once_per_presentation",
        ),
        migrations.AddField(
            model_name="judgerun",
            name="questions",
            field=models.JSONField(
                db_default=models.Value([0], models.JSONField()),
                default=judging.models.runs.main_question_only,
                help_text="The study's questions that it answers, by number, in ascending order.",
            ),
        ),
        migrations.AddField(
            model_name="judgment",
            name="question",
            field=models.PositiveSmallIntegerField(
                db_default=0, default=0, help_text="Of the study; 0 is the main one."
            ),
        ),
        migrations.AddConstraint(
            model_name="judgerun",
            constraint=models.UniqueConstraint(
                condition=models.Q(("batch__isnull", False)),
                fields=("study", "judge", "batch", "filter_key", "questions"),
                name="run_once_per_batch_and_filter",
            ),
        ),
        migrations.AddConstraint(
            model_name="judgerun",
            constraint=models.UniqueConstraint(
                condition=models.Q(("batch", None)),
                fields=("study", "judge", "filter_key", "questions"),
                name="run_once_per_study_and_filter",
            ),
        ),
        migrations.AddConstraint(
            model_name="judgment",
            constraint=models.UniqueConstraint(
                fields=("run", "pair", "order", "repeat", "negated", "question"), name="judgment_once_per_presentation"
            ),
        ),
    ]
