"""Assignments, what each rater was shown on which side, votes and flags."""

from datetime import datetime
from typing import ClassVar, Self, TypeVar

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotation.core.keys import new_key, new_seed
from annotation.models.annotators import Annotator
from annotation.models.hits import Hit
from annotation.models.importing import ComparisonTable, Pair
from annotation.questions.questions import CHOICES, MAIN, Answer, choice_of

Row = TypeVar("Row", bound=models.Model)


# Of a submitted assignment: it fills a slot, and neither it nor its annotator is excluded.
COUNTS = Q(slot__isnull=False, excluded=False, annotator__excluded=False)


class AssignmentQuerySet(models.QuerySet["Assignment"]):
    """Assignments by holder and state."""

    def present(self) -> "AssignmentQuerySet":
        """Return assignments of annotators who have not withdrawn."""
        return self.filter(annotator__withdrawn_at=None)

    def claimed(self) -> "AssignmentQuerySet":
        """Return assignments under way."""
        return self.filter(state=Assignment.State.CLAIMED)

    def unfinished(self) -> "AssignmentQuerySet":
        """Return assignments under way, and those whose lease has run out."""
        return self.filter(state__in=(Assignment.State.CLAIMED, Assignment.State.EXPIRED))

    def counted(self) -> "AssignmentQuerySet":
        """Return submitted assignments that fill a slot, unless they or their annotator are excluded."""
        return self.present().filter(COUNTS, state=Assignment.State.SUBMITTED)

    def expired(self, at: datetime) -> "AssignmentQuerySet":
        """Return claims whose lease has run out."""
        return self.filter(state=Assignment.State.CLAIMED, expires_at__lte=at)


class Assignment(models.Model):
    """One annotator's claim on one HIT: a lease until it is submitted."""

    class State(models.TextChoices):
        CLAIMED = "claimed", "Claimed"
        SUBMITTED = "submitted", "Submitted"
        EXPIRED = "expired", "Lease expired"
        RETURNED = "returned", "Returned"

    class Purpose(models.TextChoices):
        """Only ratings hold a slot and enter rating sets. The others assess the rater."""

        RATING = "rating", "Rating"
        QUALIFICATION = "qualification", "Qualification"
        GOLD = "gold", "Hidden check with a known answer"
        REPEAT = "repeat", "Hidden repeat of an earlier HIT, sides swapped"

    class ReturnReason(models.TextChoices):
        """Why a HIT was returned."""

        UNCLEAR = "unclear", _("I don't understand the texts or the question")
        UPSETTING = "upsetting", _("I don't want to read this")
        BROKEN = "broken", _("Something on the page doesn't work")
        NO_TIME = "no-time", _("I have no time for it now")
        OTHER = "other", _("Something else")

    key = models.CharField(max_length=32, unique=True, default=new_key, editable=False)
    hit = models.ForeignKey(Hit, on_delete=models.PROTECT, related_name="assignments")
    annotator = models.ForeignKey(Annotator, on_delete=models.PROTECT, related_name="assignments", db_index=False)
    state = models.CharField(max_length=10, choices=State.choices, default=State.CLAIMED)
    purpose = models.CharField(max_length=15, choices=Purpose.choices, default=Purpose.RATING)
    attempt = models.PositiveSmallIntegerField(
        default=1, help_text="At the qualification; else above 1 where the annotator has had the HIT before."
    )
    repeat_of = models.ForeignKey("self", null=True, blank=True, on_delete=models.PROTECT, related_name="repeats")
    arm = models.CharField(max_length=50, blank=True, help_text="In a two-stage study: what the second stage shows.")
    seed = models.PositiveIntegerField(default=new_seed, help_text="Draws the displays' seeds and the tables.")
    claimed_at = models.DateTimeField(null=True, default=timezone.now)
    expires_at = models.DateTimeField(null=True, blank=True)
    locked_at = models.DateTimeField(null=True, blank=True, help_text="When the first votes were closed to changes.")
    submitted_at = models.DateTimeField(null=True, blank=True)
    late = models.BooleanField(default=False, help_text="Submitted after its lease had expired.")
    pay_due = models.DecimalField(
        max_digits=8, decimal_places=2, null=True, blank=True, help_text="Settled at submission."
    )
    returned_at = models.DateTimeField(null=True, blank=True)
    return_reason = models.CharField(max_length=15, choices=ReturnReason.choices, blank=True)
    return_comment = models.TextField(blank=True)
    work_seconds = models.FloatField(null=True, blank=True, help_text="For the whole HIT, where only that is known.")
    excluded = models.BooleanField(default=False)
    exclusion_reason = models.CharField(max_length=300, blank=True)

    accepted: bool | None  # an annotation of the queries of votes: the annotator's latest answer to the consent text

    objects = AssignmentQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["hit", "annotator", "attempt"], name="hit_attempt_once_per_annotator"),
            models.CheckConstraint(
                condition=Q(attempt=1) | ~Q(purpose="rating"), name="assignment_for_rating_is_the_first"
            ),
            models.CheckConstraint(
                condition=Q(purpose="repeat", repeat_of__isnull=False) | (~Q(purpose="repeat") & Q(repeat_of=None)),
                name="assignment_repeat_names_what_it_repeats",
            ),
            models.UniqueConstraint(
                fields=["annotator"], condition=Q(state="claimed"), name="one_open_claim_per_annotator"
            ),
        ]
        indexes = [
            models.Index(fields=["expires_at"], condition=Q(state="claimed"), name="assignment_lease"),
            # For counts per rater, which it answers without the table; it includes an index of the annotator alone.
            models.Index(fields=["annotator", "state", "purpose", "arm", "excluded"], name="assignment_of_annotator"),
        ]

    def __str__(self) -> str:
        return self.key


