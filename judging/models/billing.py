"""What rows have in common that bear the cost of their work at an endpoint."""

from django.db import models
from django.utils import timezone


class BilledWork(models.Model):
    """Usage and money of one piece of work, over all processes that worked on it; unknown parts are empty."""

    calls = models.PositiveIntegerField(default=0)
    cached = models.PositiveIntegerField(default=0)
    prompt_tokens = models.BigIntegerField(null=True, default=0)
    completion_tokens = models.BigIntegerField(null=True, default=0)
    cost = models.DecimalField(max_digits=16, decimal_places=8, null=True, default=0)
    currency = models.CharField(max_length=3, default="USD")
    message = models.TextField(blank=True, help_text="Why the last execution stopped early.")
    created_at = models.DateTimeField(default=timezone.now)
    counted_until = models.DateTimeField(default=timezone.now, help_text="Answers since then are not counted yet.")
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    executor = models.CharField(
        max_length=200, blank=True, default="", db_default="", help_text="The process that asks; empty: none."
    )
    software_version = models.CharField(max_length=40)

    class Meta:
        abstract = True
