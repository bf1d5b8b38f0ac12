"""Studies, the files imported into them, and the log of their admins' decisions."""

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django.apps import apps
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import OperationalError, models
from django.utils import timezone

from annotation.core.arms import Arm, BadArm
from annotation.core.errors import UnknownStudy
from annotation.core.keys import new_key, new_seed
from annotation.models.members import ResearchGroup, RoleGrant
from annotation.questions.labels import translate_default
from annotation.questions.questions import (
    LONGEST_REASON,
    MAIN,
    BadQuestion,
    Question,
    checked_questions,
    further_questions,
    key_problem,
)

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser


DEFAULT_CONSENT = """You will compare pairs of texts and say which one you prefer.

- Your choices are stored under a random code, together with the time they were made.
- They are used for research and may be published in that form.
- You may stop at any time."""


RESERVED_SLUGS = frozenset({"new"})
SHARE = [MinValueValidator(0.0), MaxValueValidator(1.0)]


class TaskKind(models.TextChoices):
    """The task of the systems, which selects a judge's prompt."""

    SUMMARIZATION = "summarization", "Summarisation"
    SUMMARIZATION_CONCISE = "summarization-concise", "Concise summarisation"
    DIALOGUE = "dialogue", "Dialogue"
    HARMLESS = "harmless", "Harmlessness"
    RANKING = "ranking", "Ranking of documents"
    TRANSLATION = "translation", "Translation"
    INSTRUCTION = "instruction", "Following instructions"
    CHAT = "chat", "Chat"
    ORDERING = "ordering", "Order of events"
    FREE = "free", "Other (the study's own question)"


class Protocol(models.TextChoices):
    """The number of votes of a rater on one pair."""

    ONE_STAGE = "one-stage", "One vote on each pair"
    TWO_STAGE = "two-stage", "A vote on each pair, then a second one beside a comparison table"


class PairOrder(models.TextChoices):
    """In which order the pairs stand on a page."""

    RANDOM = "random", "Random, drawn for each rater"
    FIXED = "fixed", "The same for every rater"


class FirstReason(models.TextChoices):
    """Reasons asked of raters on each pair in the first stage."""

    OFF = "off", "Not asked"
    OPTIONAL = "optional", "Optional"
    REQUIRED = "required", "Required on every pair"


class ArmUnit(models.TextChoices):
    """The unit that is split into arms."""

    RATER = "rater", "Raters: each is in one arm throughout"
    INSTANCE = "instance", "Instances: each is in one arm for every rater"


class StudyQuerySet(models.QuerySet["Study"]):
    """Studies by permission and state."""

    def once_named(self, slug: str) -> "Study | None":
        """Return the study that had this short name last, and has another one now."""
        renamed = self.filter(events__kind=Event.Kind.RENAMED, events__changes__short_name__0=slug)
        return renamed.order_by("-events__pk").first()

    def refuse_former_name(self, slug: str) -> None:
        """Raise UnknownStudy, saying the present short name, if a study had this one."""
        if renamed := self.once_named(slug):
            raise UnknownStudy(f"there is no study {slug} any more; its short name is {renamed.slug}")

    def visible_to(self, user: "AbstractBaseUser | AnonymousUser", *roles: str) -> "StudyQuerySet":
        """Return studies in which `user` holds one of `roles`, or all for a site admin.

        `limited_to`, of a user in whose name a token is used, are the ids of the only studies that it opens.
        """
        limit = getattr(user, "limited_to", None)
        studies = self if limit is None else self.filter(pk__in=limit)
        if getattr(user, "is_superuser", False):
            return studies
        if not user.is_authenticated:
            return self.none()
        return studies.granted(user.pk, *roles)

    def readable(self) -> "StudyQuerySet":
        """Return studies to which no rows of an import are moving."""
        return self.filter(merging=False)

    def active(self) -> "StudyQuerySet":
        """Return studies that are not in the archive."""
        return self.filter(archived_at=None)

    def granted(self, user_id: int, *roles: str) -> "StudyQuerySet":
        """Return studies in which the user holds one of `roles`, granted for the study or its group."""
        grants = RoleGrant.objects.filter(user=user_id, role__in=roles)
        in_group = models.Q(group__in=grants.filter(study=None).values("group_id"))
        return self.filter(in_group | models.Q(pk__in=grants.filter(group=None).values("study_id")))

    def with_work_for(self, user_id: int) -> "StudyQuerySet":
        """Return studies with open batches or a claim of the user, claims first."""
        # Subqueries, since a join would multiply batches by assignments.
        study = models.OuterRef("pk")
        batches, assignments = apps.get_model("annotation", "Batch"), apps.get_model("annotation", "Assignment")
        is_open = models.Exists(batches.objects.filter(study=study, status="open", origin="collected"))
        mine = assignments.objects.filter(annotator__user=user_id, annotator__study=study, state="claimed")
        at_work = models.Exists(mine)
        return self.active().filter(is_open | at_work).order_by(at_work.desc(), "slug")


