"""Who may do what, and who rates: role grants, annotators within a study, their consent."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from annotation.models.groups import ResearchGroup
from annotation.models.study import Study


class Role(models.TextChoices):
    """What a user may do in a study, or in all of them."""

    ANNOTATOR = "annotator", "Annotator"
    RESEARCHER = "researcher", "Researcher"
    STUDY_ADMIN = "study-admin", "Study admin"
    ADMIN = "admin", "Site admin"


class RoleGrant(models.Model):
    """One user's role, in one study or in all studies of a group. A site admin is Django's superuser."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="role_grants")
    role = models.CharField(max_length=20, choices=Role.choices)
    study = models.ForeignKey(Study, null=True, blank=True, on_delete=models.CASCADE, related_name="role_grants")
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


class AnnotatorQuerySet(models.QuerySet["Annotator"]):
    """Annotators by standing."""

    def present(self) -> "AnnotatorQuerySet":
        """Return those who have not withdrawn: nothing of the others may be shown or exported."""
        return self.filter(withdrawn_at=None)


class Annotator(models.Model):
    """A person (or a script standing in for one) within one study, under a code that names nobody."""

    class Kind(models.TextChoices):
        ACCOUNT = "account", "Account here"
        IMPORTED = "imported", "Imported ratings"
        SCRIPTED = "scripted", "Scripted: a program, not a person"
        INVITED = "invited", "Invited by a one-time link"
        ANONYMOUS = "anonymous", "Anonymous link"
        PROLIFIC = "prolific", "Prolific"
        MTURK = "mturk", "Amazon Mechanical Turk"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="annotators")
    code = models.CharField(max_length=200)
    kind = models.CharField(max_length=20, choices=Kind.choices)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="annotators"
    )
    joined_at = models.DateTimeField(default=timezone.now)
    excluded = models.BooleanField(default=False, help_text="Left out of findings; nothing is deleted.")
    exclusion_reason = models.CharField(max_length=300, blank=True)
    withdrawn_at = models.DateTimeField(
        null=True, blank=True, help_text="Took consent back: no later export or finding holds anything of theirs."
    )
    warned_at = models.DateTimeField(null=True, blank=True, help_text="Fell below a threshold that warns.")
    blocked_at = models.DateTimeField(null=True, blank=True, help_text="Fell below a threshold that ends the work.")
    block_reason = models.CharField(max_length=300, blank=True)

    objects = AnnotatorQuerySet.as_manager()

    class Meta:
        ordering = ["study", "code"]
        constraints = [
            models.UniqueConstraint(fields=["study", "code"], name="annotator_code_once_per_study"),
            models.UniqueConstraint(
                fields=["study", "user"], condition=Q(user__isnull=False), name="annotator_once_per_study_and_user"
            ),
        ]

    def __str__(self) -> str:
        return self.code


class Consent(models.Model):
    """One answer of an annotator to one version of the consent text."""

    annotator = models.ForeignKey(Annotator, on_delete=models.CASCADE, related_name="consents")
    version = models.PositiveIntegerField()
    text = models.TextField(blank=True, help_text="As it was shown.")
    accepted = models.BooleanField()
    answered_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["answered_at"]

    def __str__(self) -> str:
        return f"{self.annotator}: version {self.version} {'accepted' if self.accepted else 'declined'}"


class QualificationResult(models.Model):
    """How one attempt at a study's qualification ended, under the rule that was in force."""

    annotator = models.ForeignKey(Annotator, on_delete=models.CASCADE, related_name="qualification_results")
    attempt = models.PositiveSmallIntegerField()
    pairs = models.PositiveIntegerField()
    right = models.PositiveIntegerField()
    needed_share = models.FloatField()
    passed = models.BooleanField()
    finished_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["annotator", "attempt"]
        constraints = [
            models.UniqueConstraint(fields=["annotator", "attempt"], name="qualification_attempt_once"),
            models.CheckConstraint(condition=Q(right__lte=models.F("pairs")), name="qualification_right_at_most_pairs"),
        ]

    def __str__(self) -> str:
        return f"{self.annotator}: attempt {self.attempt} {'passed' if self.passed else 'failed'}"
