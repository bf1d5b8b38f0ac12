"""Separability in the API: start computations, and list them."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from annotation.api.bodies import body_of, read_form, schema_of, user_of
from annotation.api.reasons import MESSAGE, WithMessage
from annotation.api.study_serializers import refusals
from annotation.models import Alignment, SeparabilityJob, SeparabilityRun, Study
from annotation.separability.forms import ComputeSeparability
from annotation.separability.jobs import start_separability

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


class SeparabilitySetup(GenericViewSet[Any]):
    """Separability; for readers of the study."""

    @extend_schema(responses={200: SeparabilityJobSerializer(many=True), **refusals()}, filters=False)
    @action(detail=True, methods=["get"], pagination_class=None, filter_backends=[])
    def separability(self, request: Request, slug: str) -> Response:
        """List the latest computations with their progress."""
        study: Study = self.get_object()
        return Response(SeparabilityJobSerializer(study.separability_jobs.all()[:MOST_JOBS], many=True).data)

    @extend_schema(
        request=schema_of(ComputeSeparability, "SeparabilityRequest"),
        responses={202: SeparabilityJobSerializer, **refusals(409, 413, 422)},
    )
    @separability.mapping.post
    def start_separability(self, request: Request, slug: str) -> Response:
        """Queue a computation of separability. The same request while it is pending changes nothing."""
        study: Study = self.get_object()
        form = read_form(ComputeSeparability, body_of(request))
        job, _ = start_separability(study, form.request(), by=user_of(request))
        return Response(SeparabilityJobSerializer(job).data, status=status.HTTP_202_ACCEPTED)