class Display(models.Model):
    """One pair as this annotator sees it: its position on the page and the side that shows system A."""

    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE, related_name="displays")
    pair = models.ForeignKey(Pair, on_delete=models.PROTECT, related_name="displays")
    position = models.PositiveIntegerField()
    a_is_left = models.BooleanField(
        null=True, blank=True, help_text="Left is shown first; empty where an imported file does not say."
    )
    seed = models.PositiveIntegerField(
        null=True, blank=True, help_text="Of this annotator and pair: draws its place and its sides."
    )
    shown_at = models.DateTimeField(null=True, blank=True, help_text="When the page was first sent.")
    table = models.ForeignKey(
        ComparisonTable,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="displays",
        help_text="Shown in the second stage.",
    )
    second_shown_at = models.DateTimeField(null=True, blank=True, help_text="When the second stage began on this pair.")

    # Only after `annotation.hits.displays.attach_votes`: (stage, question) → rating, and their changes in order.
    votes: "dict[tuple[str, int], Rating]"
    changes: "list[VoteChange]"
    # Annotations of the queries of votes and of a HIT's page.
    version: int  # number of changes of one question's answer
    versions: dict[int, int]  # question → number of changes
    has_ratings: bool
    has_flags: bool
    standing_flags: "list[Flag]"  # on the pair

    class Meta:
        ordering = ["assignment", "position"]
        constraints = [
            models.UniqueConstraint(fields=["assignment", "pair"], name="pair_once_per_assignment"),
            models.UniqueConstraint(fields=["assignment", "position"], name="display_position_once_per_assignment"),
        ]

    def __str__(self) -> str:
        return f"{self.assignment_id}/{self.position}"

    def study_answer(self, choice: str) -> Answer:
        """Turn a choice on the screen into study order: the one place where sides become systems."""
        return CHOICES[choice] if self.a_is_left else CHOICES[choice].swapped()

    def screen_choice(self, answer: Answer) -> str:
        """Turn an answer in study order back to the choice on this rater's screen."""
        return choice_of(answer if self.a_is_left else answer.swapped())


class AnswerQuerySet(models.QuerySet[Row]):
    """Answers to a study's questions."""

    def for_question(self, question: int) -> Self:
        """Return the answers to one question. 0 is the main one."""
        return self.filter(question=question)


class Answered(models.Model):
    """The recorded answer to one question of a pair."""

    study_path: ClassVar = "display__assignment__hit__batch__study"

    question = models.PositiveSmallIntegerField(
        default=MAIN, db_default=MAIN, help_text="Its place among the study's questions; 0 is the main one."
    )
    verdict = models.SmallIntegerField(help_text="Study order: −1 prefers system A, +1 system B, 0 neither.")
    strength = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="Of a preference: 1 slight, 2 strong; empty where not asked or not known."
    )
    tie_kind = models.CharField(
        max_length=4, blank=True, default="", db_default="", help_text="Of “no preference”: both good or both bad."
    )

    class Meta:
        abstract = True
        constraints = [
            models.CheckConstraint(condition=Q(verdict__in=[-1, 0, 1]), name="%(class)s_verdict_known"),
            models.CheckConstraint(
                condition=Q(strength=None) | (Q(strength__in=[1, 2]) & ~Q(verdict=0)),
                name="%(class)s_strength_of_a_preference",
            ),
            models.CheckConstraint(
                condition=Q(tie_kind="") | Q(tie_kind__in=["good", "bad"], verdict=0), name="%(class)s_kind_of_a_tie"
            ),
        ]

    @property
    def answer(self) -> Answer:
        """The answer in study order."""
        return Answer(self.verdict, self.strength, self.tie_kind)


