"""Personal tokens of programs that use the API in a user's name."""

from django.conf import settings
from django.db import models
from django.utils import timezone

from annotation.models.studies import Study


class Scope(models.TextChoices):
    """The part of its owner's permissions that a token has."""

    READ = "read", "Read"
    MANAGE = "manage", "Manage raters and batches"
    CONFIGURE = "configure", "Configure and run"
    PERSONAL = "personal", "Export personal data"


class ApiToken(models.Model):
    """A token. The key itself is not stored."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100)
    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the key.")
    scopes: models.JSONField[list[str], list[str]] = models.JSONField()
    limited = models.BooleanField(
        default=False, help_text="To the studies that are named; it stays when they are deleted."
    )
    studies = models.ManyToManyField(Study, blank=True, related_name="api_tokens")
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(null=True, blank=True, help_text="Default: never.")
    last_used_at = models.DateTimeField(null=True, blank=True, help_text="To the minute.")

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.name}"
