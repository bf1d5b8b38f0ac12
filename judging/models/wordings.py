"""Researchers' own wordings of prompts, in versions."""

from django.db import models
from django.utils import timezone

from annotation.models import ResearchGroup


class PromptFile(models.Model):
    """A wording that a researcher brought: one version of it, never edited. Its parser is named, not written."""

    group = models.ForeignKey(
        ResearchGroup, null=True, blank=True, on_delete=models.PROTECT, related_name="prompt_files"
    )
    name = models.SlugField(max_length=80)
    version = models.PositiveIntegerField(default=1)
    text = models.TextField()
    system_prompt = models.TextField(
        blank=True, default="", db_default="", help_text="Sent before the text, as the system's message."
    )
    form = models.CharField(
        max_length=20,
        blank=True,
        default="",
        db_default="",
        help_text="Published form in which it was brought; empty: our own.",
    )
    parser = models.CharField(max_length=40)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["name", "version"]
        constraints = [models.UniqueConstraint(fields=["name", "version"], name="prompt_file_version_once")]

    def __str__(self) -> str:
        return f"{self.name}.v{self.version}"
