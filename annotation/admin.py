"""Model admins of the app."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.auth.models import Group, User
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.models import TOTPDevice

from annotation import models
from annotation.core.generic_bases import AnyModelAdmin, AnyUserAdmin
from annotation.members.permissions import account_of
from annotation.members.second_factor import remove_second_factor
from annotation.privacy.erasing import erase_rater, erasure_preview
from annotation.studies.amendments import FIXED_BY_VOTES, FOR_RESEARCHERS, rating_has_begun
from annotation.studies.settings_form import StudySettingsForm

for _of_second_factors in (StaticDevice, TOTPDevice):  # their pages show or take secrets
    admin.site.unregister(_of_second_factors)
admin.site.unregister(Group)  # roles are held in a `ResearchGroup` or a study
admin.site.unregister(User)
admin.site.site_header = admin.site.site_title = "Tandem"


@admin.register(User)
class AccountAdmin(AnyUserAdmin):
    """Accounts, with what a site admin does for a person who has lost their phone."""

    actions = ["reset_second_factor"]
    list_filter = ["is_staff", "is_superuser", "is_active"]
    filter_horizontal = ["user_permissions"]

    def get_fieldsets(self, request: HttpRequest, obj: Model | None = None) -> Any:
        """Leave out Django's groups, which hold no role here."""
        return [
            (name, {**options, "fields": [one for one in options["fields"] if one != "groups"]})
            for name, options in super().get_fieldsets(request, obj)
        ]

    @admin.action(description=gettext_lazy("Reset the second factor"), permissions=["change"])
    def reset_second_factor(self, request: HttpRequest, accounts: QuerySet[User]) -> None:
        """Delete the second factors of chosen accounts."""
        reset = sum(remove_second_factor(user=user) for user in accounts)
        messages.success(
            request, ngettext("%d second factor was reset.", "%d second factors were reset.", reset) % reset
        )


class MadeElsewhereAdmin(AnyModelAdmin):
    """Objects made by imports, raters and services: they can be corrected, not added or deleted."""

    def has_add_permission(self, request: object, obj: object = None) -> bool:
        """Objects are not added by hand."""
        return False

    def has_delete_permission(self, request: object, obj: object = None) -> bool:
        """Objects are not deleted by hand."""
        return False


class ReadOnlyAdmin(MadeElsewhereAdmin):
    """Objects that are shown only."""

    def has_change_permission(self, request: object, obj: object = None) -> bool:
        """Objects are not changed by hand."""
        return False


@admin.register(models.Study)
class StudyAdmin(AnyModelAdmin):
    """Studies."""

    list_display = ["slug", "title", "task_kind", "created_at"]
    search_fields = ["slug", "title"]
    # Changed on the study's settings page only, which versions consent texts, protects settings that votes depend on,
    # asks for the reasons of amendments, and logs.
    readonly_fields = ["consent_text", "consent_version", "seed", "archived_at", *sorted(FIXED_BY_VOTES)]

    def get_readonly_fields(self, request: HttpRequest, obj: models.Study | None = None) -> list[str]:
        """Add the settings whose change is an amendment, once rating has begun."""
        fixed = [str(name) for name in self.readonly_fields]
        if obj is not None:
            fixed += ["slug", "group"]  # a service moves studies, since that ends roles
        if obj is not None and rating_has_begun(obj):
            fixed += [name for name in StudySettingsForm.base_fields if name not in {*fixed, *FOR_RESEARCHERS}]
        return fixed


@admin.register(models.RoleGrant)
class RoleGrantAdmin(AnyModelAdmin):
    """Roles of users."""

    list_display = ["user", "role", "study", "group", "granted_at"]
    list_filter = ["role", "group"]


@admin.register(models.ResearchGroup)
class ResearchGroupAdmin(AnyModelAdmin):
    """Groups of people who share studies."""

    list_display = ["slug", "name", "created_at"]


