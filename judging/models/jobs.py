"""The common fields of jobs at an endpoint."""

from typing import Any

from django.db import models
from django.utils import timezone

from annotation.models.jobs import Job
from judging.models.endpoints import Endpoint


class AskingJob(Job):
    """A job that asks models, within its bounds."""

    endpoint: Any  # of a kind that has one of its own
    judge: Any
    in_flight = models.PositiveIntegerField(default=8)
    max_cost = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True, help_text="Hard cap.")

    class Meta:
        abstract = True

    @property
    def endpoints(self) -> list[Endpoint]:
        """The endpoints that it asks: its own, or its judge's."""
        return [self.endpoint] if hasattr(self, "endpoint") else self.judge.endpoints


class BilledJob(AskingJob):
    """A job that bears the cost of its calls, over all processes that worked on it. Unknown parts are empty."""

    calls = models.PositiveIntegerField(default=0)
    cached = models.PositiveIntegerField(default=0)
    prompt_tokens = models.BigIntegerField(null=True, default=0)
    completion_tokens = models.BigIntegerField(null=True, default=0)
    cost = models.DecimalField(max_digits=16, decimal_places=8, null=True, default=0)
    currency = models.CharField(max_length=3, default="USD")
    counted_until = models.DateTimeField(default=timezone.now, help_text="Answers since then are not counted yet.")

    class Meta:
        abstract = True
