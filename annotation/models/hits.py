"""Batches of HITs, the pairs on each HIT, and the slots that assignments fill."""

import re

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.utils import timezone

from annotation.core.keys import new_key, new_seed
from annotation.models.importing import Matchup, Pair, System
from annotation.models.studies import Study


class BatchQuerySet(models.QuerySet["Batch"]):
    """Batches by state."""

    def open(self) -> "BatchQuerySet":
        """Return batches whose HITs may be claimed."""
        return self.filter(status=Batch.Status.OPEN)

    def for_rating(self) -> "BatchQuerySet":
        """Return batches whose ratings enter findings: no qualifications, gold checks or drafts."""
        return self.filter(purpose=Batch.Purpose.RATING).exclude(status=Batch.Status.DRAFT)


class Batch(models.Model):
    """HITs of one configuration published together."""

    class Status(models.TextChoices):
        DRAFT = "draft", "Draft: not launched yet"
        OPEN = "open", "Open"
        PAUSED = "paused", "Paused"
        CLOSED = "closed", "Closed"

    class Origin(models.TextChoices):
        COLLECTED = "collected", "Rated here"
        IMPORTED = "imported", "Imported"

    class Purpose(models.TextChoices):
        """Only ratings enter findings. The other two assess the rater."""

        RATING = "rating", "Ratings"
        QUALIFICATION = "qualification", "Qualification: before the first HIT, with feedback"
        GOLD = "gold", "Hidden checks with a known answer"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="batches")
    name = models.CharField("Name", max_length=200)
    dataset = models.CharField("Data set", max_length=100)
    system_a = models.ForeignKey(System, on_delete=models.PROTECT, related_name="+")
    system_b = models.ForeignKey(System, on_delete=models.PROTECT, related_name="+")
    pairs_per_hit = models.PositiveIntegerField("Pairs per HIT")
    raters_per_hit = models.PositiveIntegerField("Raters per HIT", help_text="Of a batch for ratings.")
    selection = models.JSONField(default=dict, help_text="How the instances were chosen.")
    seed = models.PositiveIntegerField(
        "Seed", default=new_seed, help_text="Of the draw; it is recorded. Clear it for another draw."
    )
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.OPEN)
    origin = models.CharField(max_length=10, choices=Origin.choices, default=Origin.COLLECTED)
    purpose = models.CharField(
        "What the answers are for",
        max_length=15,
        choices=Purpose.choices,
        default=Purpose.RATING,
        help_text=(
            "Qualifications and hidden checks use instances whose gold prefers one of the two systems. Every "
            "rater gets them."
        ),
    )
    gold_rate = models.FloatField(
        "Hidden gold HITs",
        default=0.0,
        help_text="Share of a rater’s HITs, such as 0.1. They come from the study’s gold batches.",
    )
    repeat_rate = models.FloatField(
        "Hidden repeats",
        default=0.0,
        help_text=(
            "Share of a rater’s HITs that repeat an earlier one with sides swapped. Gold and repeats together: at "
            "most 0.5."
        ),
    )
    lease_minutes = models.PositiveIntegerField(
        "Minutes for a HIT",
        default=60,
        help_text="How long a HIT stays claimed without activity; then others may claim it.",
    )
    most_hits_per_rater = models.PositiveIntegerField(
        "HITs for one rater at most",
        null=True,
        blank=True,
        help_text="Of this batch. Default: the study’s limit.",
    )
    stop_rule = models.CharField(
        "Stop when",
        max_length=200,
        blank=True,
        default="",
        help_text=(
            "The batch closes itself when the preference is clear (decided), the interval of the win rate is "
            "narrow (width:0.1), it is known whether a judge can replace raters (judge:NAME), or the pay "
            "reaches an amount (budget:100). Claimed HITs still count. Default: all HITs are rated."
        ),
    )
    created_at = models.DateTimeField(default=timezone.now)
    launched_at = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)

    objects = BatchQuerySet.as_manager()

    class Meta:
        ordering = ["study", "created_at", "pk"]
        verbose_name_plural = "batches"
        constraints = [
            models.UniqueConstraint(fields=["study", "name"], name="batch_name_once_per_study"),
            models.CheckConstraint(condition=Q(raters_per_hit__gte=1), name="batch_has_raters"),
            models.CheckConstraint(condition=Q(pairs_per_hit__gte=1), name="batch_has_pairs"),
            models.CheckConstraint(
                condition=Q(most_hits_per_rater=None) | Q(most_hits_per_rater__gte=1), name="batch_cap_at_least_one"
            ),
            models.CheckConstraint(
                condition=Q(gold_rate__gte=0, repeat_rate__gte=0, gold_rate__lte=0.5, repeat_rate__lte=0.5),
                name="batch_check_rates_at_most_half",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """Refuse a name that is no single line: subjects of mails carry it."""
        if re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]", self.name):
            raise ValidationError({"name": "One line without control characters, please."})


class Hit(models.Model):
    """A page of pairs of one matchup, rated together."""

    key = models.CharField(max_length=64, unique=True, default=new_key, editable=False)
    batch = models.ForeignKey(Batch, on_delete=models.CASCADE, related_name="hits")
    matchup = models.ForeignKey(Matchup, on_delete=models.PROTECT, related_name="hits")
    position = models.PositiveIntegerField(help_text="Seeded random place in the queue.")
    external_id = models.CharField(max_length=200, blank=True, help_text="The HIT's id in the imported file.")
    inclusion_probability = models.FloatField(null=True, blank=True)
    pairs = models.ManyToManyField(Pair, through="HitPair", related_name="hits")

    class Meta:
        ordering = ["batch", "position"]
        verbose_name = "HIT"
        constraints = [models.UniqueConstraint(fields=["batch", "position"], name="hit_position_once_per_batch")]

    def __str__(self) -> str:
        return self.key


class HitPair(models.Model):
    """A pair's place on a HIT."""

    hit = models.ForeignKey(Hit, on_delete=models.CASCADE, related_name="hit_pairs")
    pair = models.ForeignKey(Pair, on_delete=models.PROTECT, related_name="hit_pairs")
    position = models.PositiveIntegerField()

    class Meta:
        ordering = ["hit", "position"]
        verbose_name = "HIT pair"
        constraints = [
            models.UniqueConstraint(fields=["hit", "pair"], name="pair_once_per_hit"),
            models.UniqueConstraint(fields=["hit", "position"], name="pair_position_once_per_hit"),
        ]

    def __str__(self) -> str:
        return f"{self.hit_id}/{self.position}"


class SlotQuerySet(models.QuerySet["Slot"]):
    """Slots by state."""

    def free(self) -> "SlotQuerySet":
        """Return slots without an assignment, by the condition of the index `slot_free`."""
        return self.exclude(assignment__isnull=False)


class Slot(models.Model):
    """A place for one counted assignment of a HIT: R rows per HIT, so that R can't be exceeded.

    `batch` and `position` repeat constants of the HIT, so that one index lists a batch's free slots in the order in
    which they are given out.
    """

    hit = models.ForeignKey(Hit, on_delete=models.CASCADE, related_name="slots")
    batch = models.ForeignKey(Batch, on_delete=models.CASCADE, related_name="slots")
    number = models.PositiveIntegerField()
    position = models.PositiveIntegerField(help_text="The HIT's place in the queue.")
    arm = models.CharField(max_length=50, blank=True, help_text="Reserved for raters of this arm. Default: any arm.")
    assignment = models.OneToOneField(
        "annotation.Assignment", null=True, blank=True, on_delete=models.SET_NULL, related_name="slot"
    )

    objects = SlotQuerySet.as_manager()

    class Meta:
        ordering = ["hit", "number"]
        constraints = [models.UniqueConstraint(fields=["hit", "number"], name="slot_number_once_per_hit")]
        indexes = [
            # Not "assignment IS NULL": SQLite would use the index of `assignment` for that, and sort all free slots.
            models.Index(
                fields=["batch", "arm", "number", "position"],
                condition=~Q(assignment__isnull=False),
                name="slot_free",
            )
        ]

    def __str__(self) -> str:
        return f"{self.hit_id}/{self.number}"
