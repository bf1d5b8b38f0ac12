"""Researchers' marks of judgments."""

from django.conf import settings
from django.db import models
from django.utils import timezone

from judging.models.runs import Judgment


class RationaleMark(models.Model):
    """A researcher's word on whether a judgment's rationale is sound, whatever its verdict."""

    judgment = models.ForeignKey(Judgment, on_delete=models.CASCADE, related_name="marks")
    marker = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text="Empty in a study made of a bundle, which names no accounts.",
    )
    sound = models.BooleanField()
    note = models.TextField(blank=True, max_length=2000)
    marked_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["judgment", "marker"]
        constraints = [models.UniqueConstraint(fields=["judgment", "marker"], name="rationale_marked_once_by_each")]

    def __str__(self) -> str:
        return f"{self.judgment_id}: {'sound' if self.sound else 'not sound'}"
