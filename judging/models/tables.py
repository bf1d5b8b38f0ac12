"""Comparison tables: their making, and checks of them."""

from django.db import models
from django.utils import timezone

from annotation.models import ComparisonTable
from judging.models.endpoints import Endpoint
from judging.models.runs import Judgment


class TableMaking(models.Model):
    """The creation of the table behind one judgment: samples, bracket and the winning table. Never edited.

    `record` is in study order, whichever text stood first when it was asked for; its form is that of
    `judging.methods.sc2.record`.
    """

    judgment = models.OneToOneField(Judgment, on_delete=models.CASCADE, related_name="making")
    table = models.ForeignKey(
        ComparisonTable,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="makings",
        help_text="The winning table, where it is to be shown to people.",
    )
    record = models.JSONField()

    class Meta:
        ordering = ["judgment"]

    def __str__(self) -> str:
        return f"table of {self.judgment_id}"


class TableCheck(models.Model):
    """A model's check of one table. Checks by words alone are computed when displayed."""

    table = models.ForeignKey(ComparisonTable, on_delete=models.CASCADE, related_name="checks")
    endpoint = models.ForeignKey(Endpoint, on_delete=models.PROTECT, related_name="table_checks")
    model = models.CharField(max_length=200)
    found = models.JSONField(
        help_text="As `analysis.judges.table_checks` says; each cell's support and the share supported."
    )
    made_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["table", "made_at"]
        constraints = [models.UniqueConstraint(fields=["table", "model"], name="table_check_once_per_model")]

    def __str__(self) -> str:
        return f"{self.table_id} by {self.model}"
