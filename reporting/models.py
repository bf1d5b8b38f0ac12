"""The database tables of reporting: results that are kept, never the data that they come from."""

from django.db import models
from django.utils import timezone

from annotation.models import Study


class FindingsSnapshot(models.Model):
    """A study's findings under one choice of filters, as they were computed last; see `reporting.findings.snapshots`."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="findings_snapshots")
    query = models.TextField(blank=True, help_text="The filters, as in an address.")
    key = models.CharField(max_length=64, help_text="SHA-256 of the code and the filters.")
    state: models.JSONField[dict[str, str], dict[str, str]] = models.JSONField(
        help_text="Digests of the data, taken before they were read."
    )
    numbers = models.BinaryField(help_text="The findings as JSON, compressed by zlib.")
    read_at = models.DateTimeField(help_text="When the data were read.")
    checked_at = models.DateTimeField(default=timezone.now, help_text="When the data were last the same.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["study", "key"], name="findings_snapshot_once_per_filters")]

    def __str__(self) -> str:
        return f"{self.study_id}: {self.query or 'all'}"
