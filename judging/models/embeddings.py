"""Vectors of texts from endpoints, kept so that each text is asked once."""

from django.db import models
from django.utils import timezone


class Embedding(models.Model):
    """What an endpoint's model made of one text, under a hash of both: each text is encoded once."""

    cache_key = models.CharField(
        max_length=64, unique=True, help_text="SHA-256 of base URL, model and text: the text itself is not kept here."
    )
    model = models.CharField(max_length=200)
    vector = models.BinaryField(help_text="Little-endian float32.")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.model} {self.cache_key[:12]}"
