from typing import Any, ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the size of a provider's batches, and those that its queue did not take."""

    dependencies: ClassVar[list[tuple[str, str]]] = [("judging", "0022_causes_of_failures")]

    operations: ClassVar[list[Any]] = [
        migrations.AddField(
            "judgerun",
            "batch_size",
            models.PositiveIntegerField(
                blank=True, help_text="Most requests in a provider's batch; empty: as many as it takes.", null=True
            ),
        ),
        migrations.AlterField(
            "providerbatch",
            "status",
            models.CharField(
                choices=[
                    ("uploaded", "Uploaded"),
                    ("in_progress", "In progress"),
                    ("collected", "Collected"),
                    ("failed", "Failed"),
                    ("queue_full", "Over the queue limit"),
                ],
                default="uploaded",
                max_length=12,
            ),
        ),
    ]
