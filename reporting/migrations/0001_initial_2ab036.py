import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import annotation.core.keys
import annotation.core.reasons


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("annotation", "__first__"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="DataChanges",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("study", models.BigIntegerField()),
                ("connection", models.IntegerField()),
                ("number", models.BigIntegerField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("study", "connection"), name="changes_counted_by_connection")
                ],
            },
        ),
        migrations.CreateModel(
            name="Sign",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=20, unique=True)),
                ("at", models.DateTimeField()),
                ("went_well", models.BooleanField(default=True)),
            ],
        ),
        migrations.CreateModel(
            name="MadeFile",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "key",
                    models.CharField(
                        default=annotation.core.keys.new_key,
                        editable=False,
                        help_text="The file's name.",
                        max_length=32,
                        unique=True,
                    ),
                ),
                (
                    "kind",
                    models.CharField(
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
                ("options", models.JSONField(default=dict)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("running", "Running"),
                            ("stopped", "Stopped"),
                            ("done", "Done"),
                        ],
                        default="stopped",
                        max_length=10,
                    ),
                ),
                ("message", annotation.core.reasons.ReasonField(blank=True, help_text="Why it stopped.")),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "heartbeat_at",
                    models.DateTimeField(blank=True, help_text="A process is at work while this is recent.", null=True),
                ),
                (
                    "executor",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="The process that holds it; empty: none.",
                        max_length=200,
                    ),
                ),
                ("done", models.PositiveIntegerField(default=0)),
                ("total", models.PositiveIntegerField(default=0)),
                (
                    "rate",
                    models.FloatField(blank=True, help_text="Done a second, while a process is at work.", null=True),
                ),
                ("ended_at", models.DateTimeField(blank=True, help_text="When it was done.", null=True)),
                ("software_version", models.CharField(max_length=40)),
                ("size", models.PositiveBigIntegerField(blank=True, help_text="Bytes.", null=True)),
                (
                    "departed",
                    models.CharField(blank=True, help_text="Digest of the raters who had left.", max_length=32),
                ),
                (
                    "asked_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="made_files", to="annotation.study"
                    ),
                ),
            ],
            options={
                "ordering": ["-created_at", "-pk"],
            },
        ),
        migrations.CreateModel(
            name="FindingsSnapshot",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("query", models.TextField(blank=True, help_text="The filters, as in an address.")),
                ("key", models.CharField(help_text="SHA-256 of the filters.", max_length=64)),
                (
                    "version",
                    models.CharField(
                        blank=True,
                        help_text="Of the data before they were read; empty: estimates without intervals.",
                        max_length=64,
                    ),
                ),
                (
                    "departed",
                    models.CharField(blank=True, help_text="Digest of the raters who had left.", max_length=32),
                ),
                ("numbers", models.BinaryField(help_text="The findings as JSON, compressed by zlib.")),
                ("read_at", models.DateTimeField(help_text="When the data were read.")),
                (
                    "checked_at",
                    models.DateTimeField(
                        default=django.utils.timezone.now, help_text="When the data were last the same."
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="findings_snapshots",
                        to="annotation.study",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("study", "key"), name="findings_snapshot_once_per_filters")
                ],
            },
        ),
        migrations.CreateModel(
            name="SentRequest",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(max_length=100)),
                ("digest", models.CharField(help_text="SHA-256 of the request.", max_length=64)),
                ("status", models.PositiveSmallIntegerField(default=200)),
                ("location", models.CharField(blank=True, max_length=200)),
                ("answer", models.TextField(blank=True, help_text="JSON; null: not kept.", null=True)),
                ("sent_at", models.DateTimeField(db_index=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("user", "key"), name="sent_request_once_per_key")],
            },
        ),
    ]
