"""A study: one experiment, its question and what raters are told; and what was imported into it."""

from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from django.db import models
from django.utils import timezone

from annotation.keys import new_key, new_seed

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser


DEFAULT_CONSENT = """You will compare pairs of texts and say which one you prefer.

- Your choices are stored under a random code, together with the time they were made.
- They are used for research and may be published in that form.
- You may stop at any time."""


RESERVED_SLUGS = frozenset({"new"})


class TaskKind(models.TextChoices):
    """What the systems were asked to do; picks a judge's prompt."""

    SUMMARIZATION = "summarization", "Summarisation"
    SUMMARIZATION_CONCISE = "summarization-concise", "Concise summarisation"
    DIALOGUE = "dialogue", "Dialogue"
    FREE = "free", "Other (the study's own question)"


class StudyQuerySet(models.QuerySet["Study"]):
    """Studies by who may see them."""

    def seen_by(self, user: "AbstractBaseUser | AnonymousUser", *roles: str) -> "StudyQuerySet":
        """Return studies in which `user` holds one of `roles`; all of them for a site admin."""
        if getattr(user, "is_superuser", False):
            return self
        if not user.is_authenticated:
            return self.none()
        grants = user.role_grants.filter(role__in=roles)  # type: ignore[attr-defined]
        if grants.filter(study=None).exists():
            return self
        return self.filter(role_grants__in=grants).distinct()

    def with_work_for(self, user: "AbstractBaseUser") -> "StudyQuerySet":
        """Return studies whose HITs may be claimed now, or in which `user` is at one."""
        is_open = models.Q(batches__status="open", batches__origin="collected")
        at_work = models.Q(annotators__user_id=user.pk, annotators__assignments__state="claimed")
        return self.filter(is_open | at_work).distinct()


class Study(models.Model):
    """One experiment: its question, guidelines, protocol."""

    key = models.CharField(max_length=32, unique=True, default=new_key, editable=False)
    slug = models.SlugField(max_length=80, unique=True)
    title = models.CharField(max_length=200, help_text="For researchers only: raters never see it.")
    task_kind = models.CharField(max_length=40, choices=TaskKind.choices, default=TaskKind.SUMMARIZATION)
    question = models.CharField(max_length=300, default="Which one is better?")
    source_label = models.CharField(max_length=60, default="Source text")
    label_left = models.CharField(max_length=40, default="Left")
    label_right = models.CharField(max_length=40, default="Right")
    guidelines = models.TextField(blank=True, help_text="Markdown, shown to raters.")
    consent_text = models.TextField(
        default=DEFAULT_CONSENT, help_text="Markdown; a change raises the version and asks again."
    )
    consent_version = models.PositiveIntegerField(default=1)
    contact = models.CharField(max_length=200, blank=True, help_text="How raters reach the researcher.")
    ties_allowed = models.BooleanField(default=True, help_text="Offer “no preference”.")
    seed = models.PositiveIntegerField(default=new_seed)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = StudyQuerySet.as_manager()

    class Meta:
        ordering = ["slug"]
        verbose_name_plural = "studies"

    def __str__(self) -> str:
        return self.slug

    def clean(self) -> None:
        """Refuse a slug whose page would be another one."""
        if self.slug in RESERVED_SLUGS:
            raise ValidationError({"slug": f"The name {self.slug} is used by the program itself; choose another."})

    @property
    def offered_choices(self) -> dict[str, str]:
        """What a rater may answer, with its label, in the order on the page."""
        choices = {"left": self.label_left, "none": "No preference", "right": self.label_right}
        if not self.ties_allowed:
            del choices["none"]
        return choices


class ImportRecord(models.Model):
    """One file that was read into a study: which, when and what came of it."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="imports")
    kind = models.CharField(max_length=20)
    file_name = models.CharField(max_length=255)
    sha256 = models.CharField(max_length=64)
    options: models.JSONField[Any, Any] = models.JSONField(default=dict)
    counts: models.JSONField[Any, Any] = models.JSONField(default=dict)
    imported_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["imported_at"]

    def __str__(self) -> str:
        return f"{self.file_name} into {self.study}"
