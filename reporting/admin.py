"""Django's admin: accounts, and the main tables to look at."""

from contextlib import suppress
from itertools import islice
from typing import Any

from django.apps import apps
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.db.models import BinaryField, JSONField, Model, QuerySet, TextField
from django.http import HttpRequest
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.models import TOTPDevice

from annotation.core.reasons import in_words
from annotation.members.second_factor import remove_second_factor

MODELS = {
    "annotation": (
        "Alignment Annotator ArmDraw Assignment AuditEntry Batch ComparisonTable Consent Display Flag Generation Hit "
        "HitPair ImportRecord Instance Matchup Pair QualificationResult Rating ResearchGroup RoleGrant SeparabilityRun "
        "Slot Study System VoteChange"
    ),
    "judging": (
        "AspectSet AuditAnswer Completion Endpoint GenerationRun Judge JudgeAudit JudgeRun Judgment PromptFile "
        "ProviderBatch RationaleMark TableCheck TableMaking"
    ),
}
MOST_COLUMNS = 8
LONG = (BinaryField, JSONField, TextField)

for _secret in (StaticDevice, TOTPDevice):  # their pages show or take secrets
    admin.site.unregister(_secret)
admin.site.unregister(Group)  # roles are held in a `ResearchGroup` or a study
admin.site.unregister(User)
admin.site.site_header = admin.site.site_title = "Tandem"


@admin.register(User)
class AccountAdmin(UserAdmin):  # type: ignore[type-arg]  # generic in its stubs only
    """Accounts, with what a site admin does for a person who has lost their phone."""

    actions = ["reset_second_factor"]
    list_filter = ["is_staff", "is_superuser", "is_active"]
    filter_horizontal = ["user_permissions"]

    def get_fieldsets(self, request: HttpRequest, obj: Model | None = None) -> Any:
        """Leave out Django's groups, which hold no role here."""
        return [
            (name, {**options, "fields": [field for field in options["fields"] if field != "groups"]})
            for name, options in super().get_fieldsets(request, obj)
        ]

    @admin.action(description="Reset the second factor", permissions=["change"])
    def reset_second_factor(self, request: HttpRequest, accounts: QuerySet[User]) -> None:
        """Delete the second factors of chosen accounts."""
        reset = sum(remove_second_factor(user=user) for user in accounts)
        were = "factor was" if reset == 1 else "factors were"
        messages.success(request, f"{reset} second {were} reset.")


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # generic in its stubs only
    """Rows to look at. Pages, commands and the API change them, with checks and a log."""

    show_full_result_count = False

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """Return a row with the English text of its reasons, to look at."""
        row = super().get_object(request, object_id, from_field)
        for field in row._meta.concrete_fields if row else ():
            if isinstance(field, JSONField):
                with suppress(ValidationError):  # what a file has, and looks like a reason
                    setattr(row, field.attname, in_words(getattr(row, field.attname)))
        return row

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Refuse to add a row."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Refuse to change a row."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Refuse to delete a row."""
        return False


for _app, _names in MODELS.items():
    for _name in _names.split():
        _model = apps.get_model(_app, _name)
        _short = (field.attname for field in _model._meta.concrete_fields if not isinstance(field, LONG))
        admin.site.register(_model, ReadOnlyAdmin, list_display=[*islice(_short, MOST_COLUMNS)])
