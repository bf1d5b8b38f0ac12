"""When raters' personal data were deleted, and how long a study keeps them."""

import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0009_slots_and_assignments_are_found_sooner"),
    ]

    operations = [
        migrations.AddField(
            model_name="annotator",
            name="erased_at",
            field=models.DateTimeField(
                blank=True,
                help_text="When the data that identify them were deleted; after a withdrawal their ratings too.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="study",
            name="keep_personal_days",
            field=models.PositiveSmallIntegerField(
                blank=True,
                help_text="Days from the study's end until the data that identify its raters are deleted; empty: until asked for.",
                null=True,
                validators=[django.core.validators.MinValueValidator(1)],
            ),
        ),
        migrations.AlterField(
            model_name="event",
            name="kind",
            field=models.CharField(
                choices=[
                    ("amendment", "The protocol was amended"),
                    ("launched", "Batch launched"),
                    ("paused", "Batch paused"),
                    ("closed", "Batch closed"),
                    ("extended", "Batch extended"),
                    ("excluded", "Rater excluded"),
                    ("included", "Rater included again"),
                    ("rejected", "Work rejected"),
                    ("accepted", "Rejected work accepted again"),
                    ("released", "Claim released"),
                    ("unblocked", "Rater let go on"),
                    ("message", "Message sent"),
                    ("archived", "Study archived"),
                    ("restored", "Study taken out of the archive"),
                    ("erased", "Personal data deleted"),
                ],
                max_length=12,
            ),
        ),
    ]
