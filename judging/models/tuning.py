"""Tunings: the search for the settings of a judge that agree best with people."""

from django.db import models

from annotation.models import Study
from annotation.questions.questions import MAIN
from judging.models.jobs import AskingJob
from judging.models.runs import JUDGE_NAME, Judge


class JudgeTuning(AskingJob):
    """One search on one study, from the plan to the judge that came of it. What is asked are runs of its candidates."""

    job_kind, page = "tuning", "judging:tunings"
    worked_by = "judging.tuning.searching.tune"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="judge_tunings")
    judge = models.ForeignKey(Judge, on_delete=models.PROTECT, related_name="tunings", help_text="The untuned one.")
    name = models.CharField(
        max_length=70,
        unique=True,
        help_text="Of the judge that is made.",
        validators=[JUDGE_NAME],
    )
    question = models.PositiveSmallIntegerField(default=MAIN, help_text="Of the study; 0 is the main one.")
    settings = models.JSONField(default=dict, help_text="What was asked for: what is tried, budget, share, seed.")
    plan = models.JSONField(default=dict, help_text="The split by instance, the candidates, the size of each round.")
    found = models.JSONField(
        default=dict, blank=True, help_text="What was tried, and the comparison on the held-out part."
    )
    tuned = models.OneToOneField(Judge, null=True, blank=True, on_delete=models.SET_NULL, related_name="tuned_by")

    class Meta:
        ordering = ["study", "-created_at"]

    def __str__(self) -> str:
        return self.name
