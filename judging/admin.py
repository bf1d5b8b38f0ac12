"""Django admin for endpoints, judges and what they did. Keys are not here: they live in the environment."""

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from judging.errors import EndpointRefused, JudgingError
from judging.hosts import UnresolvedHost
from judging.models import Completion, Endpoint, Judge, JudgeRun, Judgment
from judging.services.endpoints import check_host, check_key_env
from judging.services.judges import check_fit


class EndpointForm(forms.ModelForm):
    """An endpoint, checked as the command checks it."""

    class Meta:
        model = Endpoint
        fields = ["name", "base_url", "model", "key_env", "timeout_seconds"]

    def clean_base_url(self) -> str:
        """Refuse hosts that the settings don't allow."""
        base_url = str(self.cleaned_data["base_url"]).rstrip("/")
        try:
            check_host(base_url)
        except UnresolvedHost:
            pass  # every run checks again
        except EndpointRefused as error:
            raise ValidationError(str(error)) from error
        return base_url

    def clean_key_env(self) -> str:
        """Refuse what looks like a key."""
        try:
            check_key_env(self.cleaned_data["key_env"])
        except JudgingError as error:
            raise ValidationError(str(error)) from error
        return str(self.cleaned_data["key_env"])


class JudgeForm(forms.ModelForm):
    """A judge whose settings fit together."""

    class Meta:
        model = Judge
        fields = ["name", "method", "endpoint", "order", "family", "params", "seed"]

    def clean(self) -> dict[str, object]:
        """Refuse a method without its endpoint, and unknown methods."""
        data = super().clean() or self.cleaned_data
        try:
            check_fit(method=data.get("method", ""), endpoint=data.get("endpoint"), params=data.get("params") or {})
        except JudgingError as error:
            raise ValidationError(str(error)) from error
        return data


@admin.register(Endpoint)
class EndpointAdmin(admin.ModelAdmin):
    """Endpoints are set up here or with `add_endpoint`."""

    form = EndpointForm
    list_display = ["name", "model", "base_url", "key_env"]
    search_fields = ["name", "model"]


@admin.register(Judge)
class JudgeAdmin(admin.ModelAdmin):
    """Judges; one that has judged is not to be changed, or its verdicts would lose their meaning."""

    form = JudgeForm
    list_display = ["name", "method", "endpoint", "order", "family", "seed"]
    list_filter = ["method", "order"]
    search_fields = ["name"]

    def get_readonly_fields(self, request: HttpRequest, obj: Judge | None = None) -> list[str]:
        """Lock the settings that decided stored verdicts."""
        if obj is None or not obj.runs.exists():
            return []
        return ["name", "method", "endpoint", "order", "params", "seed"]


class ReadOnlyAdmin(admin.ModelAdmin):
    """Records of what happened: to be looked at."""

    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nobody makes these by hand."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        """Nobody edits these."""
        return False


@admin.register(JudgeRun)
class JudgeRunAdmin(ReadOnlyAdmin):
    """Runs."""

    list_display = ["judge", "study", "batch", "status", "created_at", "finished_at"]
    list_filter = ["status", "judge", "study"]
    list_select_related = ["judge", "study", "batch"]


@admin.register(Completion)
class CompletionAdmin(ReadOnlyAdmin):
    """Raw answers."""

    list_display = ["pk", "sample", "finish_reason", "prompt_tokens", "completion_tokens", "created_at"]
    search_fields = ["cache_key"]


@admin.register(Judgment)
class JudgmentAdmin(ReadOnlyAdmin):
    """Single judgments."""

    list_display = ["pk", "run", "pair", "order", "status", "verdict", "calls", "judged_at"]
    list_filter = ["status", "order"]
    list_select_related = ["run__judge", "run__study", "run__batch", "pair"]
    raw_id_fields = ["completions"]
