"""Results of annotators in a study's qualification."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from annotation.models.annotators import Annotator


class QualificationResult(models.Model):
    """The result of one attempt at a study's qualification, with the threshold that applied."""

    annotator = models.ForeignKey(Annotator, on_delete=models.CASCADE, related_name="qualification_results")
    attempt = models.PositiveSmallIntegerField()
    pairs = models.PositiveIntegerField()
    right = models.PositiveIntegerField()
    needed_share = models.FloatField()
    passed = models.BooleanField()
    finished_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["annotator", "attempt"]
        constraints = [
            models.UniqueConstraint(fields=["annotator", "attempt"], name="qualification_attempt_once"),
            models.CheckConstraint(condition=Q(right__lte=models.F("pairs")), name="qualification_right_at_most_pairs"),
        ]

    def __str__(self) -> str:
        return f"{self.annotator}: attempt {self.attempt} {'passed' if self.passed else 'failed'}"
