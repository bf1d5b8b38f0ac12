"""Every object in Django's admin."""

from django.contrib import admin
from django.http import HttpRequest

from annotation import models
from annotation.services.amendments import FIXED_BY_VOTES, FOR_RESEARCHERS, rating_has_begun
from annotation.settings_form import StudySettingsForm


class MadeElsewhereAdmin(admin.ModelAdmin):
    """What comes from files, raters and services: some of it may be set right here."""

    def has_add_permission(self, request: object, obj: object = None) -> bool:
        """Nothing of this kind is made by hand."""
        return False

    def has_delete_permission(self, request: object, obj: object = None) -> bool:
        """Nothing that was rated or made is deleted."""
        return False


class ReadOnlyAdmin(MadeElsewhereAdmin):
    """What is looked at here, not changed."""

    def has_change_permission(self, request: object, obj: object = None) -> bool:
        """Nothing of this kind is changed by hand."""
        return False


@admin.register(models.Study)
class StudyAdmin(admin.ModelAdmin):
    """Studies."""

    list_display = ["slug", "title", "task_kind", "created_at"]
    search_fields = ["slug", "title"]
    # Another consent text is a new version, to be asked for again: the study's settings page sees to it.
    # And what raters' answers depend on is fixed once there are any, which that page sees to as well; as it does to
    # reasons for what changes under way, and to the log of what goes to the archive.
    readonly_fields = ["consent_text", "consent_version", "seed", "archived_at", *sorted(FIXED_BY_VOTES)]

    def get_readonly_fields(self, request: HttpRequest, obj: models.Study | None = None) -> list[str]:
        """Add what would be an amendment, once rating has begun."""
        fixed = [str(name) for name in self.readonly_fields]
        if obj is not None:
            fixed += ["slug", "group"]  # addresses, and who sees it: moving a study ends roles, which a service does
        if obj is not None and rating_has_begun(obj):
            fixed += [name for name in StudySettingsForm.base_fields if name not in {*fixed, *FOR_RESEARCHERS}]
        return fixed


@admin.register(models.RoleGrant)
class RoleGrantAdmin(admin.ModelAdmin):
    """Who may do what."""

    list_display = ["user", "role", "study", "group", "granted_at"]
    list_filter = ["role", "group"]


@admin.register(models.ResearchGroup)
class ResearchGroupAdmin(admin.ModelAdmin):
    """Groups of people who share studies."""

    list_display = ["slug", "name", "created_at"]


@admin.register(models.Annotator)
class AnnotatorAdmin(MadeElsewhereAdmin):
    """Annotators; they are excluded on their page, with a reason.

    Emptying “blocked at” lets one go on. Withdrawing is theirs alone, and final.
    """

    list_display = ["code", "study", "kind", "excluded", "withdrawn_at", "warned_at", "blocked_at"]
    list_filter = ["study", "kind", "excluded"]
    search_fields = ["code"]
    readonly_fields = [
        "study",
        "code",
        "kind",
        "user",
        "joined_at",
        "withdrawn_at",
        "warned_at",
        "block_reason",
        "excluded",
        "exclusion_reason",
    ]


@admin.register(models.Batch)
class BatchAdmin(MadeElsewhereAdmin):
    """Batches."""

    list_display = ["name", "study", "dataset", "system_a", "system_b", "purpose", "status", "origin"]
    list_filter = ["study", "status", "purpose"]
    readonly_fields = [
        *("study", "dataset", "system_a", "system_b", "pairs_per_hit", "raters_per_hit"),
        *("selection", "seed", "origin", "purpose", "gold_rate", "repeat_rate", "created_at"),
        # Set by the batch's page and by commands, which check them and keep a log.
        *("name", "status", "lease_minutes", "most_hits_per_rater", "launched_at", "closed_at"),
    ]


@admin.register(models.Assignment)
class AssignmentAdmin(MadeElsewhereAdmin):
    """Assignments; they are rejected on their rater's page, with a reason."""

    list_display = ["key", "annotator", "purpose", "state", "claimed_at", "submitted_at", "excluded"]
    list_filter = ["state", "purpose", "excluded", "hit__batch__study"]
    list_select_related = ["annotator"]
    readonly_fields = [
        *("hit", "annotator", "purpose", "attempt", "repeat_of", "arm", "state", "seed", "claimed_at", "expires_at"),
        *("locked_at", "submitted_at", "late", "pay_due", "returned_at", "return_reason", "return_comment"),
        *("work_seconds", "excluded", "exclusion_reason"),
    ]


@admin.register(models.System)
class SystemAdmin(MadeElsewhereAdmin):
    """Systems: only the family is free to change."""

    list_display = ["name", "study", "family"]
    list_filter = ["study"]
    readonly_fields = ["study", "name", "position"]


for _model in (
    *(models.Alignment, models.ComparisonTable, models.Display, models.Generation, models.Hit, models.HitPair),
    *(models.Instance, models.Pair, models.Rating, models.Slot),
):
    admin.site.register(_model, ReadOnlyAdmin)


@admin.register(models.ArmDraw)
class ArmDrawAdmin(ReadOnlyAdmin):
    """Which arm a rater or an instance was drawn into."""

    list_display = ["study", "number", "annotator", "instance", "arm"]
    list_filter = ["study"]
    list_select_related = ["study", "annotator", "instance"]


@admin.register(models.VoteChange)
class VoteChangeAdmin(ReadOnlyAdmin):
    """Choices as they came in."""

    list_display = ["pk", "display_id", "stage", "verdict", "received_at", "late"]
    list_filter = ["stage", "late"]


@admin.register(models.Flag)
class FlagAdmin(ReadOnlyAdmin):
    """What raters reported."""

    list_display = ["pk", "display_id", "kind", "row", "flagged_at", "taken_back_at"]
    list_filter = ["kind"]


@admin.register(models.QualificationResult)
class QualificationResultAdmin(ReadOnlyAdmin):
    """How attempts at the qualification ended."""

    list_display = ["annotator", "attempt", "right", "pairs", "passed", "finished_at"]
    list_select_related = ["annotator"]


@admin.register(models.Consent)
class ConsentAdmin(ReadOnlyAdmin):
    """Answers to consent texts."""

    list_display = ["annotator", "version", "accepted", "answered_at"]


@admin.register(models.ImportRecord)
class ImportRecordAdmin(ReadOnlyAdmin):
    """Files that were read."""

    list_display = ["file_name", "study", "kind", "imported_at"]


@admin.register(models.Matchup)
class MatchupAdmin(ReadOnlyAdmin):
    """Matchups."""

    list_display = ["pk", "instance", "system_a", "system_b"]


@admin.register(models.SeparabilityRun)
class SeparabilityRunAdmin(ReadOnlyAdmin):
    """Computed separability."""

    list_display = ["pk", "study", "dataset", "system_a", "system_b", "similarity", "computed_at"]
