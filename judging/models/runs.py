"""Judges, and a judge's work on a study: the run, its cells, and the raw completions behind them."""

from typing import ClassVar

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q, Value
from django.utils import timezone

from annotation.core.keys import new_seed
from annotation.core.reasons import ReasonField
from annotation.models import Batch, Pair, Study
from annotation.models.rating import AnswerQuerySet
from annotation.questions.questions import MAIN
from judging.models.endpoints import Endpoint
from judging.models.wordings import PromptFile

# Names of models have dots and slashes. Pages give "@" at the beginning a meaning of its own.
JUDGE_NAME = RegexValidator(
    r"^[A-Za-z0-9_-][A-Za-z0-9_.:/@-]*$",
    "Letters, digits and . _ : / @ - only, with a letter, a digit, _ or - at the beginning.",
)


class Judge(models.Model):
    """An auto-rater: a method with its settings and, where it asks a model, the endpoint.

    A jury asks nothing: its verdicts are made of other judges' when they are read. Its members stand in `params` by name.
    """

    JURY: ClassVar[str] = "jury"  # the method

    class OrderPolicy(models.TextChoices):
        RANDOM = "random", "Random per pair (seeded)"
        BOTH = "both", "Both orders; disagreement is a tie"
        AB = "ab", "System A first"
        BA = "ba", "System B first"

    class Combine(models.TextChoices):
        TIE = "tie", "Orders that disagree are a tie"
        PROBABILITY = "probability", "The probabilities of both orders are averaged"

    name = models.CharField(max_length=80, unique=True, validators=[JUDGE_NAME])
    method = models.CharField(max_length=40)
    endpoint = models.ForeignKey(Endpoint, null=True, blank=True, on_delete=models.PROTECT, related_name="judges")
    table_endpoint = models.ForeignKey(
        Endpoint,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="table_judges",
        help_text="SC²: endpoint for aspects, tables and their comparison. The judge's own gives the verdict.",
    )
    order = models.CharField(max_length=10, choices=OrderPolicy.choices, default=OrderPolicy.RANDOM)
    combine = models.CharField(max_length=12, choices=Combine.choices, default=Combine.TIE)
    repeats = models.PositiveSmallIntegerField(default=1, help_text="How often each presentation is asked.")
    negated = models.BooleanField(default=False, help_text="Ask the negated question as well.")
    task = models.CharField(max_length=30, blank=True, help_text="Task whose wording is used. Default: the study's.")
    prompt_file = models.ForeignKey(PromptFile, null=True, blank=True, on_delete=models.PROTECT, related_name="judges")
    family = models.CharField(max_length=100, blank=True)
    params = models.JSONField(default=dict, blank=True, help_text="Temperature and the like, sent with each call.")
    system_prompt = models.TextField(
        blank=True, default="", db_default="", help_text="Sent before each call, as the system's message."
    )
    table_variant = models.CharField(
        max_length=40,
        blank=True,
        default="",
        db_default="",
        help_text="SC²: variant of the study's stored tables that it uses. Default: it creates its own.",
    )
    texts_first = models.BooleanField(
        default=True,
        db_default=False,  # for judges that older code makes during an upgrade
        help_text="Calls begin with the texts, under a fence of the instance; off for older judges.",
    )
    seed = models.PositiveIntegerField(default=new_seed)
    tuned = models.JSONField(
        default=dict,
        db_default=Value({}, models.JSONField()),
        blank=True,
        help_text="How it was tuned on votes, with the instances used. Default: not tuned.",
    )
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(repeats__gte=1, repeats__lte=100), name="judge_repeats_between_1_and_100"
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def endpoints(self) -> list[Endpoint]:
        """The endpoints that it asks: its own, and that of its tables where it is another one."""
        return [endpoint for endpoint in (self.endpoint, self.table_endpoint) if endpoint is not None]

    @property
    def is_candidate(self) -> bool:
        """True for a judge that was only tried while tuning another. No finding counts it."""
        return "candidate_of" in self.tuned

    @property
    def is_jury(self) -> bool:
        """True where its verdicts combine other judges'."""
        return self.method == self.JURY

    @property
    def members(self) -> list[str]:
        """The names of a jury's members, or none for other judges."""
        return list(self.params.get("members", ())) if self.is_jury else []


