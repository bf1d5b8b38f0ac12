"""Recruitment channels, their participants and submissions, and requests to platforms."""

from typing import Any, ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

from annotation.core.keys import new_key
from annotation.models.annotators import Annotator
from annotation.models.hits import Batch
from annotation.models.rating import Assignment
from annotation.models.studies import Study


def channel_kinds() -> list[tuple[str, Any]]:
    """Choices of `Channel.kind`: the built-in kinds, then those that further adapters add."""
    return [*Channel.Kind.choices, *Channel.added_kinds.items()]


class Channel(models.Model):
    """One way into a study, handled by the adapter of its kind."""

    class Kind(models.TextChoices):
        ACCOUNTS = "accounts", "Accounts: one-time links, or self-registration"
        ANONYMOUS = "anonymous", "Anonymous link"
        PROLIFIC = "prolific", "Prolific"
        MTURK = "mturk", "Amazon Mechanical Turk"

    added_kinds: ClassVar[dict[str, Any]] = {}  # label by kind

    key = models.CharField(max_length=32, unique=True, default=new_key, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="channels")
    batch = models.ForeignKey(
        Batch,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="channels",
        help_text="Default: all open batches.",
    )
    kind = models.CharField(max_length=12, choices=channel_kinds)
    name = models.CharField(max_length=100)
    is_open = models.BooleanField(default=False)
    options: models.JSONField[Any, Any] = models.JSONField(
        default=dict, blank=True, help_text="The adapter's settings. Secrets are named, not stored."
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["study", "created_at", "pk"]
        constraints = [models.UniqueConstraint(fields=["study", "name"], name="channel_name_once_per_study")]

    def __str__(self) -> str:
        return f"{self.study}: {self.name}"


class Invitation(models.Model):
    """A one-time link that makes its owner a rater of the study."""

    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="invitations")
    annotator = models.OneToOneField(Annotator, on_delete=models.CASCADE, related_name="invitation")
    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the link's token.")
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["channel", "pk"]

    def __str__(self) -> str:
        return f"{self.annotator}: {'used' if self.used_at else 'open'}"


class Participant(models.Model):
    """An annotator's id on the platform, which no page or export of ratings shows."""

    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="participants")
    annotator = models.OneToOneField(Annotator, on_delete=models.CASCADE, related_name="participant")
    external_id = models.CharField(max_length=200)
    joined_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["channel", "pk"]
        constraints = [models.UniqueConstraint(fields=["channel", "external_id"], name="participant_once_per_channel")]

    def __str__(self) -> str:
        return f"{self.channel_id}: {self.annotator}"


class Submission(models.Model):
    """One piece of work that a platform counts: a Prolific submission, an MTurk assignment."""

    class State(models.TextChoices):
        STARTED = "started", "Started"
        COMPLETED = "completed", "Completed, awaits a decision"
        SCREENED_OUT = "screened-out", "Screened out"
        TIMED_OUT = "timed-out", "Timed out"
        RETURNED = "returned", "Returned"
        APPROVED = "approved", "Approved"
        REJECTED = "rejected", "Rejected"

    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="submissions")
    participant = models.ForeignKey(
        Participant, null=True, blank=True, on_delete=models.CASCADE, related_name="submissions"
    )
    assignment = models.ForeignKey(
        Assignment, null=True, blank=True, on_delete=models.SET_NULL, related_name="submissions"
    )
    external_id = models.CharField(max_length=200)
    state = models.CharField(max_length=15, choices=State.choices, default=State.STARTED)
    code = models.CharField(max_length=100, blank=True, help_text="Completion code that the rater was given.")
    details: models.JSONField[Any, Any] = models.JSONField(default=dict, blank=True)
    started_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["channel", "pk"]
        constraints = [models.UniqueConstraint(fields=["channel", "external_id"], name="submission_once_per_channel")]

    def __str__(self) -> str:
        return f"{self.channel_id}/{self.external_id}: {self.state}"


class PlatformAction(models.Model):
    """A request to a platform. `key` makes retries idempotent."""

    class State(models.TextChoices):
        PENDING = "pending", "Not answered yet"
        DONE = "done", "Done"
        FAILED = "failed", "Refused"

    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="actions")
    submission = models.ForeignKey(Submission, null=True, blank=True, on_delete=models.CASCADE, related_name="actions")
    kind = models.CharField(max_length=30)
    key = models.CharField(max_length=100, help_text="Identifies the request, so that it is sent once.")
    payload: models.JSONField[Any, Any] = models.JSONField(default=dict, blank=True)
    state = models.CharField(max_length=10, choices=State.choices, default=State.PENDING)
    attempts = models.PositiveSmallIntegerField(default=0)
    answer: models.JSONField[Any, Any] = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["channel", "pk"]
        constraints = [models.UniqueConstraint(fields=["channel", "key"], name="platform_action_once_per_channel")]

    def __str__(self) -> str:
        return f"{self.channel_id}/{self.key}: {self.state}"


class WebhookEvent(models.Model):
    """A webhook message, stored once however often the platform sends it."""

    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="webhook_events")
    event_id = models.CharField(max_length=200)
    body: models.JSONField[Any, Any] = models.JSONField(default=dict)
    received_at = models.DateTimeField(default=timezone.now)
    applied_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["channel", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["channel", "event_id"], name="webhook_event_once_per_channel"),
            models.CheckConstraint(condition=~Q(event_id=""), name="webhook_event_has_an_id"),
        ]

    def __str__(self) -> str:
        return f"{self.channel_id}/{self.event_id}"
