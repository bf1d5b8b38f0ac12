"""How comparison tables were made, the aspects that they go through, and what was found in checking them."""

from django.db import models
from django.utils import timezone

from annotation.models import ComparisonTable, ResearchGroup
from judging.models.judge import Endpoint
from judging.models.run import Judgment


class TableMaking(models.Model):
    """How the table behind one judgment was made: samples, bracket and the table that won. Never edited.

    `record` is in study order, whichever text stood first when it was asked for; its form is that of
    `judging.judges.sc2.record`.
    """

    judgment = models.OneToOneField(Judgment, on_delete=models.CASCADE, related_name="making")
    table = models.ForeignKey(
        ComparisonTable,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="makings",
        help_text="The winning table where it was handed on, to be shown to people.",
    )
    record = models.JSONField()

    class Meta:
        ordering = ["judgment"]

    def __str__(self) -> str:
        return f"table of {self.judgment_id}"


class AspectSet(models.Model):
    """The aspects of a task: one version of them, never edited. A change by hand is the next version."""

    group = models.ForeignKey(ResearchGroup, on_delete=models.PROTECT, related_name="aspect_sets")
    task = models.CharField(max_length=30)
    version = models.PositiveIntegerField()
    aspects = models.JSONField(help_text="A list of texts, the most important one first.")
    made_by = models.JSONField(
        default=dict, blank=True, help_text="Endpoint, model, pairs and seed; or that it was edited, and from what."
    )
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["group", "task", "version"]
        constraints = [models.UniqueConstraint(fields=["group", "task", "version"], name="aspect_set_version_once")]

    def __str__(self) -> str:
        return f"{self.task}.v{self.version}"


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


class TableCheck(models.Model):
    """What embeddings say about one table. What words alone say is computed when it is looked at."""

    table = models.ForeignKey(ComparisonTable, on_delete=models.CASCADE, related_name="checks")
    endpoint = models.ForeignKey(Endpoint, on_delete=models.PROTECT, related_name="table_checks")
    model = models.CharField(max_length=200)
    found = models.JSONField(help_text="As `analysis.table_checks` says; each cell's support and the share supported.")
    made_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["table", "made_at"]
        constraints = [models.UniqueConstraint(fields=["table", "model"], name="table_check_once_per_model")]

    def __str__(self) -> str:
        return f"{self.table_id} by {self.model}"
