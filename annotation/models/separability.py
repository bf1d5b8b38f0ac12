"""How distinguishable two systems are on each instance, as computed once and kept."""

from django.db import models
from django.utils import timezone

from annotation.models.content import Matchup, System
from annotation.models.study import Study


class SeparabilityRun(models.Model):
    """Alignments of every matchup of one configuration under one similarity and one normalisation group."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="separability_runs")
    dataset = models.CharField(max_length=100)
    system_a = models.ForeignKey(System, on_delete=models.CASCADE, related_name="+")
    system_b = models.ForeignKey(System, on_delete=models.CASCADE, related_name="+")
    similarity = models.CharField(max_length=60)
    group = models.CharField(max_length=60, help_text="configuration, study, or constants")
    low = models.FloatField(help_text="Smallest alignment of the normalisation group: becomes 0.")
    high = models.FloatField(help_text="Largest alignment of the normalisation group: becomes 1.")
    texts_sha256 = models.CharField(max_length=64, help_text="Of all texts that went in: tells when to compute again.")
    computed_at = models.DateTimeField(default=timezone.now)
    software_version = models.CharField(max_length=40)

    class Meta:
        ordering = ["-computed_at", "-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "dataset", "system_a", "system_b", "similarity"],
                name="separability_once_per_configuration_and_similarity",
            )
        ]

    def __str__(self) -> str:
        return f"{self.study}: {self.dataset}, {self.system_a} / {self.system_b}, {self.similarity}"


class Alignment(models.Model):
    """Mean similarities of one matchup, raw, and its separability on normalised ones; empty where undefined."""

    run = models.ForeignKey(SeparabilityRun, on_delete=models.CASCADE, related_name="alignments")
    matchup = models.ForeignKey(Matchup, on_delete=models.CASCADE, related_name="alignments")
    self_a = models.FloatField(null=True, help_text="Empty when A has a single generation.")
    self_b = models.FloatField(null=True, help_text="Empty when B has a single generation.")
    cross = models.FloatField()
    separability = models.FloatField(null=True)

    class Meta:
        ordering = ["run", "matchup"]
        constraints = [models.UniqueConstraint(fields=["run", "matchup"], name="alignment_once_per_matchup")]

    def __str__(self) -> str:
        return f"{self.run_id}/{self.matchup_id}"
