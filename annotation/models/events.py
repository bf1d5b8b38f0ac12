"""A study's log: what its admins decided, when and why. Rows are added, never changed."""

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotation.models.people import Annotator
from annotation.models.rating import Assignment
from annotation.models.study import Study
from annotation.models.work import Batch


class Event(models.Model):
    """One decision about a study, a batch, a rater or an assignment."""

    class Kind(models.TextChoices):
        AMENDMENT = "amendment", _("The protocol was amended")
        LAUNCHED = "launched", _("Batch launched")
        PAUSED = "paused", _("Batch paused")
        CLOSED = "closed", _("Batch closed")
        EXTENDED = "extended", _("Batch extended")
        EXCLUDED = "excluded", _("Rater excluded")
        INCLUDED = "included", _("Rater included again")
        REJECTED = "rejected", _("Work rejected")
        ACCEPTED = "accepted", _("Rejected work accepted again")
        RELEASED = "released", _("Claim released")
        UNBLOCKED = "unblocked", _("Rater let go on")
        MESSAGE = "message", _("Message sent")
        ARCHIVED = "archived", _("Study archived")
        RESTORED = "restored", _("Study taken out of the archive")

    # What changes how numbers came about: shown with the results.
    SHOWN_WITH_RESULTS = (Kind.AMENDMENT, Kind.EXTENDED, Kind.EXCLUDED, Kind.INCLUDED, Kind.REJECTED, Kind.ACCEPTED)

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="events")
    kind = models.CharField(max_length=12, choices=Kind.choices)
    batch = models.ForeignKey(Batch, null=True, blank=True, on_delete=models.CASCADE, related_name="events")
    annotator = models.ForeignKey(Annotator, null=True, blank=True, on_delete=models.CASCADE, related_name="events")
    assignment = models.ForeignKey(Assignment, null=True, blank=True, on_delete=models.CASCADE, related_name="events")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    reason = models.TextField(blank=True)
    changes = models.JSONField(default=dict, blank=True, help_text="Setting → [before, after], or counts.")
    happened_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["happened_at", "pk"]

    def __str__(self) -> str:
        return f"{self.study}: {self.kind}"


class Message(models.Model):
    """A line from the study's admins to one rater, shown on the rater's next page until it is put away."""

    annotator = models.ForeignKey(Annotator, on_delete=models.CASCADE, related_name="messages")
    text = models.TextField()
    sent_at = models.DateTimeField(default=timezone.now)
    read_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["sent_at", "pk"]

    def __str__(self) -> str:
        return f"{self.annotator}: {self.text[:40]}"
