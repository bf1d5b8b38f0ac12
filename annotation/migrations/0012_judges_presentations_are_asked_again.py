"""A kind of log entry for judges' presentations that are asked again."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0011_qualification_hits_of_an_attempt"),
    ]

    operations = [
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
                    ("reopened", "Judge's presentations asked again"),
                ],
                max_length=12,
            ),
        ),
    ]