def main_question_only() -> list[int]:
    """Return a run's questions where none is named."""
    return [MAIN]


class JudgeRun(models.Model):
    """One judge on the pairs of one study, of one batch of it, or of a part of either: cells, each filled once."""

    class Status(models.TextChoices):
        QUEUED = "queued", "Queued"
        RUNNING = "running", "Running"
        PAUSED = "paused", "Stopped on request"
        DONE = "done", "Done"
        FAILED = "failed", "Stopped by an error"
        CANCELLED = "cancelled", "Cancelled"

    class Way(models.TextChoices):
        CALLS = "calls", "Calls, answered at once"
        BATCH = "batch", "The provider's Batch API"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="judge_runs")
    judge = models.ForeignKey(Judge, on_delete=models.PROTECT, related_name="runs")
    batch = models.ForeignKey(Batch, null=True, blank=True, on_delete=models.PROTECT, related_name="judge_runs")
    pair_filter = models.JSONField(default=dict, blank=True, help_text="Only these pairs. Default: all.")
    filter_key = models.CharField(max_length=64, blank=True, help_text="SHA-256 of the filter; empty without one.")
    questions = models.JSONField(
        default=main_question_only,
        db_default=Value([MAIN], models.JSONField()),
        help_text="The study's questions that it answers, by number, in ascending order.",
    )
    tables_as = models.CharField(
        max_length=40, blank=True, help_text="Variant under which people are shown the tables of its judgments."
    )
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.QUEUED)
    way = models.CharField(max_length=10, choices=Way.choices, default=Way.CALLS)
    batch_size = models.PositiveIntegerField(
        null=True, blank=True, help_text="Most requests in a provider's batch. Default: as many as it takes."
    )
    in_flight = models.PositiveIntegerField(default=8)
    max_cost = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True, help_text="Hard cap.")
    message = ReasonField(blank=True, help_text="Why it stopped.")
    created_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    software_version = models.CharField(max_length=40, blank=True)

    class Meta:
        ordering = ["study", "created_at", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "judge", "batch", "filter_key", "questions"],
                condition=Q(batch__isnull=False),
                name="run_once_per_batch_and_filter",
            ),
            models.UniqueConstraint(
                fields=["study", "judge", "filter_key", "questions"],
                condition=Q(batch=None),
                name="run_once_per_study_and_filter",
            ),
        ]

    def __str__(self) -> str:
        on = f"{self.judge} on {'a part of ' if self.filter_key else ''}{self.batch or self.study}"
        if self.questions == [MAIN]:
            return on
        questions = self.study.questions
        return f"{on} ({', '.join(questions[number].key for number in self.questions)})"


class RunWorker(models.Model):
    """A process at work on a run. It owns its cells while its heartbeat is fresh. Several may share a run."""

    run = models.ForeignKey(JudgeRun, on_delete=models.CASCADE, related_name="workers")
    executor = models.CharField(max_length=200, unique=True, help_text="Machine, process and a random part.")
    started_at = models.DateTimeField(default=timezone.now)
    heartbeat_at = models.DateTimeField(default=timezone.now, help_text="The worker is alive while this is recent.")
    in_flight = models.PositiveIntegerField(default=0, help_text="Limit of its calls in flight.")
    reserved = models.DecimalField(
        max_digits=14, decimal_places=8, default=0, help_text="Budget that it may spend until its next heartbeat."
    )

    class Meta:
        ordering = ["run", "started_at"]

    def __str__(self) -> str:
        return f"{self.executor} on {self.run_id}"


