"""Tunings: the search for the settings of a judge that agree best with people."""

from django.db import models
from django.utils import timezone

from annotation.models import Study
from annotation.questions.questions import MAIN
from judging.models.runs import Judge


class JudgeTuning(models.Model):
    """One search on one study, from the plan to the judge that came of it. What is asked are runs of its candidates."""

    class Status(models.TextChoices):
        QUEUED = "queued", "Queued"
        RUNNING = "running", "Running"
        STOPPED = "stopped", "Stopped"
        DONE = "done", "Done"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="judge_tunings")
    judge = models.ForeignKey(Judge, on_delete=models.PROTECT, related_name="tunings", help_text="The untuned one.")
    name = models.SlugField(max_length=70, unique=True, help_text="Of the judge that is made.")
    question = models.PositiveSmallIntegerField(default=MAIN, help_text="Of the study; 0 is the main one.")
    settings = models.JSONField(default=dict, help_text="What was asked for: what is tried, budget, share, seed.")
    plan = models.JSONField(default=dict, help_text="The split by instance, the candidates, the size of each round.")
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.QUEUED)
    message = models.TextField(blank=True, help_text="Why it stopped.")
    found = models.JSONField(
        default=dict, blank=True, help_text="What was tried, and the comparison on the held-out part."
    )
    tuned = models.OneToOneField(Judge, null=True, blank=True, on_delete=models.SET_NULL, related_name="tuned_by")
    in_flight = models.PositiveIntegerField(default=8)
    max_cost = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True, help_text="Hard cap.")
    created_at = models.DateTimeField(default=timezone.now)
    heartbeat_at = models.DateTimeField(null=True, blank=True, help_text="A worker is at it while this is recent.")
    ended_at = models.DateTimeField(null=True, blank=True)
    software_version = models.CharField(max_length=40)

    class Meta:
        ordering = ["study", "-created_at"]

    def __str__(self) -> str:
        return self.name
