"""Annotators of a study, their consent, qualification and arms, and messages to them."""

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from annotation.core.reasons import ReasonField
from annotation.models.importing import Instance
from annotation.models.studies import Study


class AnnotatorQuerySet(models.QuerySet["Annotator"]):
    """Annotators by state."""

    def present(self) -> "AnnotatorQuerySet":
        """Return those who have not withdrawn. Data of the others may not be shown or exported."""
        return self.filter(withdrawn_at=None)


class Annotator(models.Model):
    """A person (or a program that rates) within one study, under a pseudonymous code."""

    class Kind(models.TextChoices):
        ACCOUNT = "account", "Account here"
        IMPORTED = "imported", "Imported ratings"
        SCRIPTED = "scripted", "Scripted: a program, not a person"
        INVITED = "invited", "Invited by a one-time link"
        ANONYMOUS = "anonymous", "Anonymous link"
        PROLIFIC = "prolific", "Prolific"
        MTURK = "mturk", "Amazon Mechanical Turk"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="annotators")
    code = models.CharField(max_length=200)
    kind = models.CharField(max_length=20, choices=Kind.choices)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="annotators"
    )
    joined_at = models.DateTimeField(default=timezone.now)
    excluded = models.BooleanField(default=False, help_text="Left out of findings; nothing is deleted.")
    exclusion_reason = models.CharField(max_length=300, blank=True)
    withdrawn_at = models.DateTimeField(
        null=True, blank=True, help_text="Withdrew consent: later exports and findings hold none of their data."
    )
    erased_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="When the data that identify them were deleted; after a withdrawal their ratings too.",
    )
    warned_at = models.DateTimeField(null=True, blank=True, help_text="Fell below a threshold that warns.")
    blocked_at = models.DateTimeField(null=True, blank=True, help_text="Fell below a threshold that ends the work.")
    block_reason = ReasonField(blank=True)

    came_by: Any = None  # the channel that `channel_of` found
    # Annotations of queries of claims and votes.
    accepted: bool | None = None  # the latest answer to the current consent text
    any_expired: bool

    objects = AnnotatorQuerySet.as_manager()

    class Meta:
        ordering = ["study", "code"]
        constraints = [
            models.UniqueConstraint(fields=["study", "code"], name="annotator_code_once_per_study"),
            models.UniqueConstraint(
                fields=["study", "user"], condition=Q(user__isnull=False), name="annotator_once_per_study_and_user"
            ),
        ]

    def __str__(self) -> str:
        return self.code


class Consent(models.Model):
    """One answer of an annotator to one version of the consent text."""

    annotator = models.ForeignKey(Annotator, on_delete=models.CASCADE, related_name="consents")
    version = models.PositiveIntegerField()
    text = models.TextField(blank=True, help_text="As it was shown.")
    accepted = models.BooleanField()
    answered_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["answered_at"]

    def __str__(self) -> str:
        return f"{self.annotator}: version {self.version} {'accepted' if self.accepted else 'declined'}"


class Message(models.Model):
    """A message from the study's admins to one rater, shown on the rater's pages until dismissed."""

    annotator = models.ForeignKey(Annotator, on_delete=models.CASCADE, related_name="messages")
    text = models.TextField()
    sent_at = models.DateTimeField(default=timezone.now)
    read_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["sent_at", "pk"]

    def __str__(self) -> str:
        return f"{self.annotator}: {self.text[:40]}"


class QualificationResult(models.Model):
    """The result of one attempt at a study's qualification, with the threshold that applied."""

    annotator = models.ForeignKey(Annotator, on_delete=models.CASCADE, related_name="qualification_results")
    attempt = models.PositiveSmallIntegerField()
    pairs = models.PositiveIntegerField()
    right = models.PositiveIntegerField()
    needed_share = models.FloatField()
    passed = models.BooleanField()
    finished_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["annotator", "attempt"]
        constraints = [
            models.UniqueConstraint(fields=["annotator", "attempt"], name="qualification_attempt_once"),
            models.CheckConstraint(condition=Q(right__lte=models.F("pairs")), name="qualification_right_at_most_pairs"),
        ]

    def __str__(self) -> str:
        return f"{self.annotator}: attempt {self.attempt} {'passed' if self.passed else 'failed'}"


class ArmDraw(models.Model):
    """One draw of a study's permuted blocks: the arm of the n-th rater or instance."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="arm_draws")
    number = models.PositiveIntegerField(help_text="Order of arrival, counted from 0.")
    annotator = models.OneToOneField(
        Annotator, null=True, blank=True, on_delete=models.CASCADE, related_name="arm_draw"
    )
    instance = models.OneToOneField(Instance, null=True, blank=True, on_delete=models.CASCADE, related_name="arm_draw")
    arm = models.CharField(max_length=50)

    class Meta:
        ordering = ["study", "number"]
        constraints = [
            models.UniqueConstraint(fields=["study", "number"], name="arm_draw_number_once_per_study"),
            models.CheckConstraint(
                condition=Q(annotator__isnull=False, instance=None) | Q(annotator=None, instance__isnull=False),
                name="arm_draw_of_a_rater_or_an_instance",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.study}/{self.number}: {self.arm}"
