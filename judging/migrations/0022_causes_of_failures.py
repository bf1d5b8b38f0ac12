from typing import Any, ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the cause of a failed presentation."""

    dependencies: ClassVar[list[tuple[str, str]]] = [("judging", "0021_mass_of_answer_tokens")]

    operations: ClassVar[list[Any]] = [
        migrations.AddField(
            "judgment",
            "cause",
            models.CharField(
                blank=True,
                choices=[
                    ("length", "Too long for the model"),
                    ("filter", "Stopped by a content filter"),
                    ("rejected", "Rejected by the endpoint"),
                    ("no_answer", "No answer"),
                ],
                db_default="",
                default="",
                help_text="Of a call without an answer; of an open presentation: of an earlier one.",
                max_length=10,
            ),
        ),
    ]
