"""Keep what was sent to be read into a study, and what came of it."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import annotation.core.keys


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0023_hash_api_tokens"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Upload",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "key",
                    models.CharField(
                        default=annotation.core.keys.new_key,
                        editable=False,
                        help_text="The folder's name.",
                        max_length=32,
                        unique=True,
                    ),
                ),
                ("kind", models.CharField(max_length=20)),
                ("names", models.JSONField(help_text="Of the files, as they were sent.")),
                ("options", models.JSONField(default=dict)),
                ("size", models.PositiveBigIntegerField(help_text="Bytes.")),
                (
                    "status",
                    models.CharField(
                        choices=[("queued", "Queued"), ("running", "Running"), ("done", "Done"), ("failed", "Failed")],
                        default="queued",
                        max_length=10,
                    ),
                ),
                ("message", models.TextField(blank=True, help_text="What was added, or why nothing was.")),
                ("bad_lines", models.JSONField(default=list, help_text="Number and reason of each.")),
                ("executor", models.CharField(blank=True, help_text="The process that reads it.", max_length=80)),
                ("asked_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
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
                        on_delete=django.db.models.deletion.CASCADE, related_name="uploads", to="annotation.study"
                    ),
                ),
            ],
            options={
                "ordering": ["-asked_at", "-pk"],
            },
        ),
    ]
