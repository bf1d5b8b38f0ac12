import django.core.validators
import django.db.models.deletion
import django.db.models.functions.comparison
import django.db.models.functions.text
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import annotation.core.keys
import annotation.core.reasons
import annotation.models.recruitment


def make_main_group(apps, schema_editor):
    """Make the group that a new server begins with."""
    apps.get_model("annotation", "ResearchGroup").objects.create(slug="main", name="Main group")


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("happened_at", models.DateTimeField(db_index=True, default=django.utils.timezone.now)),
                ("account", models.PositiveBigIntegerField(help_text="The account's number; it may be gone.")),
                ("method", models.CharField(max_length=7)),
                ("action", models.CharField(help_text="The page's name.", max_length=120)),
                ("about", models.JSONField(default=dict, help_text="The keys in the page's address.")),
                ("status", models.PositiveSmallIntegerField(help_text="Of the response.")),
                ("request_id", models.CharField(max_length=64)),
                (
                    "changes",
                    models.JSONField(
                        default=list, help_text="What the study's log got from this request, before and after."
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "audit entries",
                "ordering": ["pk"],
            },
        ),
        migrations.CreateModel(
            name="Batch",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=200, verbose_name="Name")),
                ("dataset", models.CharField(max_length=100, verbose_name="Data set")),
                ("pairs_per_hit", models.PositiveIntegerField(verbose_name="Pairs per HIT")),
                (
                    "raters_per_hit",
                    models.PositiveIntegerField(help_text="Of a batch for ratings.", verbose_name="Raters per HIT"),
                ),
                ("selection", models.JSONField(default=dict, help_text="How the instances were chosen.")),
                (
                    "seed",
                    models.PositiveIntegerField(
                        default=annotation.core.keys.new_seed,
                        help_text="Of the draw; it is recorded. Clear it for another draw.",
                        verbose_name="Seed",
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("draft", "Draft: not launched yet"),
                            ("open", "Open"),
                            ("paused", "Paused"),
                            ("closed", "Closed"),
                        ],
                        default="open",
                        max_length=10,
                    ),
                ),
                (
                    "origin",
                    models.CharField(
                        choices=[("collected", "Rated here"), ("imported", "Imported")],
                        default="collected",
                        max_length=10,
                    ),
                ),
                (
                    "purpose",
                    models.CharField(
                        choices=[
                            ("rating", "Ratings"),
                            ("qualification", "Qualification: before the first HIT, with feedback"),
                            ("gold", "Hidden checks with a known answer"),
                        ],
                        default="rating",
                        help_text="Qualifications and hidden checks use instances whose gold prefers one of the two systems. Every rater gets them.",
                        max_length=15,
                        verbose_name="What the answers are for",
                    ),
                ),
                (
                    "gold_rate",
                    models.FloatField(
                        default=0.0,
                        help_text="Share of a rater’s HITs, such as 0.1. They come from the study’s gold batches.",
                        verbose_name="Hidden gold HITs",
                    ),
                ),
                (
                    "repeat_rate",
                    models.FloatField(
                        default=0.0,
                        help_text="Share of a rater’s HITs that repeat an earlier one with sides swapped. Gold and repeats together: at most 0.5.",
                        verbose_name="Hidden repeats",
                    ),
                ),
                (
                    "lease_minutes",
                    models.PositiveIntegerField(
                        default=60,
                        help_text="How long a HIT stays claimed without activity; then others may claim it.",
                        verbose_name="Minutes for a HIT",
                    ),
                ),
                (
                    "most_hits_per_rater",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="Of this batch. Default: the study’s limit.",
                        null=True,
                        verbose_name="HITs for one rater at most",
                    ),
                ),
                (
                    "stop_rule",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="The batch closes itself when the preference is clear (decided), the interval of the win rate is narrow (width:0.1), it is known whether a judge can replace raters (judge:NAME), or the pay reaches an amount (budget:100). Claimed HITs still count. Default: all HITs are rated.",
                        max_length=200,
                        verbose_name="Stop when",
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("launched_at", models.DateTimeField(blank=True, null=True)),
                ("closed_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "verbose_name_plural": "batches",
                "ordering": ["study", "created_at", "pk"],
            },
        ),
        migrations.CreateModel(
            name="ComparisonTable",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("table_id", models.CharField(max_length=200)),
                ("variant", models.CharField(max_length=40)),
                ("aspects", models.JSONField(default=list)),
                ("rows", models.JSONField(default=list)),
                ("made_by", models.JSONField(blank=True, default=dict)),
            ],
            options={
                "ordering": ["pair", "variant", "table_id"],
            },
        ),
        migrations.CreateModel(
            name="Instance",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("instance_id", models.CharField(help_text="The id in the file that it came from.", max_length=200)),
                ("dataset", models.CharField(max_length=100)),
                ("source", models.TextField(blank=True)),
                (
                    "messages",
                    models.TextField(
                        editable=False,
                        help_text="JSON of the messages, as they came, whose transcript the source is.",
                        null=True,
                    ),
                ),
                ("gold", models.JSONField(blank=True, null=True)),
                ("metadata", models.JSONField(blank=True, default=dict)),
                ("position", models.PositiveIntegerField()),
            ],
            options={
                "ordering": ["study", "position"],
            },
        ),
        migrations.CreateModel(
            name="ResearchGroup",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("slug", models.SlugField(max_length=80, unique=True)),
                ("name", models.CharField(max_length=200)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
            options={
                "ordering": ["slug"],
            },
        ),
        migrations.CreateModel(
            name="SeparabilityRun",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("similarity", models.CharField(max_length=60)),
                (
                    "model",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="Encoder of the texts; empty for a lexical similarity.",
                        max_length=300,
                    ),
                ),
                (
                    "model_fingerprint",
                    models.CharField(blank=True, default="", help_text="Hash of the model's weights.", max_length=64),
                ),
                (
                    "samples",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="Generations drawn of each system; empty for all that there are.",
                        null=True,
                    ),
                ),
                (
                    "cross_pairs",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="Pairs of A and B drawn of each matchup; empty for all that there are.",
                        null=True,
                    ),
                ),
                (
                    "seed",
                    models.PositiveBigIntegerField(
                        blank=True, help_text="Of the draws; empty when nothing is drawn.", null=True
                    ),
                ),
                ("dataset", models.CharField(max_length=100)),
                ("group", models.CharField(help_text="configuration, study, or constants", max_length=60)),
                ("low", models.FloatField(help_text="Smallest alignment of the normalisation group: becomes 0.")),
                ("high", models.FloatField(help_text="Largest alignment of the normalisation group: becomes 1.")),
                (
                    "texts_sha256",
                    models.CharField(help_text="Hash of all input texts: shows an outdated run.", max_length=64),
                ),
                (
                    "short",
                    models.PositiveIntegerField(
                        default=0,
                        help_text="Matchups with fewer generations, or cross pairs, than were to be drawn: all were taken.",
                    ),
                ),
                (
                    "computed_at",
                    models.DateTimeField(default=django.utils.timezone.now, help_text="When it was last requested."),
                ),
                (
                    "seconds",
                    models.FloatField(
                        blank=True, help_text="Of the last computation that changed it, all configurations.", null=True
                    ),
                ),
                ("software_version", models.CharField(max_length=40)),
            ],
            options={
                "ordering": ["-computed_at", "-pk"],
            },
        ),
        migrations.CreateModel(
            name="Annotator",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("code", models.CharField(max_length=200)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("account", "Account here"),
                            ("imported", "Imported ratings"),
                            ("scripted", "Scripted: a program, not a person"),
                            ("invited", "Invited by a one-time link"),
                            ("anonymous", "Anonymous link"),
                            ("prolific", "Prolific"),
                            ("mturk", "Amazon Mechanical Turk"),
                        ],
                        max_length=20,
                    ),
                ),
                ("joined_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("excluded", models.BooleanField(default=False, help_text="Left out of findings; nothing is deleted.")),
                ("exclusion_reason", models.CharField(blank=True, max_length=300)),
                (
                    "withdrawn_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="Withdrew consent: later exports and findings hold none of their data.",
                        null=True,
                    ),
                ),
                (
                    "erased_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="When the data that identify them were deleted; after a withdrawal their ratings too.",
                        null=True,
                    ),
                ),
                (
                    "warned_at",
                    models.DateTimeField(blank=True, help_text="Fell below a threshold that warns.", null=True),
                ),
                (
                    "blocked_at",
                    models.DateTimeField(blank=True, help_text="Fell below a threshold that ends the work.", null=True),
                ),
                ("block_reason", annotation.core.reasons.ReasonField(blank=True)),
                (
                    "user",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="annotators",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["study", "code"],
            },
        ),
        migrations.CreateModel(
            name="Channel",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "key",
                    models.CharField(default=annotation.core.keys.new_key, editable=False, max_length=32, unique=True),
                ),
                ("kind", models.CharField(choices=annotation.models.recruitment.channel_kinds, max_length=12)),
                ("name", models.CharField(max_length=100)),
                ("is_open", models.BooleanField(default=False)),
                (
                    "options",
                    models.JSONField(
                        blank=True, default=dict, help_text="The adapter's settings. Secrets are named, not stored."
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "batch",
                    models.ForeignKey(
                        blank=True,
                        help_text="Default: all open batches.",
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="channels",
                        to="annotation.batch",
                    ),
                ),
            ],
            options={
                "ordering": ["study", "created_at", "pk"],
            },
        ),
        migrations.CreateModel(
            name="Consent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("version", models.PositiveIntegerField()),
                ("text", models.TextField(blank=True, help_text="As it was shown.")),
                ("accepted", models.BooleanField()),
                ("answered_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "annotator",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="consents", to="annotation.annotator"
                    ),
                ),
            ],
            options={
                "ordering": ["answered_at"],
            },
        ),
        migrations.CreateModel(
            name="Hit",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "key",
                    models.CharField(default=annotation.core.keys.new_key, editable=False, max_length=64, unique=True),
                ),
                ("position", models.PositiveIntegerField(help_text="Seeded random place in the queue.")),
                (
                    "external_id",
                    models.CharField(blank=True, help_text="The HIT's id in the imported file.", max_length=200),
                ),
                ("inclusion_probability", models.FloatField(blank=True, null=True)),
                (
                    "batch",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="hits", to="annotation.batch"
                    ),
                ),
            ],
            options={
                "verbose_name": "HIT",
                "ordering": ["batch", "position"],
            },
        ),
        migrations.CreateModel(
            name="Assignment",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "key",
                    models.CharField(default=annotation.core.keys.new_key, editable=False, max_length=32, unique=True),
                ),
                (
                    "state",
                    models.CharField(
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
                (
                    "purpose",
                    models.CharField(
                        choices=[
                            ("rating", "Rating"),
                            ("qualification", "Qualification"),
                            ("gold", "Hidden check with a known answer"),
                            ("repeat", "Hidden repeat of an earlier HIT, sides swapped"),
                        ],
                        default="rating",
                        max_length=15,
                    ),
                ),
                (
                    "attempt",
                    models.PositiveSmallIntegerField(
                        default=1,
                        help_text="At the qualification; else above 1 where the annotator has had the HIT before.",
                    ),
                ),
                (
                    "arm",
                    models.CharField(
                        blank=True, help_text="In a two-stage study: what the second stage shows.", max_length=50
                    ),
                ),
                (
                    "seed",
                    models.PositiveIntegerField(
                        default=annotation.core.keys.new_seed, help_text="Draws the displays' seeds and the tables."
                    ),
                ),
                ("claimed_at", models.DateTimeField(default=django.utils.timezone.now, null=True)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                (
                    "locked_at",
                    models.DateTimeField(
                        blank=True, help_text="When the first votes were closed to changes.", null=True
                    ),
                ),
                ("submitted_at", models.DateTimeField(blank=True, null=True)),
                ("late", models.BooleanField(default=False, help_text="Submitted after its lease had expired.")),
                (
                    "pay_due",
                    models.DecimalField(
                        blank=True, decimal_places=2, help_text="Settled at submission.", max_digits=8, null=True
                    ),
                ),
                ("returned_at", models.DateTimeField(blank=True, null=True)),
                (
                    "return_reason",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("unclear", "I don't understand the texts or the question"),
                            ("upsetting", "I don't want to read this"),
                            ("broken", "Something on the page doesn't work"),
                            ("no-time", "I have no time for it now"),
                            ("other", "Something else"),
                        ],
                        max_length=15,
                    ),
                ),
                ("return_comment", models.TextField(blank=True)),
                (
                    "work_seconds",
                    models.FloatField(blank=True, help_text="For the whole HIT, where only that is known.", null=True),
                ),
                ("excluded", models.BooleanField(default=False)),
                ("exclusion_reason", models.CharField(blank=True, max_length=300)),
                (
                    "annotator",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="assignments",
                        to="annotation.annotator",
                    ),
                ),
                (
                    "repeat_of",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="repeats",
                        to="annotation.assignment",
                    ),
                ),
                (
                    "hit",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="assignments", to="annotation.hit"
                    ),
                ),
            ],
            options={
                "ordering": ["pk"],
            },
        ),
        migrations.CreateModel(
            name="Generation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("index", models.PositiveIntegerField()),
                ("text", models.TextField()),
                (
                    "messages",
                    models.TextField(
                        editable=False,
                        help_text="JSON of the messages, as they came, whose transcript the text is.",
                        null=True,
                    ),
                ),
                (
                    "text_md5",
                    models.GeneratedField(
                        db_persist=True,
                        expression=django.db.models.functions.text.MD5("text"),
                        output_field=models.CharField(max_length=32),
                    ),
                ),
                (
                    "instance",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="generations",
                        to="annotation.instance",
                    ),
                ),
            ],
            options={
                "ordering": ["instance", "system", "index"],
            },
        ),
        migrations.CreateModel(
            name="Invitation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("digest", models.CharField(help_text="SHA-256 of the link's token.", max_length=64, unique=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("expires_at", models.DateTimeField()),
                ("used_at", models.DateTimeField(blank=True, null=True)),
                (
                    "annotator",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="invitation",
                        to="annotation.annotator",
                    ),
                ),
                (
                    "channel",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="invitations", to="annotation.channel"
                    ),
                ),
            ],
            options={
                "ordering": ["channel", "pk"],
            },
        ),
        migrations.CreateModel(
            name="Mail",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "key",
                    models.CharField(
                        default=annotation.core.keys.new_key,
                        editable=False,
                        help_text="Of the Message-ID.",
                        max_length=32,
                        unique=True,
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("invitation", "Invitation"),
                            ("sign-in", "Sign-in link"),
                            ("reset", "New password"),
                            ("address", "Confirmation of an address"),
                            ("stopped", "A batch was closed by its stop rule"),
                        ],
                        max_length=12,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting to be sent"),
                            ("sending", "Being sent"),
                            ("sent", "Sent"),
                            ("failed", "Not sent"),
                            ("unsure", "Perhaps sent: the connection broke while it was"),
                        ],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                ("address", models.EmailField(blank=True, help_text="Emptied when it is sent.", max_length=254)),
                ("address_digest", models.CharField(blank=True, help_text="Keyed hash, for limits.", max_length=64)),
                ("language", models.CharField(max_length=10)),
                ("attempts", models.PositiveIntegerField(default=0)),
                (
                    "error",
                    annotation.core.reasons.ReasonField(blank=True, help_text="Why the last attempt failed."),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("due_at", models.DateTimeField(default=django.utils.timezone.now, help_text="When it is tried next.")),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                (
                    "invitation",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="mails",
                        to="annotation.invitation",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="mails",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["pk"],
            },
        ),
        migrations.CreateModel(
            name="Matchup",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "instance",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="matchups", to="annotation.instance"
                    ),
                ),
            ],
            options={
                "ordering": ["instance__position", "system_a__position", "system_b__position"],
            },
        ),
        migrations.AddField(
            model_name="hit",
            name="matchup",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="hits", to="annotation.matchup"
            ),
        ),
        migrations.CreateModel(
            name="Message",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("text", models.TextField()),
                ("sent_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("read_at", models.DateTimeField(blank=True, null=True)),
                (
                    "annotator",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="messages", to="annotation.annotator"
                    ),
                ),
            ],
            options={
                "ordering": ["sent_at", "pk"],
            },
        ),
        migrations.CreateModel(
            name="Pair",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "key",
                    models.CharField(default=annotation.core.keys.new_key, editable=False, max_length=32, unique=True),
                ),
                ("index", models.PositiveIntegerField()),
                (
                    "generation_a",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="pairs_as_a",
                        to="annotation.generation",
                    ),
                ),
                (
                    "generation_b",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="pairs_as_b",
                        to="annotation.generation",
                    ),
                ),
                (
                    "matchup",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="pairs", to="annotation.matchup"
                    ),
                ),
            ],
            options={
                "ordering": ["matchup", "index"],
            },
        ),
        migrations.CreateModel(
            name="HitPair",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("position", models.PositiveIntegerField()),
                (
                    "hit",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="hit_pairs", to="annotation.hit"
                    ),
                ),
                (
                    "pair",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="hit_pairs", to="annotation.pair"
                    ),
                ),
            ],
            options={
                "verbose_name": "HIT pair",
                "ordering": ["hit", "position"],
            },
        ),
        migrations.AddField(
            model_name="hit",
            name="pairs",
            field=models.ManyToManyField(related_name="hits", through="annotation.HitPair", to="annotation.pair"),
        ),
        migrations.CreateModel(
            name="Display",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("position", models.PositiveIntegerField()),
                (
                    "a_is_left",
                    models.BooleanField(
                        blank=True,
                        help_text="Left is shown first; empty where an imported file does not say.",
                        null=True,
                    ),
                ),
                (
                    "seed",
                    models.PositiveIntegerField(
                        blank=True, help_text="Of this annotator and pair: draws its place and its sides.", null=True
                    ),
                ),
                ("shown_at", models.DateTimeField(blank=True, help_text="When the page was first sent.", null=True)),
                (
                    "second_shown_at",
                    models.DateTimeField(blank=True, help_text="When the second stage began on this pair.", null=True),
                ),
                (
                    "assignment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="displays", to="annotation.assignment"
                    ),
                ),
                (
                    "table",
                    models.ForeignKey(
                        blank=True,
                        help_text="Shown in the second stage.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="displays",
                        to="annotation.comparisontable",
                    ),
                ),
                (
                    "pair",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="displays", to="annotation.pair"
                    ),
                ),
            ],
            options={
                "ordering": ["assignment", "position"],
            },
        ),
        migrations.AddField(
            model_name="comparisontable",
            name="pair",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="tables", to="annotation.pair"
            ),
        ),
        migrations.CreateModel(
            name="Participant",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("external_id", models.CharField(max_length=200)),
                ("joined_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "annotator",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="participant",
                        to="annotation.annotator",
                    ),
                ),
                (
                    "channel",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="participants",
                        to="annotation.channel",
                    ),
                ),
            ],
            options={
                "ordering": ["channel", "pk"],
            },
        ),
        migrations.CreateModel(
            name="QualificationResult",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("attempt", models.PositiveSmallIntegerField()),
                ("pairs", models.PositiveIntegerField()),
                ("right", models.PositiveIntegerField()),
                ("needed_share", models.FloatField()),
                ("passed", models.BooleanField()),
                ("finished_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "annotator",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="qualification_results",
                        to="annotation.annotator",
                    ),
                ),
            ],
            options={
                "ordering": ["annotator", "attempt"],
            },
        ),
        migrations.CreateModel(
            name="Rating",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "question",
                    models.PositiveSmallIntegerField(
                        db_default=0, default=0, help_text="Its place among the study's questions; 0 is the main one."
                    ),
                ),
                (
                    "verdict",
                    models.SmallIntegerField(help_text="Study order: −1 prefers system A, +1 system B, 0 neither."),
                ),
                (
                    "strength",
                    models.PositiveSmallIntegerField(
                        blank=True,
                        help_text="Of a preference: 1 slight, 2 strong; empty where not asked or not known.",
                        null=True,
                    ),
                ),
                (
                    "tie_kind",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="Of “no preference”: both good or both bad.",
                        max_length=4,
                    ),
                ),
                (
                    "stage",
                    models.CharField(
                        choices=[("first", "First vote"), ("revised", "After the comparison table")],
                        default="first",
                        max_length=10,
                    ),
                ),
                ("reason", models.TextField(blank=True)),
                ("arm", models.CharField(blank=True, max_length=50)),
                ("active_seconds", models.FloatField(blank=True, null=True)),
                ("wall_seconds", models.FloatField(blank=True, null=True)),
                ("rated_at", models.DateTimeField(blank=True, null=True)),
                ("late", models.BooleanField(default=False)),
                (
                    "translated",
                    models.BooleanField(
                        blank=True,
                        help_text="Whether the browser had translated the page; empty where not reported.",
                        null=True,
                    ),
                ),
                ("software_version", models.CharField(blank=True, max_length=40)),
                (
                    "display",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="annotation.display"
                    ),
                ),
                (
                    "table",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.comparisontable",
                    ),
                ),
            ],
            options={
                "ordering": ["display", "stage", "question"],
            },
        ),
        migrations.CreateModel(
            name="Alignment",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "digest",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="Hash of measure and texts: shows an outdated value.",
                        max_length=64,
                    ),
                ),
                ("self_a", models.FloatField(help_text="Empty when A has a single generation.", null=True)),
                ("self_b", models.FloatField(help_text="Empty when B has a single generation.", null=True)),
                ("cross", models.FloatField()),
                ("separability", models.FloatField(null=True)),
                (
                    "matchup",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="alignments", to="annotation.matchup"
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="alignments",
                        to="annotation.separabilityrun",
                    ),
                ),
            ],
            options={
                "ordering": ["run", "matchup"],
            },
        ),
        migrations.CreateModel(
            name="Slot",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                ("position", models.PositiveIntegerField(help_text="The HIT's place in the queue.")),
                (
                    "arm",
                    models.CharField(
                        blank=True, help_text="Reserved for raters of this arm. Default: any arm.", max_length=50
                    ),
                ),
                (
                    "assignment",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="slot",
                        to="annotation.assignment",
                    ),
                ),
                (
                    "batch",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="slots", to="annotation.batch"
                    ),
                ),
                (
                    "hit",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="slots", to="annotation.hit"
                    ),
                ),
            ],
            options={
                "ordering": ["hit", "number"],
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
                        help_text="Hash of measure and texts: shows an outdated value.",
                        max_length=64,
                    ),
                ),
                ("self_a", models.FloatField(help_text="Empty when A has a single generation.", null=True)),
                ("self_b", models.FloatField(help_text="Empty when B has a single generation.", null=True)),
                ("cross", models.FloatField()),
                ("measure_sha256", models.CharField(max_length=64)),
                ("staged_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "matchup",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="annotation.matchup"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Study",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "key",
                    models.CharField(default=annotation.core.keys.new_key, editable=False, max_length=32, unique=True),
                ),
                ("slug", models.SlugField(max_length=80, unique=True)),
                (
                    "title",
                    models.CharField(
                        help_text="On researchers’ pages and in exports.", max_length=200, verbose_name="Title"
                    ),
                ),
                (
                    "task_kind",
                    models.CharField(
                        choices=[
                            ("summarization", "Summarisation"),
                            ("summarization-concise", "Concise summarisation"),
                            ("dialogue", "Dialogue"),
                            ("harmless", "Harmlessness"),
                            ("ranking", "Ranking of documents"),
                            ("translation", "Translation"),
                            ("instruction", "Following instructions"),
                            ("chat", "Chat"),
                            ("ordering", "Order of events"),
                            ("free", "Other (the study's own question)"),
                        ],
                        default="summarization",
                        help_text="Decides which prompt judges get.",
                        max_length=40,
                        verbose_name="Task",
                    ),
                ),
                (
                    "question",
                    models.CharField(
                        default="Which one is better?",
                        help_text="Asked about each pair. Of several questions it is the main one: gold labels and checks are about it.",
                        max_length=300,
                        verbose_name="Question",
                    ),
                ),
                (
                    "source_label",
                    models.CharField(
                        default="Source text",
                        help_text="Above the source, on raters’ pages and in judges’ prompts.",
                        max_length=60,
                        verbose_name="Heading of the source text",
                    ),
                ),
                (
                    "label_left",
                    models.CharField(
                        default="Left",
                        help_text="Above the text on the left, and on its button.",
                        max_length=40,
                        verbose_name="Name of the left text",
                    ),
                ),
                (
                    "label_right",
                    models.CharField(
                        default="Right",
                        help_text="Above the text on the right, and on its button.",
                        max_length=40,
                        verbose_name="Name of the right text",
                    ),
                ),
                (
                    "guidelines",
                    models.TextField(
                        blank=True, help_text="How to rate, with examples. Default: none.", verbose_name="Guidelines"
                    ),
                ),
                (
                    "consent_text",
                    models.TextField(
                        default="You will compare pairs of texts and say which one you prefer.\n\n- Your choices are stored under a random code, together with the time they were made.\n- They are used for research and may be published in that form.\n- You may stop at any time.",
                        help_text="If you change it, all raters are asked again. Default: a general text.",
                        verbose_name="Consent text",
                    ),
                ),
                ("consent_version", models.PositiveIntegerField(default=1)),
                (
                    "content_warning",
                    models.TextField(
                        blank=True,
                        help_text="Shown to raters on every page. Default: none.",
                        verbose_name="Content warning",
                    ),
                ),
                (
                    "contact",
                    models.CharField(
                        blank=True,
                        help_text="How raters can reach you, such as an e-mail address. Shown on every page. Default: none.",
                        max_length=200,
                        verbose_name="Contact",
                    ),
                ),
                (
                    "language",
                    models.CharField(
                        blank=True,
                        help_text="A tag such as en, ar or pt-BR, for screen readers and invitations by mail. Default: unknown or mixed.",
                        max_length=35,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$", "Not a language tag such as en or pt-BR."
                            )
                        ],
                        verbose_name="Language of the texts",
                    ),
                ),
                (
                    "render_markdown",
                    models.BooleanField(
                        default=False,
                        help_text="Links and pictures are left out.",
                        verbose_name="Render Markdown in sources and generations",
                    ),
                ),
                (
                    "render_math",
                    models.BooleanField(
                        default=False,
                        help_text="$…$ and \\(…\\) within a line, $$…$$ and \\[…\\] on lines of their own.",
                        verbose_name="Show LaTeX as formulas",
                    ),
                ),
                (
                    "ties_allowed",
                    models.BooleanField(
                        default=True,
                        help_text="Without it, raters must choose a side. Findings count it as a tie.",
                        verbose_name="Offer “no preference”",
                    ),
                ),
                (
                    "strength",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="Much or slightly. Findings use the side; one measure of agreement uses the strength too.",
                        verbose_name="Ask how much one is preferred",
                    ),
                ),
                (
                    "tie_kinds",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="In place of “no preference”: “both are good” and “both are bad”.",
                        verbose_name="Ask whether both are good or both are bad",
                    ),
                ),
                (
                    "question_key",
                    models.CharField(
                        db_default="overall",
                        default="overall",
                        help_text="Its name in files and filters, if there are several questions.",
                        max_length=30,
                        verbose_name="Key of the question",
                    ),
                ),
                (
                    "question_description",
                    models.TextField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="Shown to raters below the question. Default: none.",
                        verbose_name="Description of the question",
                    ),
                ),
                (
                    "criteria",
                    models.JSONField(
                        blank=True,
                        db_default=models.Value([], models.JSONField()),
                        default=list,
                        help_text="Up to five further questions on each pair: key, text, description, choices.",
                    ),
                ),
                (
                    "first_reason",
                    models.CharField(
                        choices=[
                            ("off", "Not asked"),
                            ("optional", "Optional"),
                            ("required", "Required on every pair"),
                        ],
                        db_default="off",
                        default="off",
                        help_text="In the rater’s own words, next to the main question.",
                        max_length=10,
                        verbose_name="Reason for the first choice",
                    ),
                ),
                (
                    "first_reason_min_length",
                    models.PositiveSmallIntegerField(
                        db_default=20,
                        default=20,
                        help_text="In characters, if a reason is required.",
                        verbose_name="Minimum length of that reason",
                    ),
                ),
                (
                    "pair_order",
                    models.CharField(
                        choices=[("random", "Random, drawn for each rater"), ("fixed", "The same for every rater")],
                        default="random",
                        help_text="Random: drawn for each rater, so that no pair always comes first.",
                        max_length=10,
                        verbose_name="Order of the pairs on a page",
                    ),
                ),
                (
                    "auto_advance",
                    models.BooleanField(
                        default=True,
                        help_text="Raters can switch it off for themselves.",
                        verbose_name="Go to the next pair after each choice",
                    ),
                ),
                (
                    "protocol",
                    models.CharField(
                        choices=[
                            ("one-stage", "One vote on each pair"),
                            ("two-stage", "A vote on each pair, then a second one beside a comparison table"),
                        ],
                        default="one-stage",
                        help_text="Two stages: a second vote on each pair, next to a comparison table or without one.",
                        max_length=10,
                        verbose_name="How often raters are asked",
                    ),
                ),
                (
                    "arms",
                    models.JSONField(
                        blank=True,
                        default=list,
                        help_text="Names of the arms of a two-stage study: none, table:VARIANT, placebo:VARIANT.",
                    ),
                ),
                (
                    "arm_unit",
                    models.CharField(
                        choices=[
                            ("rater", "Raters: each is in one arm throughout"),
                            ("instance", "Instances: each is in one arm for every rater"),
                        ],
                        default="rater",
                        help_text="Raters: each sees one kind throughout. Instances: each instance has one kind for all.",
                        max_length=10,
                        verbose_name="What is split into arms",
                    ),
                ),
                (
                    "balance_arms",
                    models.BooleanField(
                        default=True,
                        help_text="If raters are split: each HIT gets as many raters of one arm as of another.",
                        verbose_name="Keep the same number of slots for each arm",
                    ),
                ),
                (
                    "reason_min_length",
                    models.PositiveSmallIntegerField(
                        default=20,
                        help_text="In characters. Only a changed choice needs a reason.",
                        verbose_name="Minimum length of a reason",
                    ),
                ),
                (
                    "pairs_per_hit",
                    models.PositiveSmallIntegerField(
                        default=5,
                        help_text="A HIT is one page for a rater: an instance and N of its pairs.",
                        validators=[django.core.validators.MinValueValidator(1)],
                        verbose_name="Pairs per HIT (N)",
                    ),
                ),
                (
                    "raters_per_hit",
                    models.PositiveSmallIntegerField(
                        default=3,
                        help_text="The number of ratings of each pair.",
                        validators=[django.core.validators.MinValueValidator(1)],
                        verbose_name="Raters per HIT (R)",
                    ),
                ),
                (
                    "most_hits_per_rater",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="In the whole study. Default: no limit.",
                        null=True,
                        validators=[django.core.validators.MinValueValidator(1)],
                        verbose_name="HITs per rater at most",
                    ),
                ),
                (
                    "pay_per_hit",
                    models.DecimalField(
                        blank=True,
                        decimal_places=2,
                        help_text="What a rater gets for a HIT. Default: no pay is shown.",
                        max_digits=8,
                        null=True,
                        validators=[django.core.validators.MinValueValidator(0)],
                        verbose_name="Pay per HIT",
                    ),
                ),
                (
                    "currency",
                    models.CharField(
                        blank=True,
                        help_text="Three capital letters, such as EUR. Default: none.",
                        max_length=3,
                        validators=[
                            django.core.validators.RegexValidator("^[A-Z]{3}$", "Three capital letters, such as EUR.")
                        ],
                        verbose_name="Currency",
                    ),
                ),
                (
                    "minutes_per_hit",
                    models.PositiveSmallIntegerField(
                        blank=True,
                        help_text="Shown before consent. Hours of work and pay per hour are computed from it. Default: unknown.",
                        null=True,
                        validators=[django.core.validators.MinValueValidator(1)],
                        verbose_name="Expected minutes per HIT",
                    ),
                ),
                (
                    "pay_late",
                    models.BooleanField(
                        default=False,
                        help_text="A HIT submitted after its time counts only if its slot is still free.",
                        verbose_name="Pay for late HITs that no longer count",
                    ),
                ),
                (
                    "keep_personal_days",
                    models.PositiveSmallIntegerField(
                        blank=True,
                        help_text="Counted from the day the study is archived or its last batch is closed. Accounts, platform ids and messages are deleted; ratings stay under codes. Default: kept until a rater or a study admin deletes them.",
                        null=True,
                        validators=[django.core.validators.MinValueValidator(1)],
                        verbose_name="Days until personal data are deleted",
                    ),
                ),
                (
                    "qualification_share",
                    models.FloatField(
                        default=0.8,
                        help_text="0.8: 8 of 10 pairs as expected.",
                        validators=[
                            django.core.validators.MinValueValidator(0.0),
                            django.core.validators.MaxValueValidator(1.0),
                        ],
                        verbose_name="Share of qualification pairs to get right",
                    ),
                ),
                (
                    "qualification_attempts",
                    models.PositiveSmallIntegerField(
                        default=2,
                        help_text="A rater who fails the last one gets no HIT.",
                        validators=[django.core.validators.MinValueValidator(1)],
                        verbose_name="Attempts at the qualification",
                    ),
                ),
                (
                    "qualification_hits",
                    models.PositiveSmallIntegerField(
                        blank=True,
                        help_text="With fewer than there are, another attempt gets new HITs. Default: all of them.",
                        null=True,
                        validators=[django.core.validators.MinValueValidator(1)],
                        verbose_name="Qualification HITs in one attempt",
                    ),
                ),
                (
                    "check_pairs_needed",
                    models.PositiveSmallIntegerField(
                        default=5,
                        help_text="Gold or repeated pairs, so that one mistake does not decide.",
                        validators=[django.core.validators.MinValueValidator(1)],
                        verbose_name="Checked pairs before a threshold acts",
                    ),
                ),
                (
                    "gold_warn_below",
                    models.FloatField(
                        blank=True,
                        help_text="Share of hidden gold pairs answered as expected. Default: no warning.",
                        null=True,
                        validators=[
                            django.core.validators.MinValueValidator(0.0),
                            django.core.validators.MaxValueValidator(1.0),
                        ],
                        verbose_name="Gold: warn below",
                    ),
                ),
                (
                    "gold_block_below",
                    models.FloatField(
                        blank=True,
                        help_text="The rater gets no further HIT. You can undo it under Reports. Default: never.",
                        null=True,
                        validators=[
                            django.core.validators.MinValueValidator(0.0),
                            django.core.validators.MaxValueValidator(1.0),
                        ],
                        verbose_name="Gold: stop the rater below",
                    ),
                ),
                (
                    "repeat_warn_below",
                    models.FloatField(
                        blank=True,
                        help_text="Share of repeated pairs answered as the first time, sides swapped. Default: no warning.",
                        null=True,
                        validators=[
                            django.core.validators.MinValueValidator(0.0),
                            django.core.validators.MaxValueValidator(1.0),
                        ],
                        verbose_name="Repeats: warn below",
                    ),
                ),
                (
                    "repeat_block_below",
                    models.FloatField(
                        blank=True,
                        help_text="The rater gets no further HIT. You can undo it under Reports. Default: never.",
                        null=True,
                        validators=[
                            django.core.validators.MinValueValidator(0.0),
                            django.core.validators.MaxValueValidator(1.0),
                        ],
                        verbose_name="Repeats: stop the rater below",
                    ),
                ),
                ("seed", models.PositiveIntegerField(default=annotation.core.keys.new_seed)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "archived_at",
                    models.DateTimeField(blank=True, help_text="An archived study gives out no HITs.", null=True),
                ),
                (
                    "importer",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        editable=False,
                        help_text="The process that imports into it; it is hidden until all rows are stored.",
                        max_length=80,
                    ),
                ),
                (
                    "merging",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        editable=False,
                        help_text="Rows of an import move to it: it cannot be read.",
                    ),
                ),
                (
                    "group",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="studies",
                        to="annotation.researchgroup",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "studies",
                "ordering": ["slug"],
            },
        ),
        migrations.AddField(
            model_name="separabilityrun",
            name="study",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="separability_runs", to="annotation.study"
            ),
        ),
        migrations.CreateModel(
            name="SeparabilityJob",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "asked",
                    models.JSONField(help_text="Options of the request: similarity, model, group, samples, and so on."),
                ),
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
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="separability_jobs",
                        to="annotation.study",
                    ),
                ),
            ],
            options={
                "ordering": ["-created_at", "-pk"],
            },
        ),
        migrations.CreateModel(
            name="RoleGrant",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("annotator", "Annotator"),
                            ("researcher", "Researcher"),
                            ("study-admin", "Study admin"),
                            ("admin", "Site admin"),
                        ],
                        max_length=20,
                    ),
                ),
                ("granted_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "group",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="role_grants",
                        to="annotation.researchgroup",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="role_grants",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="role_grants",
                        to="annotation.study",
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="instance",
            name="study",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="instances", to="annotation.study"
            ),
        ),
        migrations.CreateModel(
            name="ImportRecord",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(max_length=20)),
                ("file_name", models.CharField(max_length=255)),
                ("sha256", models.CharField(max_length=64)),
                ("options", models.JSONField(default=dict)),
                ("counts", models.JSONField(default=dict)),
                (
                    "added",
                    models.JSONField(
                        default=dict, help_text="Its rows: ranges of primary keys by table. Empty: not known."
                    ),
                ),
                (
                    "taken_back_at",
                    models.DateTimeField(blank=True, help_text="When its rows began to be deleted.", null=True),
                ),
                ("imported_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="imports", to="annotation.study"
                    ),
                ),
            ],
            options={
                "ordering": ["imported_at"],
            },
        ),
        migrations.CreateModel(
            name="Event",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
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
                            ("renamed", "Renamed"),
                            ("taken-back", "Import taken back"),
                            ("replaced", "Text replaced"),
                            ("merged", "Raters merged"),
                            ("planned", "Plan frozen"),
                            ("unplanned", "Plan withdrawn"),
                            ("deleted", "Batch deleted"),
                        ],
                        max_length=12,
                    ),
                ),
                ("reason", models.TextField(blank=True)),
                (
                    "changes",
                    models.JSONField(blank=True, default=dict, help_text="Setting → [before, after], or counts."),
                ),
                ("happened_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "annotator",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="events",
                        to="annotation.annotator",
                    ),
                ),
                (
                    "assignment",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="events",
                        to="annotation.assignment",
                    ),
                ),
                (
                    "batch",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="events",
                        to="annotation.batch",
                    ),
                ),
                (
                    "by",
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
                        on_delete=django.db.models.deletion.CASCADE, related_name="events", to="annotation.study"
                    ),
                ),
            ],
            options={
                "ordering": ["happened_at", "pk"],
            },
        ),
        migrations.AddField(
            model_name="comparisontable",
            name="study",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="tables", to="annotation.study"
            ),
        ),
        migrations.AddField(
            model_name="channel",
            name="study",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="channels", to="annotation.study"
            ),
        ),
        migrations.AddField(
            model_name="batch",
            name="study",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="batches", to="annotation.study"
            ),
        ),
        migrations.AddField(
            model_name="mail",
            name="event",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="mails",
                to="annotation.event",
            ),
        ),
        migrations.CreateModel(
            name="ArmDraw",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField(help_text="Order of arrival, counted from 0.")),
                ("arm", models.CharField(max_length=50)),
                (
                    "annotator",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="arm_draw",
                        to="annotation.annotator",
                    ),
                ),
                (
                    "instance",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="arm_draw",
                        to="annotation.instance",
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="arm_draws", to="annotation.study"
                    ),
                ),
            ],
            options={
                "ordering": ["study", "number"],
            },
        ),
        migrations.CreateModel(
            name="ApiToken",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=100)),
                ("digest", models.CharField(help_text="SHA-256 of the key.", max_length=64, unique=True)),
                ("scopes", models.JSONField()),
                (
                    "limited",
                    models.BooleanField(
                        default=False, help_text="To the studies that are named; it stays when they are deleted."
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("expires_at", models.DateTimeField(blank=True, help_text="Default: never.", null=True)),
                ("last_used_at", models.DateTimeField(blank=True, help_text="To the minute.", null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="api_tokens",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("studies", models.ManyToManyField(blank=True, related_name="api_tokens", to="annotation.study")),
            ],
            options={
                "ordering": ["-created_at", "-pk"],
            },
        ),
        migrations.AddField(
            model_name="annotator",
            name="study",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="annotators", to="annotation.study"
            ),
        ),
        migrations.CreateModel(
            name="Submission",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("external_id", models.CharField(max_length=200)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("started", "Started"),
                            ("completed", "Completed, awaits a decision"),
                            ("screened-out", "Screened out"),
                            ("timed-out", "Timed out"),
                            ("returned", "Returned"),
                            ("approved", "Approved"),
                            ("rejected", "Rejected"),
                        ],
                        default="started",
                        max_length=15,
                    ),
                ),
                (
                    "code",
                    models.CharField(blank=True, help_text="Completion code that the rater was given.", max_length=100),
                ),
                ("details", models.JSONField(blank=True, default=dict)),
                ("started_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                (
                    "assignment",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="submissions",
                        to="annotation.assignment",
                    ),
                ),
                (
                    "channel",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="submissions", to="annotation.channel"
                    ),
                ),
                (
                    "participant",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="submissions",
                        to="annotation.participant",
                    ),
                ),
            ],
            options={
                "ordering": ["channel", "pk"],
            },
        ),
        migrations.CreateModel(
            name="PlatformAction",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(max_length=30)),
                ("key", models.CharField(help_text="Identifies the request, so that it is sent once.", max_length=100)),
                ("payload", models.JSONField(blank=True, default=dict)),
                (
                    "state",
                    models.CharField(
                        choices=[("pending", "Not answered yet"), ("done", "Done"), ("failed", "Refused")],
                        default="pending",
                        max_length=10,
                    ),
                ),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("answer", models.JSONField(blank=True, default=dict)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                (
                    "channel",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="actions", to="annotation.channel"
                    ),
                ),
                (
                    "submission",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="actions",
                        to="annotation.submission",
                    ),
                ),
            ],
            options={
                "ordering": ["channel", "pk"],
            },
        ),
        migrations.CreateModel(
            name="System",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=200)),
                ("family", models.CharField(blank=True, max_length=100)),
                (
                    "position",
                    models.PositiveIntegerField(
                        help_text="Order of first appearance: of two systems the earlier one is A."
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="systems", to="annotation.study"
                    ),
                ),
            ],
            options={
                "ordering": ["study", "position"],
            },
        ),
        migrations.AddField(
            model_name="separabilityrun",
            name="system_a",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="annotation.system"
            ),
        ),
        migrations.AddField(
            model_name="separabilityrun",
            name="system_b",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="annotation.system"
            ),
        ),
        migrations.AddField(
            model_name="matchup",
            name="system_a",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="matchups_as_a", to="annotation.system"
            ),
        ),
        migrations.AddField(
            model_name="matchup",
            name="system_b",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="matchups_as_b", to="annotation.system"
            ),
        ),
        migrations.AddField(
            model_name="generation",
            name="system",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="generations", to="annotation.system"
            ),
        ),
        migrations.AddField(
            model_name="batch",
            name="system_a",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotation.system"
            ),
        ),
        migrations.AddField(
            model_name="batch",
            name="system_b",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotation.system"
            ),
        ),
        migrations.CreateModel(
            name="TextVector",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("model", models.CharField(help_text="Fingerprint: SHA-256 of weights and settings.", max_length=64)),
                ("text_sha256", models.CharField(max_length=64)),
                ("vector", models.BinaryField(help_text="Little-endian float32.")),
                ("made_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "ordering": ["pk"],
                "constraints": [
                    models.UniqueConstraint(fields=("model", "text_sha256"), name="text_vector_once_per_model")
                ],
            },
        ),
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
                (
                    "message",
                    annotation.core.reasons.ReasonField(blank=True, help_text="What was added, or why nothing was."),
                ),
                (
                    "bad_lines",
                    models.JSONField(
                        default=list,
                        help_text="Of each its number, the code and values of the reason, and its file of several.",
                    ),
                ),
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
        migrations.CreateModel(
            name="VoteChange",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "question",
                    models.PositiveSmallIntegerField(
                        db_default=0, default=0, help_text="Its place among the study's questions; 0 is the main one."
                    ),
                ),
                (
                    "verdict",
                    models.SmallIntegerField(help_text="Study order: −1 prefers system A, +1 system B, 0 neither."),
                ),
                (
                    "strength",
                    models.PositiveSmallIntegerField(
                        blank=True,
                        help_text="Of a preference: 1 slight, 2 strong; empty where not asked or not known.",
                        null=True,
                    ),
                ),
                (
                    "tie_kind",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="Of “no preference”: both good or both bad.",
                        max_length=4,
                    ),
                ),
                (
                    "stage",
                    models.CharField(
                        choices=[("first", "First vote"), ("revised", "After the comparison table")], max_length=10
                    ),
                ),
                ("reason", models.TextField(blank=True)),
                ("received_at", models.DateTimeField()),
                (
                    "chosen_at",
                    models.DateTimeField(blank=True, help_text="By the browser's clock, where it said so.", null=True),
                ),
                ("page", models.CharField(blank=True, help_text="The loaded page that it came from.", max_length=32)),
                ("active_seconds", models.FloatField(blank=True, null=True)),
                ("wall_seconds", models.FloatField(blank=True, null=True)),
                (
                    "source_opened",
                    models.BooleanField(
                        blank=True,
                        help_text="Whether the source was open at any time before; empty where not reported.",
                        null=True,
                    ),
                ),
                ("late", models.BooleanField(default=False)),
                ("software_version", models.CharField(blank=True, max_length=40)),
                (
                    "display",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="annotation.display"
                    ),
                ),
            ],
            options={
                "ordering": ["display", "pk"],
            },
        ),
        migrations.CreateModel(
            name="WebhookEvent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("event_id", models.CharField(max_length=200)),
                ("body", models.JSONField(default=dict)),
                ("received_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("applied_at", models.DateTimeField(blank=True, null=True)),
                (
                    "channel",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="webhook_events",
                        to="annotation.channel",
                    ),
                ),
            ],
            options={
                "ordering": ["channel", "pk"],
            },
        ),
        migrations.CreateModel(
            name="Flag",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("empty", "A text is empty or cut off"),
                            ("language", "Wrong language"),
                            ("harmful", "Harmful content"),
                            ("other", "Something else"),
                            ("unsupported-row", "Table row not supported by the texts"),
                        ],
                        max_length=20,
                    ),
                ),
                ("comment", models.TextField(blank=True)),
                ("row", models.PositiveSmallIntegerField(blank=True, help_text="Of the table, from 0.", null=True)),
                ("flagged_at", models.DateTimeField()),
                ("taken_back_at", models.DateTimeField(blank=True, null=True)),
                (
                    "display",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="flags", to="annotation.display"
                    ),
                ),
                (
                    "table",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="flags",
                        to="annotation.comparisontable",
                    ),
                ),
            ],
            options={
                "ordering": ["-flagged_at", "-pk"],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("row", None)),
                        fields=("display", "kind"),
                        name="flag_once_per_pair_and_kind",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("row__isnull", False)),
                        fields=("display", "table", "row"),
                        name="flag_once_per_table_row",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("kind", "unsupported-row"), ("row__isnull", False), ("table__isnull", False)),
                            models.Q(
                                models.Q(("kind", "unsupported-row"), _negated=True), ("row", None), ("table", None)
                            ),
                            _connector="OR",
                        ),
                        name="flag_of_a_row_names_it",
                    ),
                ],
            },
        ),
        migrations.AddIndex(
            model_name="assignment",
            index=models.Index(
                condition=models.Q(("state", "claimed")), fields=["expires_at"], name="assignment_lease"
            ),
        ),
        migrations.AddIndex(
            model_name="assignment",
            index=models.Index(
                fields=["annotator", "state", "purpose", "arm", "excluded"], name="assignment_of_annotator"
            ),
        ),
        migrations.AddConstraint(
            model_name="assignment",
            constraint=models.UniqueConstraint(
                fields=("hit", "annotator", "attempt"), name="hit_attempt_once_per_annotator"
            ),
        ),
        migrations.AddConstraint(
            model_name="assignment",
            constraint=models.CheckConstraint(
                condition=models.Q(("attempt", 1), models.Q(("purpose", "rating"), _negated=True), _connector="OR"),
                name="assignment_for_rating_is_the_first",
            ),
        ),
        migrations.AddConstraint(
            model_name="assignment",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("purpose", "repeat"), ("repeat_of__isnull", False)),
                    models.Q(models.Q(("purpose", "repeat"), _negated=True), ("repeat_of", None)),
                    _connector="OR",
                ),
                name="assignment_repeat_names_what_it_repeats",
            ),
        ),
        migrations.AddConstraint(
            model_name="assignment",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state", "claimed")), fields=("annotator",), name="one_open_claim_per_annotator"
            ),
        ),
        migrations.AddIndex(
            model_name="mail",
            index=models.Index(
                condition=models.Q(("state__in", ["waiting", "sending"])), fields=["due_at"], name="mail_is_due"
            ),
        ),
        migrations.AddConstraint(
            model_name="pair",
            constraint=models.UniqueConstraint(fields=("matchup", "index"), name="pair_index_once_per_matchup"),
        ),
        migrations.AddConstraint(
            model_name="hitpair",
            constraint=models.UniqueConstraint(fields=("hit", "pair"), name="pair_once_per_hit"),
        ),
        migrations.AddConstraint(
            model_name="hitpair",
            constraint=models.UniqueConstraint(fields=("hit", "position"), name="pair_position_once_per_hit"),
        ),
        migrations.AddConstraint(
            model_name="hit",
            constraint=models.UniqueConstraint(fields=("batch", "position"), name="hit_position_once_per_batch"),
        ),
        migrations.AddConstraint(
            model_name="display",
            constraint=models.UniqueConstraint(fields=("assignment", "pair"), name="pair_once_per_assignment"),
        ),
        migrations.AddConstraint(
            model_name="display",
            constraint=models.UniqueConstraint(
                fields=("assignment", "position"), name="display_position_once_per_assignment"
            ),
        ),
        migrations.AddConstraint(
            model_name="participant",
            constraint=models.UniqueConstraint(fields=("channel", "external_id"), name="participant_once_per_channel"),
        ),
        migrations.AddConstraint(
            model_name="qualificationresult",
            constraint=models.UniqueConstraint(fields=("annotator", "attempt"), name="qualification_attempt_once"),
        ),
        migrations.AddConstraint(
            model_name="qualificationresult",
            constraint=models.CheckConstraint(
                condition=models.Q(("right__lte", models.F("pairs"))), name="qualification_right_at_most_pairs"
            ),
        ),
        migrations.AddConstraint(
            model_name="rating",
            constraint=models.CheckConstraint(
                condition=models.Q(("verdict__in", [-1, 0, 1])), name="rating_verdict_known"
            ),
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
            model_name="rating",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("active_seconds", None), ("active_seconds__gte", 0), _connector="OR"),
                    models.Q(("wall_seconds", None), ("wall_seconds__gte", 0), _connector="OR"),
                ),
                name="rating_seconds_not_negative",
            ),
        ),
        migrations.AddConstraint(
            model_name="alignment",
            constraint=models.UniqueConstraint(fields=("run", "matchup"), name="alignment_once_per_matchup"),
        ),
        migrations.AddIndex(
            model_name="slot",
            index=models.Index(
                condition=models.Q(("assignment__isnull", False), _negated=True),
                fields=["batch", "arm", "number", "position"],
                name="slot_free",
            ),
        ),
        migrations.AddConstraint(
            model_name="slot",
            constraint=models.UniqueConstraint(fields=("hit", "number"), name="slot_number_once_per_hit"),
        ),
        migrations.AddConstraint(
            model_name="stagedalignment",
            constraint=models.UniqueConstraint(
                fields=("measure_sha256", "matchup"), name="staged_alignment_once_per_matchup"
            ),
        ),
        migrations.AddConstraint(
            model_name="rolegrant",
            constraint=models.UniqueConstraint(fields=("user", "role", "study"), name="role_granted_once"),
        ),
        migrations.AddConstraint(
            model_name="rolegrant",
            constraint=models.UniqueConstraint(fields=("user", "role", "group"), name="role_in_group_granted_once"),
        ),
        migrations.AddConstraint(
            model_name="rolegrant",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("group__isnull", False), ("study", None)),
                    models.Q(("group", None), ("study__isnull", False)),
                    _connector="OR",
                ),
                name="role_in_a_study_or_in_a_group",
            ),
        ),
        migrations.AddIndex(
            model_name="instance",
            index=models.Index(fields=["study", "dataset"], name="instance_dataset"),
        ),
        migrations.AddConstraint(
            model_name="instance",
            constraint=models.UniqueConstraint(fields=("study", "instance_id"), name="instance_id_once_per_study"),
        ),
        migrations.AddConstraint(
            model_name="instance",
            constraint=models.UniqueConstraint(fields=("study", "position"), name="instance_position_once_per_study"),
        ),
        migrations.AddConstraint(
            model_name="comparisontable",
            constraint=models.UniqueConstraint(fields=("study", "table_id"), name="table_id_once_per_study"),
        ),
        migrations.AddConstraint(
            model_name="channel",
            constraint=models.UniqueConstraint(fields=("study", "name"), name="channel_name_once_per_study"),
        ),
        migrations.AddConstraint(
            model_name="armdraw",
            constraint=models.UniqueConstraint(fields=("study", "number"), name="arm_draw_number_once_per_study"),
        ),
        migrations.AddConstraint(
            model_name="armdraw",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("annotator__isnull", False), ("instance", None)),
                    models.Q(("annotator", None), ("instance__isnull", False)),
                    _connector="OR",
                ),
                name="arm_draw_of_a_rater_or_an_instance",
            ),
        ),
        migrations.AddConstraint(
            model_name="annotator",
            constraint=models.UniqueConstraint(fields=("study", "code"), name="annotator_code_once_per_study"),
        ),
        migrations.AddConstraint(
            model_name="annotator",
            constraint=models.UniqueConstraint(
                condition=models.Q(("user__isnull", False)),
                fields=("study", "user"),
                name="annotator_once_per_study_and_user",
            ),
        ),
        migrations.AddConstraint(
            model_name="submission",
            constraint=models.UniqueConstraint(fields=("channel", "external_id"), name="submission_once_per_channel"),
        ),
        migrations.AddConstraint(
            model_name="platformaction",
            constraint=models.UniqueConstraint(fields=("channel", "key"), name="platform_action_once_per_channel"),
        ),
        migrations.AddConstraint(
            model_name="system",
            constraint=models.UniqueConstraint(fields=("study", "name"), name="system_name_once_per_study"),
        ),
        migrations.AddConstraint(
            model_name="system",
            constraint=models.UniqueConstraint(fields=("study", "position"), name="system_position_once_per_study"),
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
        migrations.AddConstraint(
            model_name="matchup",
            constraint=models.UniqueConstraint(
                fields=("instance", "system_a", "system_b"), name="matchup_once_per_instance"
            ),
        ),
        migrations.AddConstraint(
            model_name="matchup",
            constraint=models.CheckConstraint(
                condition=models.Q(("system_a", models.F("system_b")), _negated=True), name="matchup_of_two_systems"
            ),
        ),
        migrations.AddConstraint(
            model_name="generation",
            constraint=models.UniqueConstraint(
                fields=("instance", "system", "index"), name="generation_index_once_per_system"
            ),
        ),
        migrations.AddConstraint(
            model_name="batch",
            constraint=models.UniqueConstraint(fields=("study", "name"), name="batch_name_once_per_study"),
        ),
        migrations.AddConstraint(
            model_name="batch",
            constraint=models.CheckConstraint(condition=models.Q(("raters_per_hit__gte", 1)), name="batch_has_raters"),
        ),
        migrations.AddConstraint(
            model_name="batch",
            constraint=models.CheckConstraint(condition=models.Q(("pairs_per_hit__gte", 1)), name="batch_has_pairs"),
        ),
        migrations.AddConstraint(
            model_name="batch",
            constraint=models.CheckConstraint(
                condition=models.Q(("most_hits_per_rater", None), ("most_hits_per_rater__gte", 1), _connector="OR"),
                name="batch_cap_at_least_one",
            ),
        ),
        migrations.AddConstraint(
            model_name="batch",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("gold_rate__gte", 0), ("gold_rate__lte", 0.5), ("repeat_rate__gte", 0), ("repeat_rate__lte", 0.5)
                ),
                name="batch_check_rates_at_most_half",
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
        migrations.AddConstraint(
            model_name="webhookevent",
            constraint=models.UniqueConstraint(fields=("channel", "event_id"), name="webhook_event_once_per_channel"),
        ),
        migrations.AddConstraint(
            model_name="webhookevent",
            constraint=models.CheckConstraint(
                condition=models.Q(("event_id", ""), _negated=True), name="webhook_event_has_an_id"
            ),
        ),
        migrations.RunPython(make_main_group, migrations.RunPython.noop),
    ]
