import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """A question on each rating; what is there becomes an answer to the main one by a column default, without a rewrite."""

    dependencies = [
        ("annotation", "0018_render_math"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="rating",
            options={"ordering": ["display", "stage", "question"]},
        ),
        migrations.RemoveConstraint(
            model_name="rating",
            name="rating_once_per_stage",
        ),
        migrations.RemoveConstraint(
            model_name="votechange",
            name="vote_change_verdict_known",
        ),
        migrations.AddField(
            model_name="rating",
            name="question",
            field=models.PositiveSmallIntegerField(
                db_default=0, default=0, help_text="Its place among the study's questions; 0 is the main one."
            ),
        ),
        migrations.AddField(
            model_name="rating",
            name="strength",
            field=models.PositiveSmallIntegerField(
                blank=True,
                help_text="Of a preference: 1 slight, 2 strong; empty where not asked or not known.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="rating",
            name="tie_kind",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="Of “no preference”: both good or both bad.",
                max_length=4,
            ),
        ),
        migrations.AddField(
            model_name="study",
            name="criteria",
            field=models.JSONField(
                blank=True,
                db_default=models.Value([], models.JSONField()),
                default=list,
                help_text="Up to five further questions on each pair: key, text, description, choices.",
            ),
        ),
        migrations.AddField(
            model_name="study",
            name="first_reason",
            field=models.CharField(
                choices=[("off", "Not asked"), ("optional", "May be given"), ("required", "Needed on every pair")],
                db_default="off",
                default="off",
                help_text="A reason for each pair's first choice.",
                max_length=10,
            ),
        ),
        migrations.AddField(
            model_name="study",
            name="first_reason_min_length",
            field=models.PositiveSmallIntegerField(
                db_default=20,
                default=20,
                help_text="Characters that a needed reason for a first choice must have at least.",
            ),
        ),
        migrations.AddField(
            model_name="study",
            name="question_description",
            field=models.TextField(
                blank=True, db_default="", default="", help_text="Of the main question; shown to raters below it."
            ),
        ),
        migrations.AddField(
            model_name="study",
            name="question_key",
            field=models.CharField(
                db_default="overall",
                default="overall",
                help_text="Of the main question, in files and filters.",
                max_length=30,
            ),
        ),
        migrations.AddField(
            model_name="study",
            name="strength",
            field=models.BooleanField(
                db_default=False, default=False, help_text="Ask whether one is preferred much or slightly."
            ),
        ),
        migrations.AddField(
            model_name="study",
            name="tie_kinds",
            field=models.BooleanField(
                db_default=False, default=False, help_text="Split “no preference” into “both good” and “both bad”."
            ),
        ),
        migrations.AddField(
            model_name="votechange",
            name="question",
            field=models.PositiveSmallIntegerField(
                db_default=0, default=0, help_text="Its place among the study's questions; 0 is the main one."
            ),
        ),
        migrations.AddField(
            model_name="votechange",
            name="strength",
            field=models.PositiveSmallIntegerField(
                blank=True,
                help_text="Of a preference: 1 slight, 2 strong; empty where not asked or not known.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="votechange",
            name="tie_kind",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="Of “no preference”: both good or both bad.",
                max_length=4,
            ),
        ),
        migrations.AlterField(
            model_name="rating",
            name="display",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="annotation.display"
            ),
        ),
        migrations.AlterField(
            model_name="rating",
            name="verdict",
            field=models.SmallIntegerField(help_text="Study order: −1 prefers system A, +1 system B, 0 neither."),
        ),
        migrations.AlterField(
            model_name="votechange",
            name="display",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="annotation.display"
            ),
        ),
        migrations.AlterField(
            model_name="votechange",
            name="verdict",
            field=models.SmallIntegerField(help_text="Study order: −1 prefers system A, +1 system B, 0 neither."),
        ),
        migrations.AddConstraint(
            model_name="rating",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("strength", None),
                    models.Q(("strength__in", [1, 2]), models.Q(("verdict", 0), _negated=True)),
                    _connector="OR",
                ),
                name="rating_strength_of_a_preference",
            ),
        ),
        migrations.AddConstraint(
            model_name="rating",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("tie_kind", ""), models.Q(("tie_kind__in", ["good", "bad"]), ("verdict", 0)), _connector="OR"
                ),
                name="rating_kind_of_a_tie",
            ),
        ),
        migrations.AddConstraint(
            model_name="rating",
            constraint=models.UniqueConstraint(
                fields=("display", "stage", "question"), name="rating_once_per_stage_and_question"
            ),
        ),
        migrations.AddConstraint(
            model_name="rating",
            constraint=models.CheckConstraint(
                condition=models.Q(("stage", "first"), ("question", 0), _connector="OR"),
                name="rating_revised_is_the_main_one",
            ),
        ),
        migrations.AddConstraint(
            model_name="votechange",
            constraint=models.CheckConstraint(
                condition=models.Q(("verdict__in", [-1, 0, 1])), name="votechange_verdict_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="votechange",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("strength", None),
                    models.Q(("strength__in", [1, 2]), models.Q(("verdict", 0), _negated=True)),
                    _connector="OR",
                ),
                name="votechange_strength_of_a_preference",
            ),
        ),
        migrations.AddConstraint(
            model_name="votechange",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("tie_kind", ""), models.Q(("tie_kind__in", ["good", "bad"]), ("verdict", 0)), _connector="OR"
                ),
                name="votechange_kind_of_a_tie",
            ),
        ),
    ]
