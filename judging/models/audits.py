"""Stress tests of a judge, and its answers to them."""

from django.db import models
from django.db.models import Q

from annotation.core.reasons import ReasonField
from annotation.models import Pair, Study
from annotation.questions.questions import MAIN
from judging.models.jobs import BilledJob
from judging.models.runs import Judge, Judgment


class JudgeAudit(BilledJob):
    """One judge asked about changed texts of pairs: a stress test.

    Its answers are rows of their own, which no reader of judgments sees.
    """

    job_kind, page = "stress-test", "reporting:audits"
    worked_by = "judging.audits.asking.ask"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="judge_audits")
    judge = models.ForeignKey(Judge, on_delete=models.PROTECT, related_name="audits")
    question = models.PositiveSmallIntegerField(default=MAIN, help_text="Of the study; 0 is the main one.")
    dataset = models.CharField(max_length=200, blank=True, help_text="Only pairs of this data set. Default: all.")
    pairs = models.PositiveIntegerField(null=True, blank=True, help_text="How many were drawn. Default: all.")
    seed = models.PositiveIntegerField(default=0)
    changes = models.JSONField(default=list, help_text="What is done to the texts, by name.")
    settings_key = models.CharField(max_length=64, help_text="SHA-256 of all that decides what is asked.")
    model = models.CharField(max_length=200, help_text="The endpoint's when the audit began.")

    class Meta:
        ordering = ["study", "judge", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["study", "judge", "settings_key"], name="judge_audit_once_per_settings")
        ]

    def __str__(self) -> str:
        return f"Stress test of {self.judge} on {self.study}"


class AuditAnswer(models.Model):
    """A judge's answer about a pair of which one text was changed, or none."""

    class Side(models.TextChoices):
        A = "a", "System A"
        B = "b", "System B"

    audit = models.ForeignKey(JudgeAudit, on_delete=models.CASCADE, related_name="answers")
    pair = models.ForeignKey(Pair, on_delete=models.CASCADE, related_name="audit_answers")
    change = models.CharField(max_length=20)
    order = models.CharField(max_length=2, choices=Judgment.Order.choices)
    side = models.CharField(max_length=1, choices=Side.choices, help_text="Whose text was changed.")
    text = models.TextField(blank=True, help_text="The changed text, where the change makes one.")
    status = models.CharField(max_length=10, choices=Judgment.Status.choices, default=Judgment.Status.PENDING)
    verdict = models.SmallIntegerField(
        null=True, blank=True, help_text="Study order: −1 is system A; empty unless parsed."
    )
    p_b = models.FloatField(null=True, blank=True)
    rationale = models.TextField(blank=True)
    failure = ReasonField(blank=True)
    prompt_version = models.CharField(max_length=160, blank=True)
    parser_version = models.CharField(max_length=40, blank=True)
    judged_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["audit", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["audit", "pair", "change"], name="audit_answer_once_per_pair_and_change"),
            models.CheckConstraint(
                condition=(Q(status="parsed") & Q(verdict__in=[-1, 0, 1])) | (~Q(status="parsed") & Q(verdict=None)),
                name="audit_answer_has_verdict_only_when_parsed",
            ),
        ]
        indexes = [models.Index(fields=["audit", "status"], name="audit_answer_status")]

    def __str__(self) -> str:
        return f"{self.audit_id}/{self.pair_id}/{self.change}"
