"""Mails, which are stored before they are sent."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from annotation.core.keys import new_key
from annotation.core.reasons import ReasonField
from annotation.models.recruitment import Invitation


class Mail(models.Model):
    """One mail to one address. Its links are made when it is sent, so that the table holds none."""

    class Kind(models.TextChoices):
        INVITATION = "invitation", "Invitation"
        SIGN_IN = "sign-in", "Sign-in link"
        RESET = "reset", "New password"
        ADDRESS = "address", "Confirmation of an address"
        STOPPED = "stopped", "A batch was closed by its stop rule"

    class State(models.TextChoices):
        WAITING = "waiting", "Waiting to be sent"
        SENDING = "sending", "Being sent"
        SENT = "sent", "Sent"
        FAILED = "failed", "Not sent"
        UNSURE = "unsure", "Perhaps sent: the connection broke while it was"

    key = models.CharField(max_length=32, unique=True, default=new_key, editable=False, help_text="Of the Message-ID.")
    kind = models.CharField(max_length=12, choices=Kind.choices)
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    address = models.EmailField(blank=True, help_text="Emptied when it is sent.")
    address_digest = models.CharField(max_length=64, blank=True, help_text="Keyed hash, for limits.")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="mails"
    )
    invitation = models.ForeignKey(Invitation, null=True, blank=True, on_delete=models.CASCADE, related_name="mails")
    event = models.ForeignKey("Event", null=True, blank=True, on_delete=models.CASCADE, related_name="mails")
    language = models.CharField(max_length=10)
    attempts = models.PositiveIntegerField(default=0)
    error = ReasonField(blank=True, help_text="Why the last attempt failed.")
    created_at = models.DateTimeField(default=timezone.now)
    due_at = models.DateTimeField(default=timezone.now, help_text="When it is tried next.")
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["pk"]
        indexes = [
            models.Index(fields=["due_at"], condition=Q(state__in=["waiting", "sending"]), name="mail_is_due"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.key}: {self.state}"
