import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import annotation.core.keys


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0002_two_stages_checks_and_history"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Channel",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "key",
                    models.CharField(default=annotation.core.keys.new_key, editable=False, max_length=32, unique=True),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("accounts", "Accounts: one-time links, or self-registration"),
                            ("anonymous", "Anonymous link"),
                            ("prolific", "Prolific"),
                            ("mturk", "Amazon Mechanical Turk"),
                        ],
                        max_length=12,
                    ),
                ),
                ("name", models.CharField(max_length=100)),
                ("is_open", models.BooleanField(default=False)),
                (
                    "options",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        help_text="The adapter's settings. Never a secret: those are named, not stored.",
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
            options={
                "ordering": ["study", "created_at", "pk"],
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
                            ("unblocked", "Rater let go on"),
                            ("message", "Message sent"),
                            ("archived", "Study archived"),
                            ("restored", "Study taken out of the archive"),
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
            ],
            options={
                "ordering": ["happened_at", "pk"],
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
            ],
            options={
                "ordering": ["channel", "pk"],
            },
        ),
        migrations.CreateModel(
            name="Message",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("text", models.TextField()),
                ("sent_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("read_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ["sent_at", "pk"],
            },
        ),
        migrations.CreateModel(
            name="Participant",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("external_id", models.CharField(max_length=200)),
                ("joined_at", models.DateTimeField(default=django.utils.timezone.now)),
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
                ("key", models.CharField(help_text="What makes it the same request.", max_length=100)),
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
            ],
            options={
                "ordering": ["channel", "pk"],
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
                ("code", models.CharField(blank=True, help_text="Which end it was sent to.", max_length=100)),
                ("details", models.JSONField(blank=True, default=dict)),
                ("started_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ["channel", "pk"],
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
            ],
            options={
                "ordering": ["channel", "pk"],
            },
        ),
        migrations.RemoveConstraint(
            model_name="rolegrant",
            name="role_in_all_studies_granted_once",
        ),
        migrations.RemoveIndex(
            model_name="slot",
            name="slot_free",
        ),
        migrations.AddField(
            model_name="batch",
            name="closed_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="batch",
            name="launched_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="batch",
            name="most_hits_per_rater",
            field=models.PositiveIntegerField(blank=True, help_text="Of this batch; empty: no limit.", null=True),
        ),
        migrations.AddField(
            model_name="slot",
            name="arm",
            field=models.CharField(
                blank=True, help_text="Kept for raters of this arm; empty: for anybody.", max_length=50
            ),
        ),
        migrations.AddField(
            model_name="slot",
            name="batch",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.CASCADE, related_name="slots", to="annotation.batch"
            ),
        ),
        migrations.AddField(
            model_name="slot",
            name="position",
            field=models.PositiveIntegerField(help_text="The HIT's place in the queue.", null=True),
        ),
        migrations.AddField(
            model_name="study",
            name="archived_at",
            field=models.DateTimeField(blank=True, help_text="Nothing of it is given out any more.", null=True),
        ),
        migrations.AddField(
            model_name="study",
            name="balance_arms",
            field=models.BooleanField(
                default=True, help_text="Keep each HIT's places evenly for the raters of every arm."
            ),
        ),
        migrations.AddField(
            model_name="study",
            name="most_hits_per_rater",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="In the whole study; empty: no limit.",
                null=True,
                validators=[django.core.validators.MinValueValidator(1)],
            ),
        ),
        migrations.AddField(
            model_name="study",
            name="pairs_per_hit",
            field=models.PositiveSmallIntegerField(
                default=5,
                help_text="N, where a batch names no other.",
                validators=[django.core.validators.MinValueValidator(1)],
            ),
        ),
        migrations.AddField(
            model_name="study",
            name="raters_per_hit",
            field=models.PositiveSmallIntegerField(
                default=3,
                help_text="R, where a batch names no other.",
                validators=[django.core.validators.MinValueValidator(1)],
            ),
        ),
        migrations.AlterField(
            model_name="annotator",
            name="kind",
            field=models.CharField(
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
        migrations.AlterField(
            model_name="batch",
            name="status",
            field=models.CharField(
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
        migrations.AddIndex(
            model_name="assignment",
            index=models.Index(
                condition=models.Q(("state", "claimed")), fields=["expires_at"], name="assignment_lease"
            ),
        ),
        migrations.AddIndex(
            model_name="slot",
            index=models.Index(
                condition=models.Q(("assignment", None)),
                fields=["batch", "arm", "number", "position"],
                name="slot_free",
            ),
        ),
        migrations.AddConstraint(
            model_name="batch",
            constraint=models.CheckConstraint(
                condition=models.Q(("most_hits_per_rater", None), ("most_hits_per_rater__gte", 1), _connector="OR"),
                name="batch_cap_at_least_one",
            ),
        ),
        migrations.AddField(
            model_name="channel",
            name="batch",
            field=models.ForeignKey(
                blank=True,
                help_text="Only this one.",
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="channels",
                to="annotation.batch",
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
            model_name="event",
            name="annotator",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="events",
                to="annotation.annotator",
            ),
        ),
        migrations.AddField(
            model_name="event",
            name="assignment",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="events",
                to="annotation.assignment",
            ),
        ),
        migrations.AddField(
            model_name="event",
            name="batch",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="events",
                to="annotation.batch",
            ),
        ),
        migrations.AddField(
            model_name="event",
            name="by",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="event",
            name="study",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="events", to="annotation.study"
            ),
        ),
        migrations.AddField(
            model_name="invitation",
            name="annotator",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.CASCADE, related_name="invitation", to="annotation.annotator"
            ),
        ),
        migrations.AddField(
            model_name="invitation",
            name="channel",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="invitations", to="annotation.channel"
            ),
        ),
        migrations.AddField(
            model_name="message",
            name="annotator",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="messages", to="annotation.annotator"
            ),
        ),
        migrations.AddField(
            model_name="participant",
            name="annotator",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.CASCADE, related_name="participant", to="annotation.annotator"
            ),
        ),
        migrations.AddField(
            model_name="participant",
            name="channel",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="participants", to="annotation.channel"
            ),
        ),
        migrations.AddField(
            model_name="platformaction",
            name="channel",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="actions", to="annotation.channel"
            ),
        ),
        migrations.AddField(
            model_name="rolegrant",
            name="group",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="role_grants",
                to="annotation.researchgroup",
            ),
        ),
        migrations.AddField(
            model_name="study",
            name="group",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="studies",
                to="annotation.researchgroup",
            ),
        ),
        migrations.AddConstraint(
            model_name="rolegrant",
            constraint=models.UniqueConstraint(fields=("user", "role", "group"), name="role_in_group_granted_once"),
        ),
        migrations.AddField(
            model_name="submission",
            name="assignment",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="submissions",
                to="annotation.assignment",
            ),
        ),
        migrations.AddField(
            model_name="submission",
            name="channel",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="submissions", to="annotation.channel"
            ),
        ),
        migrations.AddField(
            model_name="submission",
            name="participant",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="submissions",
                to="annotation.participant",
            ),
        ),
        migrations.AddField(
            model_name="platformaction",
            name="submission",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="actions",
                to="annotation.submission",
            ),
        ),
        migrations.AddField(
            model_name="webhookevent",
            name="channel",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="webhook_events", to="annotation.channel"
            ),
        ),
        migrations.AddConstraint(
            model_name="channel",
            constraint=models.UniqueConstraint(fields=("study", "name"), name="channel_name_once_per_study"),
        ),
        migrations.AddConstraint(
            model_name="participant",
            constraint=models.UniqueConstraint(fields=("channel", "external_id"), name="participant_once_per_channel"),
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
            model_name="webhookevent",
            constraint=models.UniqueConstraint(fields=("channel", "event_id"), name="webhook_event_once_per_channel"),
        ),
        migrations.AddConstraint(
            model_name="webhookevent",
            constraint=models.CheckConstraint(
                condition=models.Q(("event_id", ""), _negated=True), name="webhook_event_has_an_id"
            ),
        ),
    ]