class RunHolder(models.Model):
    """The process that adds presentations to a run for its ranking. Others wait until its lease has expired."""

    run = models.OneToOneField(JudgeRun, on_delete=models.CASCADE, primary_key=True, related_name="holder")
    executor = models.CharField(max_length=200, help_text="Machine, process and a random part.")
    renewed_at = models.DateTimeField(default=timezone.now, help_text="With each step of the ranking.")

    def __str__(self) -> str:
        return f"{self.executor} holds {self.run_id}"


class ProviderBatch(models.Model):
    """A file of requests handed to a provider's Batch API, from upload to collection."""

    class Status(models.TextChoices):
        UPLOADED = "uploaded", "Uploaded"
        IN_PROGRESS = "in_progress", "In progress"
        COLLECTED = "collected", "Collected"
        FAILED = "failed", "Failed"
        QUEUE_FULL = "queue_full", "Over the queue limit"

    run = models.ForeignKey(JudgeRun, on_delete=models.CASCADE, related_name="provider_batches")
    input_file = models.CharField(max_length=200, blank=True, help_text="The provider's name for the uploaded file.")
    provider_id = models.CharField(max_length=200, blank=True, help_text="The provider's name for the batch.")
    status = models.CharField(max_length=12, choices=Status.choices, default=Status.UPLOADED)
    requests = models.PositiveIntegerField(default=0)
    keys = models.JSONField(default=list, help_text="Cache keys of the requests in it.")
    message = ReasonField(blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["run", "created_at"]
        verbose_name_plural = "provider batches"

    def __str__(self) -> str:
        return self.provider_id or f"batch {self.pk}"


class Completion(models.Model):
    """A raw answer of an endpoint, under a hash of everything that was sent."""

    cache_key = models.CharField(
        max_length=64,
        unique=True,
        null=True,
        blank=True,
        help_text="SHA-256 of base URL, body and sample index; empty for a refusal, which is kept but never reused.",
    )
    base_url = models.CharField(max_length=500)
    request = models.JSONField(help_text="The whole request body. It holds no key.")
    sample = models.PositiveIntegerField(default=0)
    kind = models.CharField(max_length=20, blank=True, help_text="What the call was for, as `verdict` or `critique`.")
    text = models.TextField(blank=True)
    finish_reason = models.CharField(max_length=40, blank=True)
    response = models.JSONField(default=dict)
    prompt_tokens = models.PositiveIntegerField(null=True)
    completion_tokens = models.PositiveIntegerField(null=True)
    cost = models.DecimalField(
        max_digits=14,
        decimal_places=8,
        null=True,
        help_text="As the endpoint reported it in its currency, else at the prices of that day.",
    )
    list_price = models.DecimalField(
        max_digits=14,
        decimal_places=8,
        null=True,
        help_text="At the prices of that day, where the endpoint reported a cost itself.",
    )
    expected_prompt_tokens = models.PositiveIntegerField(
        null=True, help_text="Estimated from the prompt's characters, on the low side."
    )
    served_model = models.CharField(
        max_length=200, blank=True, default="", db_default="", help_text="Model that answered, by the response."
    )
    fingerprint = models.CharField(
        max_length=200, blank=True, default="", db_default="", help_text="Build of the model, by the response."
    )
    provider = models.CharField(
        max_length=200,
        blank=True,
        default="",
        db_default="",
        help_text="Provider that a router chose, by the response.",
    )
    latency_ms = models.FloatField(null=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return self.cache_key[:12] if self.cache_key else f"refusal {self.pk}"


# Completions of a study created from a bundle without them: what they took, and no text.
LEFT_OUT = Q(cache_key=None, request={})


class Judgment(models.Model):
    """One cell of a run: one presentation of one pair to a judge, with one question, and its outcome."""

    class Order(models.TextChoices):
        AB = "ab", "A shown first"
        BA = "ba", "B shown first"

    class Status(models.TextChoices):
        PENDING = "pending", "Not asked yet"
        PARSED = "parsed", "Parsed"
        UNPARSED = "unparsed", "Unparsed"
        REFUSED = "refused", "Refused"
        ERROR = "error", "Error"

    class Cause(models.TextChoices):
        TOO_LONG = "length", "Too long for the model"
        FILTERED = "filter", "Stopped by a content filter"
        REJECTED = "rejected", "Rejected by the endpoint"
        NO_ANSWER = "no_answer", "No answer"

    run = models.ForeignKey(JudgeRun, on_delete=models.CASCADE, related_name="judgments")
    pair = models.ForeignKey(Pair, on_delete=models.PROTECT, related_name="judgments")
    order = models.CharField(max_length=2, choices=Order.choices)
    repeat = models.PositiveIntegerField(default=0)
    negated = models.BooleanField(default=False)
    question = models.PositiveSmallIntegerField(
        default=MAIN, db_default=MAIN, help_text="Of the study; 0 is the main one."
    )
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.PENDING)
    verdict = models.SmallIntegerField(
        null=True, blank=True, help_text="Study order: −1 is system A; empty unless parsed."
    )
    p_b = models.FloatField(null=True, blank=True, help_text="Probability of system B, where the endpoint gives it.")
    score_a = models.FloatField(null=True, blank=True, help_text="Score of system A's text, from pointwise judges.")
    score_b = models.FloatField(null=True, blank=True)
    token_mass = models.FloatField(
        null=True,
        blank=True,
        help_text="Part of the answer token's probability on the letters or scores on offer, where the endpoint gives it.",
    )
    rationale = models.TextField(blank=True)
    failure = ReasonField(blank=True, help_text="Why there is no verdict.")
    failure_code = models.CharField(
        max_length=40, blank=True, default="", db_default="", help_text="Of an error: its kind, as “HTTP 500”."
    )
    cause = models.CharField(
        max_length=10,
        choices=Cause.choices,
        blank=True,
        default="",
        db_default="",
        help_text="Of a call without an answer; of an open presentation: of an earlier one.",
    )
    calls = models.PositiveIntegerField(default=0, help_text="Answers used for this cell, new or from the cache.")
    cached = models.PositiveIntegerField(default=0, help_text="How many of these came from the cache.")
    prompt_tokens = models.PositiveIntegerField(null=True, help_text="Of the calls made for this cell.")
    completion_tokens = models.PositiveIntegerField(null=True)
    cost = models.DecimalField(
        max_digits=14, decimal_places=8, null=True, help_text="Of the calls made for this cell; empty: unknown."
    )
    worker = models.ForeignKey(
        RunWorker, null=True, blank=True, on_delete=models.SET_NULL, related_name="cells", help_text="Worker on it now."
    )
    completions = models.ManyToManyField(Completion, blank=True, related_name="judgments")
    prompt_version = models.CharField(max_length=160, blank=True)
    parser_version = models.CharField(max_length=40, blank=True)
    judged_at = models.DateTimeField(null=True, blank=True)

    study_path: ClassVar = "run__study"
    objects = AnswerQuerySet["Judgment"].as_manager()

    class Meta:
        ordering = ["run", "pair", "order", "repeat", "question"]
        constraints = [
            models.UniqueConstraint(
                fields=["run", "pair", "order", "repeat", "negated", "question"], name="judgment_once_per_presentation"
            ),
            models.CheckConstraint(
                condition=(Q(status="parsed") & Q(verdict__in=[-1, 0, 1])) | (~Q(status="parsed") & Q(verdict=None)),
                name="judgment_has_verdict_only_when_parsed",
            ),
        ]
        indexes = [
            models.Index(fields=["run", "status"], name="judgment_run_status"),
            models.Index(fields=["run", "id"], condition=Q(status="pending", worker=None), name="judgment_free"),
        ]

    def __str__(self) -> str:
        return f"{self.run_id}/{self.pair_id}/{self.order}"
