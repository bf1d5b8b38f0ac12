"""Django admin for endpoints, judges and what they did. Keys are not here: they live in the environment."""

from django.contrib import admin
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from annotation.core.generic_bases import AnyModelAdmin, AnyModelForm
from judging.core.errors import EndpointRefused, JudgingError
from judging.endpoints.credentials import check_key_env
from judging.endpoints.hosts import UnresolvedHost
from judging.endpoints.services import CHANGEABLE, check_host, clean_settings
from judging.models import (
    AspectSet,
    AuditAnswer,
    Completion,
    Embedding,
    Endpoint,
    GenerationRun,
    Judge,
    JudgeAudit,
    JudgeRun,
    Judgment,
    PromptFile,
    ProviderBatch,
    RationaleMark,
    TableCheck,
    TableMaking,
)
from judging.runs.judges import check_fit

# What a judge's verdicts depend on: locked once there is a run.
DECIDING = [
    *("method", "endpoint", "order", "combine", "repeats", "negated", "task", "prompt_file", "params", "seed"),
    *("system_prompt", "table_endpoint", "table_variant", "texts_first"),
]


class EndpointAdminForm(AnyModelForm):
    """An endpoint, checked as the command checks it."""

    class Meta:
        model = Endpoint
        fields = ["name", "base_url", "model", "key_env", *CHANGEABLE]

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

    def clean(self) -> dict[str, object]:
        """Refuse limits, prices and headers that make no sense, secrets among the headers."""
        data = super().clean() or self.cleaned_data
        try:
            given = {name: data[name] for name in CHANGEABLE if name in data}
            data.update(clean_settings({**given, "headers": given.get("headers") or {}}))
        except JudgingError as error:
            raise ValidationError(str(error)) from error
        return data


class JudgeAdminForm(AnyModelForm):
    """A judge whose settings fit together."""

    class Meta:
        model = Judge
        fields = ["name", "family", *DECIDING]

    def clean(self) -> dict[str, object]:
        """Refuse settings that don't fit together, and unknown methods."""
        data = super().clean() or self.cleaned_data
        # What is locked isn't in the form: it stays as it is stored.
        settings = {name: data.get(name, getattr(self.instance, name)) for name in DECIDING if name != "seed"}
        try:
            check_fit(**{**settings, "params": settings["params"] or {}})
        except JudgingError as error:
            raise ValidationError(str(error)) from error
        return data


@admin.register(Endpoint)
class EndpointAdmin(AnyModelAdmin):
    """Endpoints are set up here or with `add_endpoint`."""

    form = EndpointAdminForm
    fields = ["name", "base_url", "model", "key_env", *CHANGEABLE, "supports", "tested_at"]
    list_display = ["name", "model", "base_url", "key_env", "price_prompt", "price_completion", "currency", "tested_at"]
    search_fields = ["name", "model"]

    def get_readonly_fields(self, request: HttpRequest, obj: Endpoint | None = None) -> list[str]:
        """Lock who answers once there are judges: their verdicts are that one's."""
        found = ["supports", "tested_at"]
        is_asked = obj is not None and (obj.judges.exists() or obj.table_judges.exists())
        return ["name", "base_url", "model", "key_env", *found] if is_asked else found


@admin.register(Judge)
class JudgeAdmin(AnyModelAdmin):
    """Judges; one that has judged is not to be changed, or its verdicts would lose their meaning."""

    form = JudgeAdminForm
    list_display = ["name", "method", "endpoint", "order", "combine", "repeats", "negated", "task", "family", "seed"]
    list_filter = ["method", "order"]
    list_select_related = ["endpoint"]
    search_fields = ["name"]

    def get_readonly_fields(self, request: HttpRequest, obj: Judge | None = None) -> list[str]:
        """Lock the settings that decided stored verdicts."""
        if obj is None or not (obj.runs.exists() or JudgeAudit.objects.filter(judge=obj).exists()):
            return []
        return ["name", *DECIDING]


class RecordAdmin(AnyModelAdmin):
    """Records of what happened, and versions, which are never changed: to be looked at."""

    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        """These rows are not made by hand."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        """These rows are not edited."""
        return False


register = admin.site.register
register(
    JudgeRun,
    RecordAdmin,
    list_display=["judge", "study", "batch", "questions", "status", "way", "max_cost", "created_at", "finished_at"],
    list_filter=["status", "way", "judge", "study"],
    list_select_related=["judge", "study", "batch"],
)
register(
    Completion,
    RecordAdmin,
    list_display=["pk", "kind", "sample", "finish_reason", "prompt_tokens", "completion_tokens", "cost", "created_at"],
    search_fields=["cache_key"],
)
register(
    Judgment,
    RecordAdmin,
    list_display=[
        *(
            "pk",
            "run",
            "pair",
            "question",
            "order",
            "repeat",
            "negated",
            "status",
            "verdict",
            "calls",
            "cost",
            "judged_at",
        ),
    ],
    list_filter=["status", "question", "order", "negated"],
    list_select_related=["run__judge", "run__study", "run__batch", "pair"],
    raw_id_fields=["completions"],
)
register(
    JudgeAudit,
    RecordAdmin,
    list_display=["judge", "study", "kind", "wave", "model", "cost", "created_at", "ended_at"],
    list_filter=["kind", "judge", "study"],
    list_select_related=["judge", "study"],
)
register(
    AuditAnswer,
    RecordAdmin,
    list_display=["pk", "audit", "pair", "change", "order", "side", "status", "verdict"],
    list_filter=["change", "status"],
    list_select_related=["audit", "pair"],
)
register(
    ProviderBatch,
    RecordAdmin,
    list_display=["pk", "run", "provider_id", "status", "requests", "created_at", "ended_at"],
    list_filter=["status"],
    list_select_related=["run__judge", "run__study", "run__batch"],
    exclude=["keys"],
)
register(
    PromptFile,
    RecordAdmin,
    list_display=["name", "version", "group", "parser", "created_at"],
    list_select_related=["group"],
    search_fields=["name"],
)
register(
    RationaleMark,
    RecordAdmin,
    list_display=["judgment", "marker", "sound", "marked_at"],
    list_select_related=["judgment", "marker"],
)
register(TableMaking, RecordAdmin, list_display=["judgment", "table"], list_select_related=["judgment", "table"])
register(
    TableCheck,
    RecordAdmin,
    list_display=["table", "endpoint", "model", "made_at"],
    list_filter=["model"],
    list_select_related=["table", "endpoint"],
)
register(
    Embedding,
    RecordAdmin,
    list_display=["cache_key", "model", "created_at"],
    list_filter=["model"],
    exclude=["vector"],
)
register(
    AspectSet,
    RecordAdmin,
    list_display=["group", "task", "version", "created_at"],
    list_filter=["task"],
    list_select_related=["group"],
)
register(
    GenerationRun,
    RecordAdmin,
    list_display=["name", "study", "model", "temperature", "samples", "seed", "template_version", "created_at"],
    list_filter=["model"],
    list_select_related=["study"],
    search_fields=["name"],
)