class VisibleStudies(models.Manager["Study"]):
    """The studies that are not hidden: rows of an import under way are seen by nobody."""

    def get_queryset(self) -> models.QuerySet["Study"]:
        return super().get_queryset().filter(importer="")


class Study(models.Model):
    """One experiment: its questions, guidelines, protocol."""

    key = models.CharField(max_length=32, unique=True, default=new_key, editable=False)
    group = models.ForeignKey(ResearchGroup, on_delete=models.PROTECT, related_name="studies")
    slug = models.SlugField(max_length=80, unique=True)
    title = models.CharField("Title", max_length=200, help_text="On researchers’ pages and in exports.")
    task_kind = models.CharField(
        "Task",
        max_length=40,
        choices=TaskKind.choices,
        default=TaskKind.SUMMARIZATION,
        help_text="Decides which prompt judges get.",
    )
    question = models.CharField(
        "Question",
        max_length=300,
        default="Which one is better?",
        help_text="Asked about each pair. Of several questions it is the main one: gold labels and checks are about it.",
    )
    source_label = models.CharField(
        "Heading of the source text",
        max_length=60,
        default="Source text",
        help_text="Above the source, on raters’ pages and in judges’ prompts.",
    )
    label_left = models.CharField(
        "Name of the left text",
        max_length=40,
        default="Left",
        help_text="Above the text on the left, and on its button.",
    )
    label_right = models.CharField(
        "Name of the right text",
        max_length=40,
        default="Right",
        help_text="Above the text on the right, and on its button.",
    )
    guidelines = models.TextField("Guidelines", blank=True, help_text="How to rate, with examples. Default: none.")
    consent_text = models.TextField(
        "Consent text",
        default=DEFAULT_CONSENT,
        help_text="If you change it, all raters are asked again. Default: a general text.",
    )
    consent_version = models.PositiveIntegerField(default=1)
    content_warning = models.TextField(
        "Content warning", blank=True, help_text="Shown to raters on every page. Default: none."
    )
    contact = models.CharField(
        "Contact",
        max_length=200,
        blank=True,
        help_text="How raters can reach you, such as an e-mail address. Shown on every page. Default: none.",
    )
    language = models.CharField(
        "Language of the texts",
        max_length=35,
        blank=True,
        validators=[RegexValidator(r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$", "Not a language tag such as en or pt-BR.")],
        help_text="A tag such as en, ar or pt-BR, for screen readers and invitations by mail. Default: unknown or mixed.",
    )
    render_markdown = models.BooleanField(
        "Render Markdown in sources and generations", default=False, help_text="Links and pictures are left out."
    )
    render_math = models.BooleanField(
        "Show LaTeX as formulas",
        default=False,
        help_text="$…$ and \\(…\\) within a line, $$…$$ and \\[…\\] on lines of their own.",
    )
    ties_allowed = models.BooleanField(
        "Offer “no preference”",
        default=True,
        help_text="Without it, raters must choose a side. Findings count it as a tie.",
    )
    strength = models.BooleanField(
        "Ask how much one is preferred",
        default=False,
        db_default=False,
        help_text="Much or slightly. Findings use the side; one measure of agreement uses the strength too.",
    )
    tie_kinds = models.BooleanField(
        "Ask whether both are good or both are bad",
        default=False,
        db_default=False,
        help_text="In place of “no preference”: “both are good” and “both are bad”.",
    )
    question_key = models.CharField(
        "Key of the question",
        max_length=30,
        default="overall",
        db_default="overall",
        help_text="Its name in files and filters, if there are several questions.",
    )
    question_description = models.TextField(
        "Description of the question",
        blank=True,
        default="",
        db_default="",
        help_text="Shown to raters below the question. Default: none.",
    )
    criteria: models.JSONField[Any, Any] = models.JSONField(
        default=list,
        db_default=models.Value([], models.JSONField()),
        blank=True,
        help_text="Up to five further questions on each pair: key, text, description, choices.",
    )
    first_reason = models.CharField(
        "Reason for the first choice",
        max_length=10,
        choices=FirstReason.choices,
        default=FirstReason.OFF,
        db_default=FirstReason.OFF,
        help_text="In the rater’s own words, next to the main question.",
    )
    first_reason_min_length = models.PositiveSmallIntegerField(
        "Minimum length of that reason", default=20, db_default=20, help_text="In characters, if a reason is required."
    )
    pair_order = models.CharField(
        "Order of the pairs on a page",
        max_length=10,
        choices=PairOrder.choices,
        default=PairOrder.RANDOM,
        help_text="Random: drawn for each rater, so that no pair always comes first.",
    )
    auto_advance = models.BooleanField(
        "Go to the next pair after each choice", default=True, help_text="Raters can switch it off for themselves."
    )
    protocol = models.CharField(
        "How often raters are asked",
        max_length=10,
        choices=Protocol.choices,
        default=Protocol.ONE_STAGE,
        help_text="Two stages: a second vote on each pair, next to a comparison table or without one.",
    )
    arms: models.JSONField[Any, Any] = models.JSONField(
        default=list,
        blank=True,
        help_text="Names of the arms of a two-stage study: none, table:VARIANT, placebo:VARIANT.",
    )
    arm_unit = models.CharField(
        "What is split into arms",
        max_length=10,
        choices=ArmUnit.choices,
        default=ArmUnit.RATER,
        help_text="Raters: each sees one kind throughout. Instances: each instance has one kind for all.",
    )
    balance_arms = models.BooleanField(
        "Keep the same number of slots for each arm",
        default=True,
        help_text="If raters are split: each HIT gets as many raters of one arm as of another.",
    )
    reason_min_length = models.PositiveSmallIntegerField(
        "Minimum length of a reason",
        default=20,
        help_text="In characters. Only a changed choice needs a reason.",
    )
    pairs_per_hit = models.PositiveSmallIntegerField(
        "Pairs per HIT (N)",
        default=5,
        validators=[MinValueValidator(1)],
        help_text="A HIT is one page for a rater: an instance and N of its pairs.",
    )
    raters_per_hit = models.PositiveSmallIntegerField(
        "Raters per HIT (R)",
        default=3,
        validators=[MinValueValidator(1)],
        help_text="The number of ratings of each pair.",
    )
    most_hits_per_rater = models.PositiveIntegerField(
        "HITs per rater at most",
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="In the whole study. Default: no limit.",
    )
    pay_per_hit = models.DecimalField(
        "Pay per HIT",
        max_digits=8,
        decimal_places=2,
        null=True,
        blank=True,
        validators=[MinValueValidator(0)],
        help_text="What a rater gets for a HIT. Default: no pay is shown.",
    )
    currency = models.CharField(
        "Currency",
        max_length=3,
        blank=True,
        validators=[RegexValidator(r"^[A-Z]{3}$", "Three capital letters, such as EUR.")],
        help_text="Three capital letters, such as EUR. Default: none.",
    )
    minutes_per_hit = models.PositiveSmallIntegerField(
        "Expected minutes per HIT",
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Shown before consent. Hours of work and pay per hour are computed from it. Default: unknown.",
    )
    pay_late = models.BooleanField(
        "Pay for late HITs that no longer count",
        default=False,
        help_text="A HIT submitted after its time counts only if its slot is still free.",
    )
    keep_personal_days = models.PositiveSmallIntegerField(
        "Days until personal data are deleted",
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Counted from the day the study is archived or its last batch is closed. Accounts, platform ids and messages are deleted; ratings stay under codes. Default: kept until a rater or a study admin deletes them.",
    )
    qualification_share = models.FloatField(
        "Share of qualification pairs to get right",
        default=0.8,
        validators=SHARE,
        help_text="0.8: 8 of 10 pairs as expected.",
    )
    qualification_attempts = models.PositiveSmallIntegerField(
        "Attempts at the qualification",
        default=2,
        validators=[MinValueValidator(1)],
        help_text="A rater who fails the last one gets no HIT.",
    )
    qualification_hits = models.PositiveSmallIntegerField(
        "Qualification HITs in one attempt",
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="With fewer than there are, another attempt gets new HITs. Default: all of them.",
    )
    check_pairs_needed = models.PositiveSmallIntegerField(
        "Checked pairs before a threshold acts",
        default=5,
        validators=[MinValueValidator(1)],
        help_text="Gold or repeated pairs, so that one mistake does not decide.",
    )
    gold_warn_below = models.FloatField(
        "Gold: warn below",
        null=True,
        blank=True,
        validators=SHARE,
        help_text="Share of hidden gold pairs answered as expected. Default: no warning.",
    )
    gold_block_below = models.FloatField(
        "Gold: stop the rater below",
        null=True,
        blank=True,
        validators=SHARE,
        help_text="The rater gets no further HIT. You can undo it under Reports. Default: never.",
    )
    repeat_warn_below = models.FloatField(
        "Repeats: warn below",
        null=True,
        blank=True,
        validators=SHARE,
        help_text="Share of repeated pairs answered as the first time, sides swapped. Default: no warning.",
    )
    repeat_block_below = models.FloatField(
        "Repeats: stop the rater below",
        null=True,
        blank=True,
        validators=SHARE,
        help_text="The rater gets no further HIT. You can undo it under Reports. Default: never.",
    )
    seed = models.PositiveIntegerField(default=new_seed)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    archived_at = models.DateTimeField(null=True, blank=True, help_text="An archived study gives out no HITs.")

    importer = models.CharField(
        max_length=80,
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text="The process that imports into it; it is hidden until all rows are stored.",
    )
    merging = models.BooleanField(
        default=False, db_default=False, editable=False, help_text="Rows of an import move to it: it cannot be read."
    )

    annotator: int | None  # an annotation of the query of a rater's studies

    objects = VisibleStudies.from_queryset(StudyQuerySet)()

    class Meta:
        ordering = ["slug"]
        verbose_name_plural = "studies"

    def __str__(self) -> str:
        return self.slug

    def clean(self) -> None:
        """Refuse reserved slugs, pay without a currency, bad arms, and questions that cannot be asked or answered."""
        if self.slug in RESERVED_SLUGS:
            raise ValidationError({"slug": f"The name {self.slug} is reserved; choose another."})
        problems: dict[str, str] = {}
        if self.pay_per_hit and not self.currency:
            problems["currency"] = "Say in which currency the pay is."
        try:
            names = [Arm.parse(name).name for name in self.arms]
            if len(set(names)) < len(names):
                problems["arms"] = "Give each arm once."
            elif self.protocol == Protocol.TWO_STAGE and not names:
                problems["arms"] = "A two-stage study needs one arm or more."
        except BadArm as error:
            problems["arms"] = str(error)
        if problem := key_problem(self.question_key):
            problems["question_key"] = problem
        if self.tie_kinds and not self.ties_allowed:
            problems["tie_kinds"] = "Kinds of “no preference” need “no preference”."
        for name in ("reason_min_length", "first_reason_min_length"):
            if getattr(self, name) > LONGEST_REASON:
                problems[name] = f"No reason may be longer than {LONGEST_REASON} characters."
        try:
            self.criteria = checked_questions(self.criteria, self.question_key)
        except BadQuestion as error:
            problems["criteria"] = str(error)
        if problems:
            raise ValidationError(problems)

    def refuse_reading(self) -> None:
        """Keep readers out while rows of an import move to the study: pages answer 503, and tasks go back to the queue.

        Raises: OperationalError.
        """
        if self.merging:
            raise OperationalError(f"an import into study {self.slug} is being completed")

    @property
    def pays(self) -> bool:
        """Tell whether a pay is named."""
        return self.pay_per_hit is not None

    def pay_for(self, hits: int) -> Decimal | None:
        """Return the pay for so many HITs, or None where no pay is named."""
        return None if self.pay_per_hit is None else self.pay_per_hit * hits

    @property
    def is_two_stage(self) -> bool:
        """Tell whether there is a second vote on each pair."""
        return self.protocol == Protocol.TWO_STAGE

    @property
    def text_options(self) -> dict[str, bool]:
        """The options with which `shown_text` shows sources and generations."""
        return {"rendered": self.render_markdown, "math": self.render_math}

    @property
    def questions(self) -> tuple[Question, ...]:
        """The questions of a pair, the main one first."""
        main = Question(
            number=MAIN,
            key=self.question_key,
            text=self.question,
            description=self.question_description,
            ties_allowed=self.ties_allowed,
            strength=self.strength,
            tie_kinds=self.tie_kinds,
        )
        return (main, *further_questions(self.criteria))

    @property
    def side_labels(self) -> tuple[str, str]:
        """The names of the left and the right text, as raters read them."""
        return translate_default(self.label_left), translate_default(self.label_right)


class ImportRecord(models.Model):
    """A file that was imported into a study, with what was added."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="imports")
    kind = models.CharField(max_length=20)
    file_name = models.CharField(max_length=255)
    sha256 = models.CharField(max_length=64)
    options: models.JSONField[Any, Any] = models.JSONField(default=dict)
    counts: models.JSONField[Any, Any] = models.JSONField(default=dict)
    added: models.JSONField[dict[str, list[list[int]]], dict[str, list[list[int]]]] = models.JSONField(
        default=dict, help_text="Its rows: ranges of primary keys by table. Empty: not known."
    )
    taken_back_at = models.DateTimeField(null=True, blank=True, help_text="When its rows began to be deleted.")
    imported_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["imported_at"]

    def __str__(self) -> str:
        return f"{self.file_name} into {self.study}"


class Event(models.Model):
    """A decision about a study, a batch, a rater or an assignment. Rows are added, never changed."""

    class Kind(models.TextChoices):
        AMENDMENT = "amendment", "The protocol was amended"
        LAUNCHED = "launched", "Batch launched"
        PAUSED = "paused", "Batch paused"
        CLOSED = "closed", "Batch closed"
        EXTENDED = "extended", "Batch extended"
        EXCLUDED = "excluded", "Rater excluded"
        INCLUDED = "included", "Rater included again"
        REJECTED = "rejected", "Work rejected"
        ACCEPTED = "accepted", "Rejected work accepted again"
        RELEASED = "released", "Claim released"
        UNBLOCKED = "unblocked", "Rater unblocked"
        MESSAGE = "message", "Message sent"
        ARCHIVED = "archived", "Study archived"
        RESTORED = "restored", "Study taken out of the archive"
        ERASED = "erased", "Personal data deleted"
        REOPENED = "reopened", "Judge's presentations asked again"
        RENAMED = "renamed", "Renamed"
        TAKEN_BACK = "taken-back", "Import taken back"
        REPLACED = "replaced", "Text replaced"
        MERGED = "merged", "Raters merged"
        PLANNED = "planned", "Plan frozen"
        UNPLANNED = "unplanned", "Plan withdrawn"
        DELETED = "deleted", "Batch deleted"

    # Decisions that affect the results.
    SHOWN_WITH_RESULTS = (
        *(Kind.AMENDMENT, Kind.EXTENDED, Kind.EXCLUDED, Kind.INCLUDED, Kind.REJECTED, Kind.ACCEPTED, Kind.REOPENED),
        *(Kind.TAKEN_BACK, Kind.REPLACED, Kind.MERGED),
    )

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="events")
    kind = models.CharField(max_length=12, choices=Kind.choices)
    batch = models.ForeignKey("Batch", null=True, blank=True, on_delete=models.CASCADE, related_name="events")
    annotator = models.ForeignKey("Annotator", null=True, blank=True, on_delete=models.CASCADE, related_name="events")
    assignment = models.ForeignKey("Assignment", null=True, blank=True, on_delete=models.CASCADE, related_name="events")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    reason = models.TextField(blank=True)
    changes = models.JSONField(default=dict, blank=True, help_text="Setting → [before, after], or counts.")
    happened_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["happened_at", "pk"]

    def __str__(self) -> str:
        return f"{self.study}: {self.kind}"