class Rating(Answered):
    """A vote on one question of one pair. The times on the pair are kept with the main question."""

    class Stage(models.TextChoices):
        FIRST = "first", "First vote"
        REVISED = "revised", "After the comparison table"

    display = models.ForeignKey(Display, on_delete=models.CASCADE, related_name="+")
    stage = models.CharField(max_length=10, choices=Stage.choices, default=Stage.FIRST)
    reason = models.TextField(blank=True)
    table = models.ForeignKey(ComparisonTable, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    arm = models.CharField(max_length=50, blank=True)
    active_seconds = models.FloatField(null=True, blank=True)
    wall_seconds = models.FloatField(null=True, blank=True)
    rated_at = models.DateTimeField(null=True, blank=True)
    late = models.BooleanField(default=False)
    translated = models.BooleanField(
        null=True, blank=True, help_text="Whether the browser had translated the page; empty where not reported."
    )
    software_version = models.CharField(max_length=40, blank=True)

    objects = AnswerQuerySet["Rating"].as_manager()

    class Meta:
        ordering = ["display", "stage", "question"]
        constraints = [
            *Answered.Meta.constraints,
            models.UniqueConstraint(fields=["display", "stage", "question"], name="rating_once_per_stage_and_question"),
            models.CheckConstraint(
                condition=Q(stage="first") | Q(question=MAIN), name="rating_revised_is_the_main_one"
            ),
            models.CheckConstraint(
                condition=(Q(active_seconds=None) | Q(active_seconds__gte=0))
                & (Q(wall_seconds=None) | Q(wall_seconds__gte=0)),
                name="rating_seconds_not_negative",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.display_id}: {self.verdict}"

    @property
    def choice(self) -> str:
        """The choice as the annotator clicked it: by the side of the screen."""
        return self.display.screen_choice(self.answer)


class VoteChange(Answered):
    """The history of votes: one row per received choice. Rows are added, never changed."""

    display = models.ForeignKey(Display, on_delete=models.CASCADE, related_name="+")
    stage = models.CharField(max_length=10, choices=Rating.Stage.choices)
    reason = models.TextField(blank=True)
    received_at = models.DateTimeField()
    chosen_at = models.DateTimeField(null=True, blank=True, help_text="By the browser's clock, where it said so.")
    page = models.CharField(max_length=32, blank=True, help_text="The loaded page that it came from.")
    active_seconds = models.FloatField(null=True, blank=True)
    wall_seconds = models.FloatField(null=True, blank=True)
    source_opened = models.BooleanField(
        null=True, blank=True, help_text="Whether the source was open at any time before; empty where not reported."
    )
    late = models.BooleanField(default=False)
    software_version = models.CharField(max_length=40, blank=True)

    objects = AnswerQuerySet["VoteChange"].as_manager()

    class Meta:
        ordering = ["display", "pk"]
        constraints = [*Answered.Meta.constraints]

    def __str__(self) -> str:
        return f"{self.display}: {self.verdict} ({self.stage})"


class Flag(models.Model):
    """An annotator's report about a pair, or about one row of the comparison table beside it."""

    class Kind(models.TextChoices):
        EMPTY = "empty", _("A text is empty or cut off")
        LANGUAGE = "language", _("Wrong language")
        HARMFUL = "harmful", _("Harmful content")
        OTHER = "other", _("Something else")
        UNSUPPORTED_ROW = "unsupported-row", _("Table row not supported by the texts")

    display = models.ForeignKey(Display, on_delete=models.CASCADE, related_name="flags")
    kind = models.CharField(max_length=20, choices=Kind.choices)
    comment = models.TextField(blank=True)
    table = models.ForeignKey(ComparisonTable, null=True, blank=True, on_delete=models.PROTECT, related_name="flags")
    row = models.PositiveSmallIntegerField(null=True, blank=True, help_text="Of the table, from 0.")
    flagged_at = models.DateTimeField()
    taken_back_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-flagged_at", "-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["display", "kind"], condition=Q(row=None), name="flag_once_per_pair_and_kind"
            ),
            models.UniqueConstraint(
                fields=["display", "table", "row"], condition=Q(row__isnull=False), name="flag_once_per_table_row"
            ),
            models.CheckConstraint(
                condition=Q(kind="unsupported-row", table__isnull=False, row__isnull=False)
                | (~Q(kind="unsupported-row") & Q(table=None, row=None)),
                name="flag_of_a_row_names_it",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.display}: {self.kind}"
