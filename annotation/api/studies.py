"""Set-up of studies in the API, by the forms and services of the pages."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.answers import MESSAGE, WithMessage, answers, made, work
from annotation.api.bodies import ManagedStudies, body_of, read_form, schema_of, user_of
from annotation.core.actions import checked
from annotation.importing.forms import CopyStudyForm, NewStudyForm
from annotation.importing.new_studies import copy_study, create_study, settings_of
from annotation.members.permissions import groups_of_copy, groups_of_new_study
from annotation.models import Alignment, Event, SeparabilityJob, SeparabilityRun, Study
from annotation.planning.forms import PlanForm
from annotation.planning.plans import plan
from annotation.quality.qualification import too_few_hits
from annotation.questions.questions import LONGEST_DESCRIPTION, LONGEST_KEY, LONGEST_TEXT
from annotation.separability.forms import ComputeSeparability
from annotation.separability.jobs import start_separability
from annotation.studies.log import events_of, shown_changes
from annotation.studies.presets import TEMPLATES
from annotation.studies.services import archive_study, restore_study, save_settings
from annotation.studies.settings_form import SETTINGS, AmendmentForm, ReasonForm, checked_settings


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
    changes = serializers.SerializerMethodField()

    class Meta:
        model = Event
        fields = ["id", "happened_at", "kind", "batch", "annotator", "assignment", "reason", "changes"]

    def get_changes(self, event: Event) -> dict[str, Any]:
        """Return setting → [before, after], or counts."""
        changes: dict[str, Any] = shown_changes(event)
        return changes


ReasonSerializer = schema_of(ReasonForm, "Reason")
PARAMETERS = [
    OpenApiParameter(name, str, many=name == "batches", description=str(field.label or ""))
    for name, field in PlanForm.base_fields.items()
    if name != "configuration"
] + [
    OpenApiParameter("dataset", str, description="Of one configuration. Default: the first."),
    OpenApiParameter("systems", str, many=True, description="Its two systems."),
]


MOST_JOBS = 50  # that are listed


class SeparabilityJobSerializer(WithMessage, serializers.ModelSerializer[SeparabilityJob]):
    """A requested computation, and its progress in matchups with alignments."""

    study = serializers.CharField(source="study.slug", read_only=True)
    asked = serializers.JSONField(read_only=True)
    status = serializers.CharField(source="outcome", read_only=True, help_text="queued, running, done or failed.")
    asked_at = serializers.DateTimeField(source="created_at", read_only=True)
    finished_at = serializers.DateTimeField(source="ended_at", read_only=True, allow_null=True)

    class Meta:
        model = SeparabilityJob
        fields = ["id", "study", "asked", "status", "done", "total", *MESSAGE, "asked_at", "finished_at"]


class SeparabilityRunSerializer(serializers.ModelSerializer[SeparabilityRun]):
    """Separability of one configuration by one measure."""

    study = serializers.CharField(source="study.slug", read_only=True)
    system_a = serializers.CharField(source="system_a.name", read_only=True)
    system_b = serializers.CharField(source="system_b.name", read_only=True)

    class Meta:
        model = SeparabilityRun
        fields = [
            *("id", "study", "dataset", "system_a", "system_b", "similarity", "model", "model_fingerprint"),
            *("samples", "cross_pairs", "seed", "group", "low", "high", "short", "texts_sha256"),
            *("computed_at", "seconds", "software_version"),
        ]


class AlignmentSerializer(serializers.ModelSerializer[Alignment]):
    """Raw alignments of one matchup and its separability, null with a reason where undefined."""

    study = serializers.CharField(source="run.study.slug", read_only=True)
    instance_id = serializers.CharField(source="matchup.instance.instance_id", read_only=True)
    why_undefined = serializers.CharField(read_only=True)

    class Meta:
        model = Alignment
        fields = [
            *("id", "study", "run", "matchup", "instance_id", "self_a", "self_b", "cross", "separability"),
            *("why_undefined", "digest"),
        ]


class StudySetup(ManagedStudies):
    """Create, change, copy, archive and plan studies, compute separability, and list the log; for researchers too."""

    def _response(self, study: Study, code: int = status.HTTP_200_OK) -> Response:
        return made(ChangedStudySerializer(Study.objects.get(pk=study.pk)).data, "study-detail", study.slug, code)

    @answers(ChangedStudySerializer, 201, body=NewStudySerializer)
    def create(self, request: Request) -> Response:
        """Create a study from a template or blank. Its creator becomes its study admin."""
        groups = groups_of_new_study(user_of(request))
        data = body_of(request)
        sent = {name: data.pop(name) for name in NewStudyForm.base_fields if name in data}
        names = read_form(NewStudyForm, sent, groups=groups).cleaned_data
        begun = names["template"].study()
        settings = checked_settings(begun, {"title": names["slug"], **data})
        study, _ = create_study(
            slug=names["slug"],
            group=names["group"],
            settings={**settings_of(begun), **settings},
            template=names["template"],
            by=user_of(request),
        )
        return self._response(study, status.HTTP_201_CREATED)

    @answers(ChangedStudySerializer, body=StudySettingsSerializer)
    def partial_update(self, request: Request, slug: str) -> Response:
        """Change settings of a study. Once rating has begun, this is an amendment and needs `amendment_reason`."""
        study = self.managed()
        data = body_of(request)
        sent = {name: data.pop(name) for name in AmendmentForm.base_fields if name in data}
        reason = read_form(AmendmentForm, sent).cleaned_data["amendment_reason"]
        save_settings(study=study, by=user_of(request), reason=reason, **checked_settings(study, data))
        return self._response(study)

    @work(ChangedStudySerializer, 201, body=schema_of(CopyStudyForm, "Copy"), methods=["post"])
    def copy(self, request: Request, slug: str) -> Response:
        """Create a study with the settings of this one, and optionally its instances, but never its ratings."""
        study: Study = self.get_object()
        user = user_of(request)
        form = read_form(CopyStudyForm, body_of(request), study=study, groups=groups_of_copy(user, study))
        return self._response(copy_study(study=study, by=user, **form.cleaned_data), status.HTTP_201_CREATED)

    @work(ChangedStudySerializer, body=ReasonSerializer, refused=(413, 422), methods=["post"])
    def archive(self, request: Request, slug: str) -> Response:
        """Archive a study: its HITs can no longer be claimed. Nothing is deleted."""
        study = self.managed()
        archive_study(study=study, by=user_of(request), **read_form(ReasonForm, body_of(request)).cleaned_data)
        return self._response(study)

    @work(ChangedStudySerializer, body=ReasonSerializer, refused=(413, 422), methods=["post"])
    def restore(self, request: Request, slug: str) -> Response:
        """Restore an archived study."""
        study = self.managed()
        restore_study(study=study, by=user_of(request), **read_form(ReasonForm, body_of(request)).cleaned_data)
        return self._response(study)

    @work(EventSerializer(many=True), paged=True)
    def log(self, request: Request, slug: str) -> Response:
        """List a study's log, the latest entry first, without raters who have withdrawn."""
        page = self.paginate_queryset(events_of(self.get_object()))
        return self.get_paginated_response(EventSerializer(page, many=True).data)

    @work(refused=(409, 422), parameters=PARAMETERS)
    def plan(self, request: Request, slug: str) -> Response:
        """Return designs with what each takes, as `manage.py plan --format json` prints them."""
        study, query = self.get_object(), request.query_params.copy()
        axes = query.pop("dataset", []), query.pop("systems", [])
        form = PlanForm(query, study=study)
        if any(axes):
            query["configuration"] = _key(form, *axes)
        checked(form)
        return Response(plan(study, form.spec))

    @work(SeparabilityJobSerializer(many=True))
    def separability(self, request: Request, slug: str) -> Response:
        """List the latest computations with their progress."""
        study: Study = self.get_object()
        return Response(SeparabilityJobSerializer(study.separability_jobs.all()[:MOST_JOBS], many=True).data)

    @answers(SeparabilityJobSerializer, 202, body=schema_of(ComputeSeparability, "SeparabilityRequest"))
    @separability.mapping.post
    def start_separability(self, request: Request, slug: str) -> Response:
        """Queue a computation of separability. The same request while it is pending changes nothing."""
        study: Study = self.get_object()
        form = read_form(ComputeSeparability, body_of(request))
        job, _ = start_separability(study, form.request(), by=user_of(request))
        return Response(SeparabilityJobSerializer(job).data, status=status.HTTP_202_ACCEPTED)


def _key(form: PlanForm, datasets: list[str], systems: list[str]) -> str:
    """Return the key of the configuration that fits, one that is none otherwise."""
    for key, configuration in form.known.items():
        names = {configuration.system_a.name, configuration.system_b.name}
        if set(datasets) <= {configuration.dataset} and set(systems) <= names:
            return key
    return " ".join([*datasets, *systems])
