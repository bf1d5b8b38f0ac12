"""What language models made of texts, kept so that each text is encoded once."""

from django.db import models
from django.utils import timezone


class TextVector(models.Model):
    """The vector that one model gave one text. Neither the text nor whose it is is kept here."""

    model = models.CharField(max_length=64, help_text="Fingerprint: SHA-256 of weights and settings.")
    text_sha256 = models.CharField(max_length=64)
    vector = models.BinaryField(help_text="Little-endian float32.")
    made_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["model", "text_sha256"], name="text_vector_once_per_model")]

    def __str__(self) -> str:
        return f"{self.text_sha256[:12]} by {self.model[:12]}"
