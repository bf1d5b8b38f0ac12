"""Judges and the endpoints that they ask."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotation.keys import new_seed


class Endpoint(models.Model):
    """An OpenAI-compatible service and the model asked there. Keys live in the environment, never here."""

    name = models.SlugField(max_length=80, unique=True)
    base_url = models.CharField(max_length=500)
    model = models.CharField(max_length=200)
    key_env = models.CharField(max_length=100, blank=True, help_text="Name of the environment variable with the key.")
    timeout_seconds = models.FloatField(default=60)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Judge(models.Model):
    """An auto-rater: a method with its settings and, where it asks a model, the endpoint."""

    class Order(models.TextChoices):
        RANDOM = "random", _("Random per pair (seeded)")
        BOTH = "both", _("Both orders; disagreement is a tie")
        AB = "ab", _("System A first")
        BA = "ba", _("System B first")

    name = models.SlugField(max_length=80, unique=True)
    method = models.CharField(max_length=40)
    endpoint = models.ForeignKey(Endpoint, null=True, blank=True, on_delete=models.PROTECT, related_name="judges")
    order = models.CharField(max_length=10, choices=Order.choices, default=Order.RANDOM)
    family = models.CharField(max_length=100, blank=True)
    params = models.JSONField(default=dict, blank=True, help_text="Temperature and the like, sent with each call.")
    seed = models.PositiveIntegerField(default=new_seed)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name
