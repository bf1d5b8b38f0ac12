"""Serializers of studies, for output and for the schema. The pages' forms validate requests."""

from typing import Any

from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers

from annotation.models import Event, Study
from annotation.quality.qualification import too_few_hits
from annotation.questions.questions import LONGEST_DESCRIPTION, LONGEST_KEY, LONGEST_TEXT
from annotation.studies.presets import TEMPLATES
from annotation.studies.settings_form import SETTINGS


class QuestionSerializer(serializers.Serializer[Any]):
    """A further question on each pair."""

    key = serializers.CharField(max_length=LONGEST_KEY, help_text="Small letters, digits, _ and -.")
    text = serializers.CharField(max_length=LONGEST_TEXT)
    description = serializers.CharField(max_length=LONGEST_DESCRIPTION, required=False)
    ties_allowed = serializers.BooleanField(required=False, help_text="Default: true.")
    strength = serializers.BooleanField(required=False)
    tie_kinds = serializers.BooleanField(required=False)


class StudySerializer(serializers.ModelSerializer[Study]):
    """A study with its settings."""

    group = serializers.CharField(source="group.slug", read_only=True)
    arms: Any = serializers.ListField(child=serializers.CharField(), read_only=True)
    criteria: Any = QuestionSerializer(many=True, read_only=True)

    class Meta:
        model = Study
        fields = ["slug", "group", *SETTINGS, "consent_version", "seed", "created_at", "archived_at"]


class ChangedStudySerializer(StudySerializer):
    """A study after a change, with notices for its admin."""

    notices = serializers.SerializerMethodField()

    class Meta(StudySerializer.Meta):
        fields = [*StudySerializer.Meta.fields, "notices"]

    def get_notices(self, study: Study) -> list[str]:
        """Return the notices that the pages show."""
        return [notice for notice in (too_few_hits(study),) if notice]


class RefusalSerializer(serializers.Serializer[Any]):
    """The reason of a refusal, with `fields` or `lines` of a file if it is about these."""

    detail = serializers.CharField()
    fields = serializers.DictField(  # type: ignore[assignment]
        child=serializers.ListField(child=serializers.CharField()), required=False
    )
    lines = serializers.ListField(child=serializers.DictField(), required=False)
    bad_lines = serializers.IntegerField(required=False)


class StudySettingsSerializer(serializers.ModelSerializer[Study]):
    """Settings of a study to be changed, with the reason once rating has begun."""

    arms: Any = serializers.ListField(child=serializers.CharField(), required=False)
    criteria: Any = QuestionSerializer(many=True, required=False)
    amendment_reason = serializers.CharField(required=False, help_text="Required once rating has begun.")

    class Meta:
        model = Study
        fields = [*SETTINGS, "amendment_reason"]
        extra_kwargs = {name: {"required": False} for name in SETTINGS if name not in ("arms", "criteria")}


class NewStudySerializer(StudySettingsSerializer):
    """A study to be created: its short name, and settings that override its template's."""

    amendment_reason = None  # type: ignore[assignment]
    template = serializers.ChoiceField(choices=list(TEMPLATES), required=False)
    group = serializers.CharField(required=False, help_text="Short name of a group in which you may create studies.")

    class Meta(StudySettingsSerializer.Meta):
        fields = ["slug", "template", "group", *SETTINGS]


class EventSerializer(serializers.ModelSerializer[Event]):
    """One entry of a study's log, with raters by their codes."""

    batch = serializers.CharField(source="batch.name", default=None, allow_null=True, read_only=True)
    annotator = serializers.CharField(source="annotator.code", default=None, allow_null=True, read_only=True)
    assignment = serializers.CharField(source="assignment.key", default=None, allow_null=True, read_only=True)
    changes = serializers.JSONField(read_only=True)

    class Meta:
        model = Event
        fields = ["id", "happened_at", "kind", "batch", "annotator", "assignment", "reason", "changes"]


def refusals(*codes: int) -> dict[int, Any]:
    """Return the schema's error responses: these status codes, and those of every endpoint."""
    descriptions = {
        400: (
            "Not readable: no JSON, no object, text that can't be stored; an unknown parameter, or one with a wrong "
            "value."
        ),
        401: "No token, or not a valid one.",
        403: "The user, or the token, may not do this; or a session's request lacks its CSRF token.",
        404: "There is no such study, row or name for this user.",
        409: (
            "Votes or draws fix the setting, a name is taken, settings contradict each other, or the state does not "
            "allow it."
        ),
        413: "Too large.",
        415: "A media type that is not supported.",
        422: "Invalid values or lines of a file; nothing was stored.",
        503: "The database is busy, or findings are being computed: repeat the request after `Retry-After` seconds.",
    }
    return {
        code: OpenApiResponse(RefusalSerializer, descriptions[code]) for code in (400, 401, 403, 404, 415, 503, *codes)
    }