@admin.register(models.Annotator)
class AnnotatorAdmin(MadeElsewhereAdmin):
    """Annotators; they are excluded on their page, with a reason.

    Clearing “blocked at” unblocks one. Only they can withdraw, and that is final.
    """

    list_display = ["code", "study", "kind", "excluded", "withdrawn_at", "erased_at", "warned_at", "blocked_at"]
    actions = ["erase"]
    list_filter = ["study", "kind", "excluded"]
    search_fields = ["code"]
    readonly_fields = [
        "study",
        "code",
        "kind",
        "user",
        "joined_at",
        "withdrawn_at",
        "erased_at",
        "warned_at",
        "block_reason",
        "excluded",
        "exclusion_reason",
    ]

    @admin.action(description=gettext_lazy("Delete personal data and ratings"), permissions=["change"])
    def erase(self, request: HttpRequest, queryset: QuerySet[models.Annotator]) -> HttpResponse | None:
        """Ask for confirmation, then erase each rater in their study."""
        if request.POST.get("confirm") != "yes":
            context = {
                **self.admin_site.each_context(request),
                "title": _("Delete personal data and ratings"),
                "prospects": [erasure_preview(one) for one in queryset.select_related("study")],
                "checkbox": ACTION_CHECKBOX_NAME,
            }
            return TemplateResponse(request, "admin/annotation/annotator/erase.html", context)
        now, by = timezone.now(), account_of(request)
        done = [erase_rater(annotator=one, by=by, at=now) for one in queryset]
        count = sum(one.changed for one in done)
        message = ngettext("Data of %d rater deleted.", "Data of %d raters deleted.", count) % count
        messages.success(request, message)
        return None


@admin.register(models.Batch)
class BatchAdmin(MadeElsewhereAdmin):
    """Batches."""

    list_display = ["name", "study", "dataset", "system_a", "system_b", "purpose", "status", "origin"]
    list_filter = ["study", "status", "purpose"]
    readonly_fields = [
        *("study", "dataset", "system_a", "system_b", "pairs_per_hit", "raters_per_hit"),
        *("selection", "seed", "origin", "purpose", "gold_rate", "repeat_rate", "created_at"),
        # Changed by the batch's page and by commands, which validate and log.
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
    """Systems; only the family can be changed."""

    list_display = ["name", "study", "family"]
    list_filter = ["study"]
    readonly_fields = ["study", "name", "position"]


_READ_ONLY: dict[type[Model], dict[str, list[str]]] = {
    models.Alignment: {},
    models.ArmDraw: {
        "list_display": ["study", "number", "annotator", "instance", "arm"],
        "list_filter": ["study"],
        "list_select_related": ["study", "annotator", "instance"],
    },
    models.AuditEntry: {"list_display": ["happened_at", "account", "method", "action", "status", "request_id"]},
    models.ComparisonTable: {},
    models.Consent: {"list_display": ["annotator", "version", "accepted", "answered_at"]},
    models.Display: {},
    models.Flag: {
        "list_display": ["pk", "display_id", "kind", "row", "flagged_at", "taken_back_at"],
        "list_filter": ["kind"],
    },
    models.Generation: {},
    models.Hit: {},
    models.HitPair: {},
    models.ImportRecord: {"list_display": ["file_name", "study", "kind", "imported_at"]},
    models.Instance: {},
    models.Matchup: {"list_display": ["pk", "instance", "system_a", "system_b"]},
    models.Pair: {},
    models.QualificationResult: {
        "list_display": ["annotator", "attempt", "right", "pairs", "passed", "finished_at"],
        "list_select_related": ["annotator"],
    },
    models.Rating: {},
    models.SeparabilityRun: {
        "list_display": ["pk", "study", "dataset", "system_a", "system_b", "similarity", "computed_at"],
    },
    models.Slot: {},
    models.VoteChange: {
        "list_display": ["pk", "display_id", "stage", "verdict", "received_at", "late"],
        "list_filter": ["stage", "late"],
    },
}
for _model, _options in _READ_ONLY.items():
    admin.site.register(_model, ReadOnlyAdmin, **_options)
