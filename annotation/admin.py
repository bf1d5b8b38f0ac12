"""Every object in Django's admin."""

from django.contrib import admin

from annotation import models


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
    readonly_fields = ["consent_text", "consent_version", "seed"]


@admin.register(models.RoleGrant)
class RoleGrantAdmin(admin.ModelAdmin):
    """Who may do what."""

    list_display = ["user", "role", "study", "granted_at"]
    list_filter = ["role"]


@admin.register(models.Annotator)
class AnnotatorAdmin(MadeElsewhereAdmin):
    """Annotators; excluding one leaves their ratings out of findings and deletes nothing."""

    list_display = ["code", "study", "kind", "excluded"]
    list_filter = ["study", "kind", "excluded"]
    search_fields = ["code"]
    readonly_fields = ["study", "code", "kind", "user", "joined_at"]


@admin.register(models.Batch)
class BatchAdmin(MadeElsewhereAdmin):
    """Batches."""

    list_display = ["name", "study", "dataset", "system_a", "system_b", "status", "origin"]
    list_filter = ["study", "status"]
    readonly_fields = [
        *("study", "dataset", "system_a", "system_b", "pairs_per_hit", "raters_per_hit"),
        *("selection", "seed", "origin", "created_at"),
    ]


@admin.register(models.Assignment)
class AssignmentAdmin(MadeElsewhereAdmin):
    """Assignments; excluding one leaves its ratings out of findings and deletes nothing."""

    list_display = ["key", "annotator", "state", "claimed_at", "submitted_at", "excluded"]
    list_filter = ["state", "excluded", "hit__batch__study"]
    list_select_related = ["annotator"]
    readonly_fields = [
        *("hit", "annotator", "state", "seed", "claimed_at", "expires_at", "submitted_at", "work_seconds"),
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
