import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import annotation.core.keys
import annotation.core.reasons
import judging.models.runs


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("annotation", "__first__"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Completion",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "cache_key",
                    models.CharField(
                        blank=True,
                        help_text="SHA-256 of base URL, body and sample index; empty for a refusal, which is kept but never reused.",
                        max_length=64,
                        null=True,
                        unique=True,
                    ),
                ),
                ("base_url", models.CharField(max_length=500)),
                ("request", models.JSONField(help_text="The whole request body. It holds no key.")),
                ("sample", models.PositiveIntegerField(default=0)),
                (
                    "kind",
                    models.CharField(
                        blank=True, help_text="What the call was for, as `verdict` or `critique`.", max_length=20
                    ),
                ),
                ("text", models.TextField(blank=True)),
                ("finish_reason", models.CharField(blank=True, max_length=40)),
                ("response", models.JSONField(default=dict)),
                ("prompt_tokens", models.PositiveIntegerField(null=True)),
                ("completion_tokens", models.PositiveIntegerField(null=True)),
                (
                    "cost",
                    models.DecimalField(
                        decimal_places=8,
                        help_text="As the endpoint reported it in its currency, else at the prices of that day.",
                        max_digits=14,
                        null=True,
                    ),
                ),
                (
                    "list_price",
                    models.DecimalField(
                        decimal_places=8,
                        help_text="At the prices of that day, where the endpoint reported a cost itself.",
                        max_digits=14,
                        null=True,
                    ),
                ),
                (
                    "expected_prompt_tokens",
                    models.PositiveIntegerField(
                        help_text="Estimated from the prompt's characters, on the low side.", null=True
                    ),
                ),
                (
                    "served_model",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="Model that answered, by the response.",
                        max_length=200,
                    ),
                ),
                (
                    "fingerprint",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="Build of the model, by the response.",
                        max_length=200,
                    ),
                ),
                (
                    "provider",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="Provider that a router chose, by the response.",
                        max_length=200,
                    ),
                ),
                ("latency_ms", models.FloatField(null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "ordering": ["pk"],
            },
        ),
        migrations.CreateModel(
            name="JudgeRun",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "pair_filter",
                    models.JSONField(blank=True, default=dict, help_text="Only these pairs. Default: all."),
                ),
                (
                    "filter_key",
                    models.CharField(blank=True, help_text="SHA-256 of the filter; empty without one.", max_length=64),
                ),
                (
                    "questions",
                    models.JSONField(
                        db_default=models.Value([0], models.JSONField()),
                        default=judging.models.runs.main_question_only,
                        help_text="The study's questions that it answers, by number, in ascending order.",
                    ),
                ),
                (
                    "tables_as",
                    models.CharField(
                        blank=True,
                        help_text="Variant under which people are shown the tables of its judgments.",
                        max_length=40,
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("running", "Running"),
                            ("paused", "Stopped on request"),
                            ("done", "Done"),
                            ("failed", "Stopped by an error"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="queued",
                        max_length=10,
                    ),
                ),
                (
                    "way",
                    models.CharField(
                        choices=[("calls", "Calls, answered at once"), ("batch", "The provider's Batch API")],
                        default="calls",
                        max_length=10,
                    ),
                ),
                (
                    "batch_size",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="Most requests in a provider's batch. Default: as many as it takes.",
                        null=True,
                    ),
                ),
                ("in_flight", models.PositiveIntegerField(default=8)),
                (
                    "max_cost",
                    models.DecimalField(blank=True, decimal_places=6, help_text="Hard cap.", max_digits=12, null=True),
                ),
                ("message", annotation.core.reasons.ReasonField(blank=True, help_text="Why it stopped.")),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                ("software_version", models.CharField(blank=True, max_length=40)),
                (
                    "batch",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="judge_runs",
                        to="annotation.batch",
                    ),
                ),
            ],
            options={
                "ordering": ["study", "created_at", "pk"],
            },
        ),
        migrations.CreateModel(
            name="Endpoint",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.SlugField(max_length=80, unique=True)),
                ("base_url", models.CharField(max_length=500)),
                ("model", models.CharField(max_length=200)),
                (
                    "key_env",
                    models.CharField(
                        blank=True, help_text="Name of the environment variable with the key.", max_length=100
                    ),
                ),
                ("timeout_seconds", models.FloatField(default=60)),
                (
                    "headers",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        help_text="Sent with each call; `env:NAME` as a value reads a variable. No secrets.",
                    ),
                ),
                (
                    "requests_per_minute",
                    models.PositiveIntegerField(blank=True, help_text="Default: no limit.", null=True),
                ),
                (
                    "tokens_per_minute",
                    models.PositiveIntegerField(blank=True, help_text="Default: no limit.", null=True),
                ),
                (
                    "price_prompt",
                    models.DecimalField(
                        blank=True,
                        decimal_places=6,
                        help_text="Per million prompt tokens. Default: unknown.",
                        max_digits=12,
                        null=True,
                    ),
                ),
                (
                    "price_completion",
                    models.DecimalField(
                        blank=True,
                        decimal_places=6,
                        help_text="Per million completion tokens. Default: unknown.",
                        max_digits=12,
                        null=True,
                    ),
                ),
                (
                    "batch_discount",
                    models.FloatField(
                        default=0.5,
                        help_text="Share of the price for calls through the provider's Batch API.",
                    ),
                ),
                (
                    "cached_discount",
                    models.FloatField(
                        db_default=1.0,
                        default=1.0,
                        help_text="Share of the price for prompt tokens from the endpoint's cache.",
                    ),
                ),
                ("currency", models.CharField(default="USD", max_length=3)),
                ("supports", models.JSONField(blank=True, default=dict, help_text="Features found by the last test.")),
                ("tested_at", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "ordering": ["name"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("price_prompt", None), ("price_prompt__gte", 0), _connector="OR"),
                        name="endpoint_price_prompt_not_negative",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("price_completion", None), ("price_completion__gte", 0), _connector="OR"),
                        name="endpoint_price_completion_not_negative",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("batch_discount__gte", 0), ("batch_discount__lte", 1)),
                        name="endpoint_batch_discount_is_a_share",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("cached_discount__gte", 0), ("cached_discount__lte", 1)),
                        name="endpoint_cached_discount_is_a_share",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Judge",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "name",
                    models.CharField(
                        max_length=80,
                        unique=True,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^[A-Za-z0-9_-][A-Za-z0-9_.:/@-]*$",
                                "Letters, digits and . _ : / @ - only, with a letter, a digit, _ or - at the beginning.",
                            )
                        ],
                    ),
                ),
                ("method", models.CharField(max_length=40)),
                (
                    "order",
                    models.CharField(
                        choices=[
                            ("random", "Random per pair (seeded)"),
                            ("both", "Both orders; disagreement is a tie"),
                            ("ab", "System A first"),
                            ("ba", "System B first"),
                        ],
                        default="random",
                        max_length=10,
                    ),
                ),
                (
                    "combine",
                    models.CharField(
                        choices=[
                            ("tie", "Orders that disagree are a tie"),
                            ("probability", "The probabilities of both orders are averaged"),
                        ],
                        default="tie",
                        max_length=12,
                    ),
                ),
                (
                    "repeats",
                    models.PositiveSmallIntegerField(default=1, help_text="How often each presentation is asked."),
                ),
                ("negated", models.BooleanField(default=False, help_text="Ask the negated question as well.")),
                (
                    "task",
                    models.CharField(
                        blank=True, help_text="Task whose wording is used. Default: the study's.", max_length=30
                    ),
                ),
                ("family", models.CharField(blank=True, max_length=100)),
                (
                    "params",
                    models.JSONField(
                        blank=True, default=dict, help_text="Temperature and the like, sent with each call."
                    ),
                ),
                (
                    "system_prompt",
                    models.TextField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="Sent before each call, as the system's message.",
                    ),
                ),
                (
                    "table_variant",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="SC²: variant of the study's stored tables that it uses. Default: it creates its own.",
                        max_length=40,
                    ),
                ),
                (
                    "texts_first",
                    models.BooleanField(
                        db_default=False,
                        default=True,
                        help_text="Calls begin with the texts, under a fence of the instance; off for older judges.",
                    ),
                ),
                ("seed", models.PositiveIntegerField(default=annotation.core.keys.new_seed)),
                (
                    "tuned",
                    models.JSONField(
                        blank=True,
                        db_default=models.Value({}, models.JSONField()),
                        default=dict,
                        help_text="How it was tuned on votes, with the instances used. Default: not tuned.",
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "endpoint",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="judges",
                        to="judging.endpoint",
                    ),
                ),
                (
                    "table_endpoint",
                    models.ForeignKey(
                        blank=True,
                        help_text="SC²: endpoint for aspects, tables and their comparison. The judge's own gives the verdict.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="table_judges",
                        to="judging.endpoint",
                    ),
                ),
            ],
            options={
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="JudgeAudit",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("calls", models.PositiveIntegerField(default=0)),
                ("cached", models.PositiveIntegerField(default=0)),
                ("prompt_tokens", models.BigIntegerField(default=0, null=True)),
                ("completion_tokens", models.BigIntegerField(default=0, null=True)),
                ("cost", models.DecimalField(decimal_places=8, default=0, max_digits=16, null=True)),
                ("currency", models.CharField(default="USD", max_length=3)),
                ("message", annotation.core.reasons.ReasonField(blank=True, help_text="Why it stopped.")),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "counted_until",
                    models.DateTimeField(
                        default=django.utils.timezone.now, help_text="Answers since then are not counted yet."
                    ),
                ),
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
                ("software_version", models.CharField(max_length=40)),
                ("question", models.PositiveSmallIntegerField(default=0, help_text="Of the study; 0 is the main one.")),
                (
                    "dataset",
                    models.CharField(
                        blank=True, help_text="Only pairs of this data set. Default: all.", max_length=200
                    ),
                ),
                (
                    "pairs",
                    models.PositiveIntegerField(blank=True, help_text="How many were drawn. Default: all.", null=True),
                ),
                ("seed", models.PositiveIntegerField(default=0)),
                ("changes", models.JSONField(default=list, help_text="What is done to the texts, by name.")),
                (
                    "settings_key",
                    models.CharField(help_text="SHA-256 of all that decides what is asked.", max_length=64),
                ),
                ("model", models.CharField(help_text="The endpoint's when the audit began.", max_length=200)),
                ("done", models.PositiveIntegerField(default=0)),
                ("total", models.PositiveIntegerField(default=0)),
                (
                    "rate",
                    models.FloatField(blank=True, help_text="Done a second, while a process is at work.", null=True),
                ),
                ("ended_at", models.DateTimeField(blank=True, help_text="When it was done.", null=True)),
                (
                    "judge",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="audits", to="judging.judge"
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="judge_audits", to="annotation.study"
                    ),
                ),
                ("in_flight", models.PositiveIntegerField(default=8)),
                (
                    "max_cost",
                    models.DecimalField(blank=True, decimal_places=6, help_text="Hard cap.", max_digits=12, null=True),
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
            ],
            options={
                "ordering": ["study", "judge", "pk"],
            },
        ),
        migrations.CreateModel(
            name="AuditAnswer",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("change", models.CharField(max_length=20)),
                ("order", models.CharField(choices=[("ab", "A shown first"), ("ba", "B shown first")], max_length=2)),
                (
                    "side",
                    models.CharField(
                        choices=[("a", "System A"), ("b", "System B")],
                        help_text="Whose text was changed.",
                        max_length=1,
                    ),
                ),
                ("text", models.TextField(blank=True, help_text="The changed text, where the change makes one.")),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("pending", "Not asked yet"),
                            ("parsed", "Parsed"),
                            ("unparsed", "Unparsed"),
                            ("refused", "Refused"),
                            ("error", "Error"),
                        ],
                        default="pending",
                        max_length=10,
                    ),
                ),
                (
                    "verdict",
                    models.SmallIntegerField(
                        blank=True, help_text="Study order: −1 is system A; empty unless parsed.", null=True
                    ),
                ),
                ("p_b", models.FloatField(blank=True, null=True)),
                ("rationale", models.TextField(blank=True)),
                ("failure", annotation.core.reasons.ReasonField(blank=True)),
                ("prompt_version", models.CharField(blank=True, max_length=160)),
                ("parser_version", models.CharField(blank=True, max_length=40)),
                ("judged_at", models.DateTimeField(blank=True, null=True)),
                (
                    "pair",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="audit_answers", to="annotation.pair"
                    ),
                ),
                (
                    "audit",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="answers", to="judging.judgeaudit"
                    ),
                ),
            ],
            options={
                "ordering": ["audit", "pk"],
            },
        ),
        migrations.CreateModel(
            name="RunHolder",
            fields=[
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="holder",
                        serialize=False,
                        to="judging.judgerun",
                    ),
                ),
                ("executor", models.CharField(help_text="Machine, process and a random part.", max_length=200)),
                (
                    "renewed_at",
                    models.DateTimeField(default=django.utils.timezone.now, help_text="With each step of the ranking."),
                ),
            ],
        ),
        migrations.AddField(
            model_name="judgerun",
            name="judge",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="runs", to="judging.judge"
            ),
        ),
        migrations.AddField(
            model_name="judgerun",
            name="study",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="judge_runs", to="annotation.study"
            ),
        ),
        migrations.CreateModel(
            name="JudgeTuning",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "name",
                    models.CharField(
                        help_text="Of the judge that is made.",
                        max_length=70,
                        unique=True,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^[A-Za-z0-9_-][A-Za-z0-9_.:/@-]*$",
                                "Letters, digits and . _ : / @ - only, with a letter, a digit, _ or - at the beginning.",
                            )
                        ],
                    ),
                ),
                ("question", models.PositiveSmallIntegerField(default=0, help_text="Of the study; 0 is the main one.")),
                (
                    "settings",
                    models.JSONField(default=dict, help_text="What was asked for: what is tried, budget, share, seed."),
                ),
                (
                    "plan",
                    models.JSONField(
                        default=dict, help_text="The split by instance, the candidates, the size of each round."
                    ),
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
                (
                    "found",
                    models.JSONField(
                        blank=True, default=dict, help_text="What was tried, and the comparison on the held-out part."
                    ),
                ),
                ("in_flight", models.PositiveIntegerField(default=8)),
                (
                    "max_cost",
                    models.DecimalField(blank=True, decimal_places=6, help_text="Hard cap.", max_digits=12, null=True),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "heartbeat_at",
                    models.DateTimeField(blank=True, help_text="A process is at work while this is recent.", null=True),
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
                    "judge",
                    models.ForeignKey(
                        help_text="The untuned one.",
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="tunings",
                        to="judging.judge",
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="judge_tunings", to="annotation.study"
                    ),
                ),
                (
                    "tuned",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="tuned_by",
                        to="judging.judge",
                    ),
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
            ],
            options={
                "ordering": ["study", "-created_at"],
            },
        ),
        migrations.CreateModel(
            name="Judgment",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("order", models.CharField(choices=[("ab", "A shown first"), ("ba", "B shown first")], max_length=2)),
                ("repeat", models.PositiveIntegerField(default=0)),
                ("negated", models.BooleanField(default=False)),
                (
                    "question",
                    models.PositiveSmallIntegerField(
                        db_default=0, default=0, help_text="Of the study; 0 is the main one."
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("pending", "Not asked yet"),
                            ("parsed", "Parsed"),
                            ("unparsed", "Unparsed"),
                            ("refused", "Refused"),
                            ("error", "Error"),
                        ],
                        default="pending",
                        max_length=10,
                    ),
                ),
                (
                    "verdict",
                    models.SmallIntegerField(
                        blank=True, help_text="Study order: −1 is system A; empty unless parsed.", null=True
                    ),
                ),
                (
                    "p_b",
                    models.FloatField(
                        blank=True, help_text="Probability of system B, where the endpoint gives it.", null=True
                    ),
                ),
                (
                    "score_a",
                    models.FloatField(
                        blank=True, help_text="Score of system A's text, from pointwise judges.", null=True
                    ),
                ),
                ("score_b", models.FloatField(blank=True, null=True)),
                (
                    "token_mass",
                    models.FloatField(
                        blank=True,
                        help_text="Part of the answer token's probability on the letters or scores on offer, where the endpoint gives it.",
                        null=True,
                    ),
                ),
                ("rationale", models.TextField(blank=True)),
                ("failure", annotation.core.reasons.ReasonField(blank=True, help_text="Why there is no verdict.")),
                (
                    "failure_code",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="Of an error: its kind, as “HTTP 500”.",
                        max_length=40,
                    ),
                ),
                (
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
                (
                    "calls",
                    models.PositiveIntegerField(
                        default=0, help_text="Answers used for this cell, new or from the cache."
                    ),
                ),
                ("cached", models.PositiveIntegerField(default=0, help_text="How many of these came from the cache.")),
                ("prompt_tokens", models.PositiveIntegerField(help_text="Of the calls made for this cell.", null=True)),
                ("completion_tokens", models.PositiveIntegerField(null=True)),
                (
                    "cost",
                    models.DecimalField(
                        decimal_places=8,
                        help_text="Of the calls made for this cell; empty: unknown.",
                        max_digits=14,
                        null=True,
                    ),
                ),
                ("prompt_version", models.CharField(blank=True, max_length=160)),
                ("parser_version", models.CharField(blank=True, max_length=40)),
                ("judged_at", models.DateTimeField(blank=True, null=True)),
                ("completions", models.ManyToManyField(blank=True, related_name="judgments", to="judging.completion")),
                (
                    "pair",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="judgments", to="annotation.pair"
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="judgments", to="judging.judgerun"
                    ),
                ),
            ],
            options={
                "ordering": ["run", "pair", "order", "repeat", "question"],
            },
        ),
        migrations.CreateModel(
            name="PromptFile",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.SlugField(max_length=80)),
                ("version", models.PositiveIntegerField(default=1)),
                ("text", models.TextField()),
                (
                    "system_prompt",
                    models.TextField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="Sent before the text, as the system's message.",
                    ),
                ),
                (
                    "form",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="Published form in which it was brought; empty: our own.",
                        max_length=20,
                    ),
                ),
                ("parser", models.CharField(max_length=40)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "group",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="prompt_files",
                        to="annotation.researchgroup",
                    ),
                ),
            ],
            options={
                "ordering": ["name", "version"],
            },
        ),
        migrations.AddField(
            model_name="judge",
            name="prompt_file",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="judges",
                to="judging.promptfile",
            ),
        ),
        migrations.CreateModel(
            name="ProviderBatch",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "input_file",
                    models.CharField(
                        blank=True, help_text="The provider's name for the uploaded file.", max_length=200
                    ),
                ),
                (
                    "provider_id",
                    models.CharField(blank=True, help_text="The provider's name for the batch.", max_length=200),
                ),
                (
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
                ("requests", models.PositiveIntegerField(default=0)),
                ("keys", models.JSONField(default=list, help_text="Cache keys of the requests in it.")),
                ("message", annotation.core.reasons.ReasonField(blank=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="provider_batches",
                        to="judging.judgerun",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "provider batches",
                "ordering": ["run", "created_at"],
            },
        ),
        migrations.CreateModel(
            name="RationaleMark",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("sound", models.BooleanField()),
                ("note", models.TextField(blank=True, max_length=2000)),
                ("marked_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "judgment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="marks", to="judging.judgment"
                    ),
                ),
                (
                    "marker",
                    models.ForeignKey(
                        help_text="Empty in a study made of a bundle, which names no accounts.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["judgment", "marker"],
            },
        ),
        migrations.CreateModel(
            name="RunWorker",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "executor",
                    models.CharField(help_text="Machine, process and a random part.", max_length=200, unique=True),
                ),
                ("started_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "heartbeat_at",
                    models.DateTimeField(
                        default=django.utils.timezone.now, help_text="The worker is alive while this is recent."
                    ),
                ),
                ("in_flight", models.PositiveIntegerField(default=0, help_text="Limit of its calls in flight.")),
                (
                    "reserved",
                    models.DecimalField(
                        decimal_places=8,
                        default=0,
                        help_text="Budget that it may spend until its next heartbeat.",
                        max_digits=14,
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="workers", to="judging.judgerun"
                    ),
                ),
            ],
            options={
                "ordering": ["run", "started_at"],
            },
        ),
        migrations.AddField(
            model_name="judgment",
            name="worker",
            field=models.ForeignKey(
                blank=True,
                help_text="Worker on it now.",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="cells",
                to="judging.runworker",
            ),
        ),
        migrations.CreateModel(
            name="TableCheck",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("model", models.CharField(max_length=200)),
                (
                    "found",
                    models.JSONField(
                        help_text="As `analysis.judges.table_checks` says; each cell's support and the share supported."
                    ),
                ),
                ("made_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "endpoint",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="table_checks", to="judging.endpoint"
                    ),
                ),
                (
                    "table",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="checks",
                        to="annotation.comparisontable",
                    ),
                ),
            ],
            options={
                "ordering": ["table", "made_at"],
            },
        ),
        migrations.CreateModel(
            name="TableMaking",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("record", models.JSONField()),
                (
                    "judgment",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="making", to="judging.judgment"
                    ),
                ),
                (
                    "table",
                    models.ForeignKey(
                        blank=True,
                        help_text="The winning table, where it is to be shown to people.",
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="makings",
                        to="annotation.comparisontable",
                    ),
                ),
            ],
            options={
                "ordering": ["judgment"],
            },
        ),
        migrations.CreateModel(
            name="AspectSet",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("task", models.CharField(max_length=30)),
                ("version", models.PositiveIntegerField()),
                ("aspects", models.JSONField(help_text="A list of texts, the most important one first.")),
                (
                    "made_by",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        help_text="Endpoint, model, pairs and seed; or that it was edited, and from what.",
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "group",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="aspect_sets",
                        to="annotation.researchgroup",
                    ),
                ),
            ],
            options={
                "ordering": ["group", "task", "version"],
                "constraints": [
                    models.UniqueConstraint(fields=("group", "task", "version"), name="aspect_set_version_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="GenerationRun",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("calls", models.PositiveIntegerField(default=0)),
                ("cached", models.PositiveIntegerField(default=0)),
                ("prompt_tokens", models.BigIntegerField(default=0, null=True)),
                ("completion_tokens", models.BigIntegerField(default=0, null=True)),
                ("cost", models.DecimalField(decimal_places=8, default=0, max_digits=16, null=True)),
                ("currency", models.CharField(default="USD", max_length=3)),
                ("message", annotation.core.reasons.ReasonField(blank=True, help_text="Why it stopped.")),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "counted_until",
                    models.DateTimeField(
                        default=django.utils.timezone.now, help_text="Answers since then are not counted yet."
                    ),
                ),
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
                ("software_version", models.CharField(max_length=40)),
                ("name", models.CharField(help_text="The system's name.", max_length=200)),
                ("base_url", models.CharField(help_text="The endpoint's when the run was created.", max_length=500)),
                ("model", models.CharField(help_text="The endpoint's when the run was created.", max_length=200)),
                ("template", models.TextField(help_text="Prompt template; $source stands for the source text.")),
                ("template_version", models.CharField(max_length=120)),
                ("system_prompt", models.TextField(blank=True)),
                ("samples", models.PositiveSmallIntegerField(help_text="Generations of each instance.")),
                ("temperature", models.FloatField(blank=True, help_text="Default: the endpoint's own.", null=True)),
                ("top_p", models.FloatField(blank=True, help_text="Default: the endpoint's own.", null=True)),
                ("params", models.JSONField(blank=True, default=dict, help_text="Parameters sent with each call.")),
                ("seed", models.PositiveIntegerField()),
                ("keep_refusals", models.BooleanField(default=False)),
                (
                    "settings_key",
                    models.CharField(help_text="SHA-256 of all settings that affect the texts.", max_length=64),
                ),
                ("by", models.CharField(blank=True, max_length=150)),
                (
                    "longest",
                    models.PositiveIntegerField(
                        blank=True, help_text="Tokens of the longest answer so far.", null=True
                    ),
                ),
                (
                    "cut",
                    models.PositiveIntegerField(
                        default=0, help_text="Stored texts that were cut off at the token limit."
                    ),
                ),
                (
                    "left_out",
                    models.JSONField(
                        blank=True, default=list, help_text="First instances left out last time, with reasons."
                    ),
                ),
                ("left_out_count", models.PositiveIntegerField(default=0)),
                ("done", models.PositiveIntegerField(default=0)),
                ("total", models.PositiveIntegerField(default=0)),
                (
                    "rate",
                    models.FloatField(blank=True, help_text="Done a second, while a process is at work.", null=True),
                ),
                ("ended_at", models.DateTimeField(blank=True, help_text="When it was done.", null=True)),
                (
                    "endpoint",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="generation_runs",
                        to="judging.endpoint",
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="generation_runs",
                        to="annotation.study",
                    ),
                ),
                ("in_flight", models.PositiveIntegerField(default=8)),
                (
                    "max_cost",
                    models.DecimalField(blank=True, decimal_places=6, help_text="Hard cap.", max_digits=12, null=True),
                ),
                (
                    "selection",
                    models.JSONField(blank=True, default=dict, help_text="The instances that are asked about now."),
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
            ],
            options={
                "ordering": ["study", "pk"],
                "constraints": [
                    models.UniqueConstraint(fields=("study", "name"), name="generation_run_once_per_system"),
                    models.CheckConstraint(condition=models.Q(("samples__gte", 1)), name="generation_run_has_samples"),
                ],
            },
        ),
        migrations.AddConstraint(
            model_name="judgeaudit",
            constraint=models.UniqueConstraint(
                fields=("study", "judge", "settings_key"), name="judge_audit_once_per_settings"
            ),
        ),
        migrations.AddIndex(
            model_name="auditanswer",
            index=models.Index(fields=["audit", "status"], name="audit_answer_status"),
        ),
        migrations.AddConstraint(
            model_name="auditanswer",
            constraint=models.UniqueConstraint(
                fields=("audit", "pair", "change"), name="audit_answer_once_per_pair_and_change"
            ),
        ),
        migrations.AddConstraint(
            model_name="auditanswer",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("status", "parsed"), ("verdict__in", [-1, 0, 1])),
                    models.Q(models.Q(("status", "parsed"), _negated=True), ("verdict", None)),
                    _connector="OR",
                ),
                name="audit_answer_has_verdict_only_when_parsed",
            ),
        ),
        migrations.AddConstraint(
            model_name="judgerun",
            constraint=models.UniqueConstraint(
                condition=models.Q(("batch__isnull", False)),
                fields=("study", "judge", "batch", "filter_key", "questions"),
                name="run_once_per_batch_and_filter",
            ),
        ),
        migrations.AddConstraint(
            model_name="judgerun",
            constraint=models.UniqueConstraint(
                condition=models.Q(("batch", None)),
                fields=("study", "judge", "filter_key", "questions"),
                name="run_once_per_study_and_filter",
            ),
        ),
        migrations.AddConstraint(
            model_name="promptfile",
            constraint=models.UniqueConstraint(fields=("name", "version"), name="prompt_file_version_once"),
        ),
        migrations.AddConstraint(
            model_name="judge",
            constraint=models.CheckConstraint(
                condition=models.Q(("repeats__gte", 1), ("repeats__lte", 100)), name="judge_repeats_between_1_and_100"
            ),
        ),
        migrations.AddConstraint(
            model_name="rationalemark",
            constraint=models.UniqueConstraint(fields=("judgment", "marker"), name="rationale_marked_once_by_each"),
        ),
        migrations.AddIndex(
            model_name="judgment",
            index=models.Index(fields=["run", "status"], name="judgment_run_status"),
        ),
        migrations.AddIndex(
            model_name="judgment",
            index=models.Index(
                condition=models.Q(("status", "pending"), ("worker", None)), fields=["run", "id"], name="judgment_free"
            ),
        ),
        migrations.AddConstraint(
            model_name="judgment",
            constraint=models.UniqueConstraint(
                fields=("run", "pair", "order", "repeat", "negated", "question"), name="judgment_once_per_presentation"
            ),
        ),
        migrations.AddConstraint(
            model_name="judgment",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("status", "parsed"), ("verdict__in", [-1, 0, 1])),
                    models.Q(models.Q(("status", "parsed"), _negated=True), ("verdict", None)),
                    _connector="OR",
                ),
                name="judgment_has_verdict_only_when_parsed",
            ),
        ),
        migrations.AddConstraint(
            model_name="tablecheck",
            constraint=models.UniqueConstraint(fields=("table", "model"), name="table_check_once_per_model"),
        ),
        migrations.CreateModel(
            name="Distillation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
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
                ("in_flight", models.PositiveIntegerField(default=8)),
                (
                    "max_cost",
                    models.DecimalField(blank=True, decimal_places=6, help_text="Hard cap.", max_digits=12, null=True),
                ),
                ("pairs", models.PositiveIntegerField(help_text="How many were drawn.")),
                ("seed", models.PositiveIntegerField()),
                ("params", models.JSONField(blank=True, default=dict, help_text="Sent with each call.")),
                ("by", models.CharField(blank=True, max_length=150)),
                (
                    "found",
                    models.JSONField(
                        blank=True, default=dict, help_text="The version, whether it is new, and its calls."
                    ),
                ),
                (
                    "endpoint",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="distillations", to="judging.endpoint"
                    ),
                ),
                (
                    "study",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="distillation", to="annotation.study"
                    ),
                ),
            ],
            options={
                "ordering": ["study"],
            },
        ),
    ]
