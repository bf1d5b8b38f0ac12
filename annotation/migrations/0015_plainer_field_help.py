import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    """Help texts and labels of choices only: no SQL on SQLite or PostgreSQL."""

    dependencies = [
        ("annotation", "0014_further_kinds_of_channels"),
    ]

    operations = [
        migrations.AlterField(
            model_name="alignment",
            name="digest",
            field=models.CharField(
                blank=True, default="", help_text="Hash of measure and texts: shows an outdated value.", max_length=64
            ),
        ),
        migrations.AlterField(
            model_name="annotator",
            name="withdrawn_at",
            field=models.DateTimeField(
                blank=True, help_text="Withdrew consent: later exports and findings hold none of their data.", null=True
            ),
        ),
        migrations.AlterField(
            model_name="assignment",
            name="late",
            field=models.BooleanField(default=False, help_text="Submitted after its lease had expired."),
        ),
        migrations.AlterField(
            model_name="assignment",
            name="state",
            field=models.CharField(
                choices=[
                    ("claimed", "Claimed"),
                    ("submitted", "Submitted"),
                    ("expired", "Lease expired"),
                    ("returned", "Returned"),
                ],
                default="claimed",
                max_length=10,
            ),
        ),
        migrations.AlterField(
            model_name="channel",
            name="batch",
            field=models.ForeignKey(
                blank=True,
                help_text="Empty: any batch.",
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="channels",
                to="annotation.batch",
            ),
        ),
        migrations.AlterField(
            model_name="channel",
            name="options",
            field=models.JSONField(
                blank=True, default=dict, help_text="The adapter's settings. Secrets are named, not stored."
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
                    ("unblocked", "Rater unblocked"),
                    ("message", "Message sent"),
                    ("archived", "Study archived"),
                    ("restored", "Study taken out of the archive"),
                    ("erased", "Personal data deleted"),
                    ("reopened", "Judge's presentations asked again"),
                ],
                max_length=12,
            ),
        ),
        migrations.AlterField(
            model_name="hit",
            name="external_id",
            field=models.CharField(blank=True, help_text="The HIT's id in the imported file.", max_length=200),
        ),
        migrations.AlterField(
            model_name="platformaction",
            name="key",
            field=models.CharField(help_text="Identifies the request, so that it is sent once.", max_length=100),
        ),
        migrations.AlterField(
            model_name="separabilityjob",
            name="asked",
            field=models.JSONField(help_text="Options of the request: similarity, model, group, samples, and so on."),
        ),
        migrations.AlterField(
            model_name="separabilityjob",
            name="done",
            field=models.PositiveIntegerField(default=0, help_text="Matchups whose alignments are computed."),
        ),
        migrations.AlterField(
            model_name="separabilityjob",
            name="executor",
            field=models.CharField(blank=True, default="", help_text="The process that executes it.", max_length=80),
        ),
        migrations.AlterField(
            model_name="separabilityrun",
            name="computed_at",
            field=models.DateTimeField(default=django.utils.timezone.now, help_text="When it was last requested."),
        ),
        migrations.AlterField(
            model_name="separabilityrun",
            name="model",
            field=models.CharField(
                blank=True,
                default="",
                help_text="Encoder of the texts; empty for a lexical similarity.",
                max_length=300,
            ),
        ),
        migrations.AlterField(
            model_name="separabilityrun",
            name="model_fingerprint",
            field=models.CharField(blank=True, default="", help_text="Hash of the model's weights.", max_length=64),
        ),
        migrations.AlterField(
            model_name="separabilityrun",
            name="seconds",
            field=models.FloatField(
                blank=True, help_text="Of the last computation that changed it, all configurations.", null=True
            ),
        ),
        migrations.AlterField(
            model_name="separabilityrun",
            name="texts_sha256",
            field=models.CharField(help_text="Hash of all input texts: shows an outdated run.", max_length=64),
        ),
        migrations.AlterField(
            model_name="slot",
            name="arm",
            field=models.CharField(
                blank=True, help_text="Reserved for raters of this arm; empty: for any.", max_length=50
            ),
        ),
        migrations.AlterField(
            model_name="stagedalignment",
            name="digest",
            field=models.CharField(
                blank=True, default="", help_text="Hash of measure and texts: shows an outdated value.", max_length=64
            ),
        ),
        migrations.AlterField(
            model_name="study",
            name="archived_at",
            field=models.DateTimeField(blank=True, help_text="An archived study gives out no HITs.", null=True),
        ),
        migrations.AlterField(
            model_name="study",
            name="balance_arms",
            field=models.BooleanField(default=True, help_text="Divide each HIT's slots evenly among its raters' arms."),
        ),
        migrations.AlterField(
            model_name="study",
            name="pay_late",
            field=models.BooleanField(
                default=False,
                help_text="Pay also for a HIT submitted after its lease expired, even if its slot is filled.",
            ),
        ),
        migrations.AlterField(
            model_name="submission",
            name="code",
            field=models.CharField(blank=True, help_text="Completion code that the rater was given.", max_length=100),
        ),
    ]
