"""Research groups, roles in a group or in a study, API tokens, and the audit log."""

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

MAIN_GROUP = "main"


class ResearchGroup(models.Model):
    """A team. Every study belongs to one group, and members see only their group's studies."""

    slug = models.SlugField(max_length=80, unique=True)
    name = models.CharField(max_length=200)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.slug


def main_group() -> ResearchGroup:
    """Return the default group, for installations that need only one."""
    return ResearchGroup.objects.get_or_create(slug=MAIN_GROUP, defaults={"name": "Main group"})[0]


class Role(models.TextChoices):
    """A user's permissions in a study, in a group's studies, or in all."""

    ANNOTATOR = "annotator", "Annotator"
    RESEARCHER = "researcher", "Researcher"
    STUDY_ADMIN = "study-admin", "Study admin"
    ADMIN = "admin", "Site admin"


class RoleGrant(models.Model):
    """One user's role, in one study or in all studies of a group. A site admin is Django's superuser."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="role_grants")
    role = models.CharField(max_length=20, choices=Role.choices)
    study = models.ForeignKey("Study", null=True, blank=True, on_delete=models.CASCADE, related_name="role_grants")
    group = models.ForeignKey(
        ResearchGroup, null=True, blank=True, on_delete=models.CASCADE, related_name="role_grants"
    )
    granted_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "role", "study"], name="role_granted_once"),
            models.UniqueConstraint(fields=["user", "role", "group"], name="role_in_group_granted_once"),
            models.CheckConstraint(
                condition=Q(study=None, group__isnull=False) | Q(study__isnull=False, group=None),
                name="role_in_a_study_or_in_a_group",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user}: {self.role} in {self.study or f'group {self.group}'}"


class AuditQuerySet(models.QuerySet["AuditEntry"]):
    """Rows are added, never changed or deleted."""

    def update(self, **_changes: Any) -> int:
        raise TypeError("the audit log is append-only")

    def delete(self) -> tuple[int, dict[str, int]]:
        raise TypeError("the audit log is append-only")


class AuditEntry(models.Model):
    """A request of a researcher or an admin: sender, time, page, subject and result. It holds keys only."""

    happened_at = models.DateTimeField(default=timezone.now, db_index=True)
    account = models.PositiveBigIntegerField(help_text="The account's number; it may be gone.")
    method = models.CharField(max_length=7)
    action = models.CharField(max_length=120, help_text="The page's name.")
    about = models.JSONField(default=dict, help_text="The keys in the page's address.")
    status = models.PositiveSmallIntegerField(help_text="Of the response.")
    request_id = models.CharField(max_length=64)
    changes = models.JSONField(default=list, help_text="What the study's log got from this request, before and after.")

    objects = AuditQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        verbose_name_plural = "audit entries"

    def __str__(self) -> str:
        return f"{self.happened_at:%Y-%m-%d %H:%M:%S} {self.account} {self.method} {self.action}"

    def save(self, *args: Any, **named: Any) -> None:
        if not self._state.adding:
            raise TypeError("the audit log is append-only")
        super().save(*args, **named)

    def delete(self, *_args: Any, **_named: Any) -> tuple[int, dict[str, int]]:
        raise TypeError("the audit log is append-only")


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
    studies: models.ManyToManyField[Any, Any] = models.ManyToManyField("Study", blank=True, related_name="api_tokens")
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(null=True, blank=True, help_text="Default: never.")
    last_used_at = models.DateTimeField(null=True, blank=True, help_text="To the minute.")

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.name}"
