"""The endpoints that judges ask."""

from django.db import models
from django.utils import timezone


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
    requests_per_minute = models.PositiveIntegerField(null=True, blank=True, help_text="Default: no limit.")
    tokens_per_minute = models.PositiveIntegerField(null=True, blank=True, help_text="Default: no limit.")
    price_prompt = models.DecimalField(
        max_digits=12, decimal_places=6, null=True, blank=True, help_text="Per million prompt tokens. Default: unknown."
    )
    price_completion = models.DecimalField(
        max_digits=12,
        decimal_places=6,
        null=True,
        blank=True,
        help_text="Per million completion tokens. Default: unknown.",
    )
    batch_discount = models.FloatField(
        default=0.5, help_text="Share of the price for calls through the provider's Batch API."
    )
    cached_discount = models.FloatField(
        default=1.0,
        db_default=1.0,
        help_text="Share of the price for prompt tokens from the endpoint's cache.",
    )
    currency = models.CharField(max_length=3, default="USD")
    supports = models.JSONField(default=dict, blank=True, help_text="Features found by the last test.")
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
            models.CheckConstraint(
                condition=models.Q(cached_discount__gte=0, cached_discount__lte=1),
                name="endpoint_cached_discount_is_a_share",
            ),
        ]

    def __str__(self) -> str:
        return self.name
