"""The aspects of a task, in versions."""

from django.db import models
from django.utils import timezone

from annotation.models import ResearchGroup, Study
from judging.models.endpoints import Endpoint
from judging.models.jobs import AskingJob


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


class Distillation(AskingJob):
    """The distilling of aspects from a study's texts that was started last, and what came of it."""

    job_kind, page = "aspects", "judging:aspects"
    worked_by = "judging.aspects.distillation.work_on"

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="distillation")
    endpoint = models.ForeignKey(Endpoint, on_delete=models.CASCADE, related_name="distillations")
    pairs = models.PositiveIntegerField(help_text="How many were drawn.")
    seed = models.PositiveIntegerField()
    params = models.JSONField(default=dict, blank=True, help_text="Sent with each call.")
    by = models.CharField(max_length=150, blank=True)
    found = models.JSONField(default=dict, blank=True, help_text="The version, whether it is new, and its calls.")

    class Meta:
        ordering = ["study"]

    def __str__(self) -> str:
        return f"aspects of {self.study}"
