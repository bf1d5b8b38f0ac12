"""The database tables of reporting: results that are kept, never the data that they come from."""

from typing import Any

from django.conf import settings
from django.db import models
from django.utils import timezone

from annotation.core.keys import new_key
from annotation.models import Study
from annotation.models.jobs import Job


class DataChanges(models.Model):
    """The number of changes of a study's data by one connection. See `reporting.core.data_version`."""

    study = models.BigIntegerField()  # no key: deleting a study's rows counts too, after what refers to it is gone
    connection = models.IntegerField()
    number = models.BigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["study", "connection"], name="changes_counted_by_connection")]

    def __str__(self) -> str:
        return f"{self.study}: {self.number}"


class FindingsSnapshot(models.Model):
    """A study's findings under one choice of filters, as they were computed last. See `reporting.findings.snapshots`."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="findings_snapshots")
    query = models.TextField(blank=True, help_text="The filters, as in an address.")
    key = models.CharField(max_length=64, help_text="SHA-256 of the filters.")
    version = models.CharField(
        max_length=64, blank=True, help_text="Of the data before they were read; empty: estimates without intervals."
    )
    departed = models.CharField(max_length=32, blank=True, help_text="Digest of the raters who had left.")
    numbers = models.BinaryField(help_text="The findings as JSON, compressed by zlib.")
    read_at = models.DateTimeField(help_text="When the data were read.")
    checked_at = models.DateTimeField(default=timezone.now, help_text="When the data were last the same.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["study", "key"], name="findings_snapshot_once_per_filters")]

    def __str__(self) -> str:
        return f"{self.study_id}: {self.query or 'all'}"


class MadeFile(Job):
    """A file that the worker makes of a study. See `reporting.downloads.jobs`."""

    class Kind(models.TextChoices):
        BUNDLE = "bundle", "Bundle"
        REPORT = "report", "Report"
        PREFERENCES = "preferences", "Preferences"
        REFINED = "refined", "Repaired preferences"
        RANKING = "ranking", "Texts ranked by a judge’s answers"
        TABLE_CHECKS = "table-checks", "Checks of comparison tables"

    job_kind, page = "file", "reporting:downloads"
    worked_by = "reporting.downloads.making.make"

    key = models.CharField(max_length=32, unique=True, default=new_key, editable=False, help_text="The file's name.")
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="made_files")
    kind = models.CharField(max_length=20, choices=Kind.choices)
    options: models.JSONField[dict[str, Any], dict[str, Any]] = models.JSONField(default=dict)
    size = models.PositiveBigIntegerField(null=True, blank=True, help_text="Bytes.")
    departed = models.CharField(max_length=32, blank=True, help_text="Digest of the raters who had left.")
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"{self.study_id}: {self.kind}, {self.status}"

    @property
    def stops_itself(self) -> bool:
        """A file for which a model is asked ends between two calls."""
        return self.kind == self.Kind.TABLE_CHECKS or bool(self.options.get("run"))


class SentRequest(models.Model):
    """A POST of the API under its sender's key, with its answer, for a day. See `reporting.api.sent_once`."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=100)
    digest = models.CharField(max_length=64, help_text="SHA-256 of the request.")
    status = models.PositiveSmallIntegerField(default=200)
    location = models.CharField(max_length=200, blank=True)
    answer = models.TextField(null=True, blank=True, help_text="JSON; null: not kept.")  # noqa: DJ001  # empty is an answer
    sent_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="sent_request_once_per_key")]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.key}"


class Sign(models.Model):
    """When something was last done that alarms wait for: a worker's look around, a backup."""

    name = models.CharField(max_length=20, unique=True)
    at = models.DateTimeField()
    went_well = models.BooleanField(default=True)

    def __str__(self) -> str:
        return f"{self.name}: {self.at}"
