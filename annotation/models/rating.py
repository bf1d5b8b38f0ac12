"""What people answered: claims on HITs, what was on which side, and the votes in study order."""

from datetime import datetime
from typing import TYPE_CHECKING

from django.db import models
from django.db.models import Q
from django.utils import timezone

from annotation.keys import new_key, new_seed
from annotation.models.content import ComparisonTable, Pair
from annotation.models.people import Annotator
from annotation.models.work import Hit

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser


class AssignmentQuerySet(models.QuerySet["Assignment"]):
    """Assignments by holder and state."""

    def held_by(self, user: "AbstractBaseUser | AnonymousUser") -> "AssignmentQuerySet":
        """Return this user's own assignments; nobody else's are ever shown to a rater."""
        return self.filter(annotator__user_id=user.pk) if user.pk else self.none()

    def claimed(self) -> "AssignmentQuerySet":
        """Return assignments that somebody is at."""
        return self.filter(state=Assignment.State.CLAIMED)

    def counted(self) -> "AssignmentQuerySet":
        """Return submitted assignments that fill a slot and were not excluded, nor their annotator."""
        return self.filter(
            state=Assignment.State.SUBMITTED, slot__isnull=False, excluded=False, annotator__excluded=False
        )

    def expired(self, at: datetime) -> "AssignmentQuerySet":
        """Return claims whose lease has run out."""
        return self.filter(state=Assignment.State.CLAIMED, expires_at__lte=at)


class Assignment(models.Model):
    """One annotator's claim on one HIT; a lease until it is submitted."""

    class State(models.TextChoices):
        CLAIMED = "claimed", "Claimed"
        SUBMITTED = "submitted", "Submitted"
        EXPIRED = "expired", "Ran out"

    key = models.CharField(max_length=32, unique=True, default=new_key, editable=False)
    hit = models.ForeignKey(Hit, on_delete=models.PROTECT, related_name="assignments")
    annotator = models.ForeignKey(Annotator, on_delete=models.PROTECT, related_name="assignments")
    state = models.CharField(max_length=10, choices=State.choices, default=State.CLAIMED)
    seed = models.PositiveIntegerField(default=new_seed, help_text="Draws the sides and the order of the pairs.")
    claimed_at = models.DateTimeField(null=True, default=timezone.now)
    expires_at = models.DateTimeField(null=True, blank=True)
    submitted_at = models.DateTimeField(null=True, blank=True)
    work_seconds = models.FloatField(null=True, blank=True, help_text="For the whole HIT, where only that is known.")
    excluded = models.BooleanField(default=False)
    exclusion_reason = models.CharField(max_length=300, blank=True)

    objects = AssignmentQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["hit", "annotator"], name="hit_once_per_annotator"),
            models.UniqueConstraint(
                fields=["annotator"], condition=Q(state="claimed"), name="one_open_claim_per_annotator"
            ),
        ]

    def __str__(self) -> str:
        return self.key


class Display(models.Model):
    """One pair as this annotator sees it: its place on the page and which side shows system A."""

    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE, related_name="displays")
    pair = models.ForeignKey(Pair, on_delete=models.PROTECT, related_name="displays")
    position = models.PositiveIntegerField()
    a_is_left = models.BooleanField(help_text="Left is shown first.")

    class Meta:
        ordering = ["assignment", "position"]
        constraints = [
            models.UniqueConstraint(fields=["assignment", "pair"], name="pair_once_per_assignment"),
            models.UniqueConstraint(fields=["assignment", "position"], name="display_position_once_per_assignment"),
        ]

    def __str__(self) -> str:
        return f"{self.assignment_id}/{self.position}"


class Rating(models.Model):
    """A vote on one pair, in study order: −1 prefers system A, +1 system B, 0 neither."""

    class Stage(models.TextChoices):
        FIRST = "first", "First vote"
        REVISED = "revised", "After the comparison table"

    display = models.ForeignKey(Display, on_delete=models.CASCADE, related_name="ratings")
    stage = models.CharField(max_length=10, choices=Stage.choices, default=Stage.FIRST)
    verdict = models.SmallIntegerField()
    reason = models.TextField(blank=True)
    table = models.ForeignKey(ComparisonTable, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    arm = models.CharField(max_length=40, blank=True)
    active_seconds = models.FloatField(null=True, blank=True)
    wall_seconds = models.FloatField(null=True, blank=True)
    rated_at = models.DateTimeField(null=True, blank=True)
    late = models.BooleanField(default=False)
    software_version = models.CharField(max_length=40, blank=True)

    class Meta:
        ordering = ["display", "stage"]
        constraints = [
            models.UniqueConstraint(fields=["display", "stage"], name="rating_once_per_stage"),
            models.CheckConstraint(condition=Q(verdict__in=[-1, 0, 1]), name="rating_verdict_known"),
            models.CheckConstraint(
                condition=(Q(active_seconds=None) | Q(active_seconds__gte=0))
                & (Q(wall_seconds=None) | Q(wall_seconds__gte=0)),
                name="rating_seconds_not_negative",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.display_id}: {self.verdict}"
