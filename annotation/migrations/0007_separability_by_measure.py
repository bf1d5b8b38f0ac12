import django.db.models.deletion
import django.db.models.functions.comparison
import django.db.models.functions.text
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0006_more_kinds_of_tasks"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="SeparabilityJob",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("asked", models.JSONField(help_text="For what: similarity, model, group, samples, and so on.")),
                (
                    "status",
                    models.CharField(
                        choices=[("queued", "Queued"), ("running", "Running"), ("done", "Done"), ("failed", "Failed")],
                        default="queued",
                        max_length=10,
                    ),
                ),
                ("done", models.PositiveIntegerField(default=0, help_text="Matchups that have their alignments.")),
                ("total", models.PositiveIntegerField(default=0)),
                ("message", models.TextField(blank=True, default="", help_text="Why it failed.")),
                (
                    "executor",
                    models.CharField(blank=True, default="", help_text="The process that works on it.", max_length=80),
                ),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("asked_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("heartbeat_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ["-asked_at", "-pk"],
            },
        ),
        migrations.CreateModel(
            name="StagedAlignment",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "digest",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="Of the measure and the texts: tells when to compute again.",
                        max_length=64,
                    ),
                ),
                ("self_a", models.FloatField(help_text="Empty when A has a single generation.", null=True)),
                ("self_b", models.FloatField(help_text="Empty when B has a single generation.", null=True)),
                ("cross", models.FloatField()),
                ("measure_sha256", models.CharField(max_length=64)),
                ("staged_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.RemoveConstraint(
            model_name="separabilityrun",
            name="separability_once_per_configuration_and_similarity",
        ),
        migrations.AddField(
            model_name="alignment",
            name="digest",
            field=models.CharField(
                blank=True,
                default="",
                help_text="Of the measure and the texts: tells when to compute again.",
                max_length=64,
            ),
        ),
        migrations.AddField(
            model_name="generation",
            name="text_md5",
            field=models.GeneratedField(
                db_persist=True,
                expression=django.db.models.functions.text.MD5("text"),
                output_field=models.CharField(max_length=32),
            ),
        ),
        migrations.AddField(
            model_name="separabilityrun",
            name="cross_pairs",
            field=models.PositiveIntegerField(
                blank=True, help_text="Pairs of A and B drawn of each matchup; empty for all that there are.", null=True
            ),
        ),
        migrations.AddField(
            model_name="separabilityrun",
            name="model",
            field=models.CharField(
                blank=True,
                default="",
                help_text="What reads the texts; empty for a similarity of words.",
                max_length=300,
            ),
        ),
        migrations.AddField(
            model_name="separabilityrun",
            name="model_fingerprint",
            field=models.CharField(
                blank=True, default="", help_text="Of the model's weights: tells two of one name apart.", max_length=64
            ),
        ),
        migrations.AddField(
            model_name="separabilityrun",
            name="samples",
            field=models.PositiveIntegerField(
                blank=True, help_text="Generations drawn of each system; empty for all that there are.", null=True
            ),
        ),
        migrations.AddField(
            model_name="separabilityrun",
            name="seconds",
            field=models.FloatField(
                blank=True,
                help_text="That the computation took which last changed it, with all its configurations.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="separabilityrun",
            name="seed",
            field=models.PositiveBigIntegerField(
                blank=True, help_text="Of the draws; empty when nothing is drawn.", null=True
            ),
        ),
        migrations.AddField(
            model_name="separabilityrun",
            name="short",
            field=models.PositiveIntegerField(
                default=0,
                help_text="Matchups with fewer generations, or cross pairs, than were to be drawn: all were taken.",
            ),
        ),
        migrations.AlterField(
            model_name="separabilityrun",
            name="computed_at",
            field=models.DateTimeField(default=django.utils.timezone.now, help_text="When it was asked for last."),
        ),
        migrations.AddConstraint(
            model_name="separabilityrun",
            constraint=models.UniqueConstraint(
                models.F("study"),
                models.F("dataset"),
                models.F("system_a"),
                models.F("system_b"),
                models.F("similarity"),
                models.F("model"),
                models.F("model_fingerprint"),
                django.db.models.functions.comparison.Coalesce("samples", -1),
                django.db.models.functions.comparison.Coalesce("cross_pairs", -1),
                django.db.models.functions.comparison.Coalesce("seed", -1),
                name="separability_once_per_configuration_and_measure",
            ),
        ),
        migrations.AddField(
            model_name="separabilityjob",
            name="asked_by",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="separabilityjob",
            name="study",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="separability_jobs", to="annotation.study"
            ),
        ),
        migrations.AddField(
            model_name="stagedalignment",
            name="matchup",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="annotation.matchup"
            ),
        ),
        migrations.AddIndex(
            model_name="separabilityjob",
            index=models.Index(
                condition=models.Q(("status__in", ["queued", "running"])),
                fields=["status"],
                name="separability_job_at_work",
            ),
        ),
        migrations.AddConstraint(
            model_name="stagedalignment",
            constraint=models.UniqueConstraint(
                fields=("measure_sha256", "matchup"), name="staged_alignment_once_per_matchup"
            ),
        ),
    ]
