"""Judges and the endpoints that they ask."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotation.keys import new_seed
from annotation.models import ResearchGroup


class Endpoint(models.Model):
    """An OpenAI-compatible service and the model asked there. Keys live in the environment, never here."""

    name = models.SlugField(max_length=80, unique=True)
    base_url = models.CharField(max_length=500)
    model = models.CharField(max_length=200)
    key_env = models.CharField(max_length=100, blank=True, help_text="Name of the environment variable with the key.")
    timeout_seconds = models.FloatField(default=60)
    headers = models.JSONField(
        default=dict, blank=True, help_text="Sent with each call; `env:NAME` as a value reads a variable. No secrets."
    )
    requests_per_minute = models.PositiveIntegerField(null=True, blank=True, help_text="Empty: no limit.")
    tokens_per_minute = models.PositiveIntegerField(null=True, blank=True, help_text="Empty: no limit.")
    price_prompt = models.DecimalField(
        max_digits=12, decimal_places=6, null=True, blank=True, help_text="For a million prompt tokens; empty: unknown."
    )
    price_completion = models.DecimalField(
        max_digits=12,
        decimal_places=6,
        null=True,
        blank=True,
        help_text="For a million tokens written; empty: unknown.",
    )
    batch_discount = models.FloatField(
        default=0.5, help_text="Share of the price that is paid for calls through the provider's Batch API."
    )
    currency = models.CharField(max_length=3, default="USD")
    supports = models.JSONField(default=dict, blank=True, help_text="What the last test of it found.")
    tested_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(price_prompt=None) | models.Q(price_prompt__gte=0),
                name="endpoint_price_prompt_not_negative",
            ),
            models.CheckConstraint(
                condition=models.Q(price_completion=None) | models.Q(price_completion__gte=0),
                name="endpoint_price_completion_not_negative",
            ),
            models.CheckConstraint(
                condition=models.Q(batch_discount__gte=0, batch_discount__lte=1),
                name="endpoint_batch_discount_is_a_share",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class PromptFile(models.Model):
    """A wording that a researcher brought: one version of it, never edited. Its parser is named, not written."""

    group = models.ForeignKey(
        ResearchGroup, null=True, blank=True, on_delete=models.PROTECT, related_name="prompt_files"
    )
    name = models.SlugField(max_length=80)
    version = models.PositiveIntegerField(default=1)
    text = models.TextField()
    parser = models.CharField(max_length=40)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["name", "version"]
        constraints = [models.UniqueConstraint(fields=["name", "version"], name="prompt_file_version_once")]

    def __str__(self) -> str:
        return f"{self.name}.v{self.version}"


class Judge(models.Model):
    """An auto-rater: a method with its settings and, where it asks a model, the endpoint."""

    class Order(models.TextChoices):
        RANDOM = "random", _("Random per pair (seeded)")
        BOTH = "both", _("Both orders; disagreement is a tie")
        AB = "ab", _("System A first")
        BA = "ba", _("System B first")

    class Combine(models.TextChoices):
        TIE = "tie", _("Orders that disagree are a tie")
        PROBABILITY = "probability", _("The probabilities of both orders are averaged")

    name = models.SlugField(max_length=80, unique=True)
    method = models.CharField(max_length=40)
    endpoint = models.ForeignKey(Endpoint, null=True, blank=True, on_delete=models.PROTECT, related_name="judges")
    order = models.CharField(max_length=10, choices=Order.choices, default=Order.RANDOM)
    combine = models.CharField(max_length=12, choices=Combine.choices, default=Combine.TIE)
    repeats = models.PositiveSmallIntegerField(default=1, help_text="How often each presentation is asked.")
    negated = models.BooleanField(default=False, help_text="Ask the negated question as well.")
    task = models.CharField(max_length=30, blank=True, help_text="Which task's wording; empty: the study's own kind.")
    prompt_file = models.ForeignKey(PromptFile, null=True, blank=True, on_delete=models.PROTECT, related_name="judges")
    family = models.CharField(max_length=100, blank=True)
    params = models.JSONField(default=dict, blank=True, help_text="Temperature and the like, sent with each call.")
    seed = models.PositiveIntegerField(default=new_seed)
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
