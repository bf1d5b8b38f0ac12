"""The sampling of a system's generations at an endpoint."""

from typing import Any

from django.db import models

from annotation.core.reasons import restored
from annotation.models import Study
from judging.models.endpoints import Endpoint
from judging.models.jobs import BilledJob


class GenerationRun(BilledJob):
    """The sampling of one system's texts: its settings, usage and progress.

    The settings never change once a text is stored: another temperature is another system.
    """

    job_kind, page = "sampling", "judging:generate"
    worked_by = "judging.generation.engine.sample"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="generation_runs")
    name = models.CharField(max_length=200, help_text="The system's name.")
    endpoint = models.ForeignKey(Endpoint, on_delete=models.PROTECT, related_name="generation_runs")
    base_url = models.CharField(max_length=500, help_text="The endpoint's when the run was created.")
    model = models.CharField(max_length=200, help_text="The endpoint's when the run was created.")
    template = models.TextField(help_text="Prompt template; $source stands for the source text.")
    template_version = models.CharField(max_length=120)
    system_prompt = models.TextField(blank=True)
    samples = models.PositiveSmallIntegerField(help_text="Generations of each instance.")
    temperature = models.FloatField(null=True, blank=True, help_text="Default: the endpoint's own.")
    top_p = models.FloatField(null=True, blank=True, help_text="Default: the endpoint's own.")
    params = models.JSONField(default=dict, blank=True, help_text="Parameters sent with each call.")
    seed = models.PositiveIntegerField()
    keep_refusals = models.BooleanField(default=False)
    settings_key = models.CharField(max_length=64, help_text="SHA-256 of all settings that affect the texts.")
    selection: models.JSONField[dict[str, Any], dict[str, Any]] = models.JSONField(
        default=dict, blank=True, help_text="The instances that are asked about now."
    )
    by = models.CharField(max_length=150, blank=True)
    longest = models.PositiveIntegerField(null=True, blank=True, help_text="Tokens of the longest answer so far.")
    cut = models.PositiveIntegerField(default=0, help_text="Stored texts that were cut off at the token limit.")
    left_out = models.JSONField(default=list, blank=True, help_text="First instances left out last time, with reasons.")
    left_out_count = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["study", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["study", "name"], name="generation_run_once_per_system"),
            models.CheckConstraint(condition=models.Q(samples__gte=1), name="generation_run_has_samples"),
        ]

    def __str__(self) -> str:
        return f"{self.name} in {self.study}"

    @property
    def instances_left_out(self) -> list[dict[str, str]]:
        """The first instances left out last time, each with text and code of the reason."""
        return [{"instance": item["instance"], **restored(item["why"]).as_json()} for item in self.left_out]
