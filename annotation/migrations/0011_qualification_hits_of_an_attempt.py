"""How many HITs one attempt at a qualification has."""

import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0010_personal_data_can_be_erased"),
    ]

    operations = [
        migrations.AddField(
            model_name="study",
            name="qualification_hits",
            field=models.PositiveSmallIntegerField(
                blank=True,
                help_text="In one attempt; empty: all of them.",
                null=True,
                validators=[django.core.validators.MinValueValidator(1)],
            ),
        ),
        migrations.AlterField(
            model_name="assignment",
            name="attempt",
            field=models.PositiveSmallIntegerField(
                default=1, help_text="At the qualification; else above 1 where the annotator has had the HIT before."
            ),
        ),
    ]
