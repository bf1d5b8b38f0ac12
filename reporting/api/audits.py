"""Audits of judges in the API: estimating and starting stress tests, and their results."""

from typing import Any

from django.urls import reverse
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.bodies import schema_of
from annotation.api.reasons import MESSAGE, WithMessage
from annotation.api.study_serializers import refusals
from judging.models import JudgeAudit
from reporting.api.rows import StudyRows, by
from reporting.api.run_setup import EstimateSerializer, read_asking
from reporting.audits.forms import JudgeAuditForm
from reporting.audits.stress import stress_findings

NewAuditSerializer = schema_of(
    JudgeAuditForm,
    "NewAudit",
    "A stress test to be started, or resumed.",
    study=serializers.CharField(max_length=80),
)


class JudgeAuditSerializer(WithMessage, serializers.ModelSerializer[JudgeAudit]):
    """A stress test."""

    study = serializers.CharField(source="study.slug", read_only=True)
    judge = serializers.CharField(source="judge.name", read_only=True)
    question = serializers.SerializerMethodField(help_text="Its key.")
    changes = serializers.JSONField(read_only=True)

    class Meta:
        model = JudgeAudit
        fields = [
            *("id", "study", "judge", "question", "dataset", "pairs", "seed", "changes", "model"),
            *("calls", "cached", "cost", "currency", *MESSAGE, "created_at", "ended_at"),
        ]

    def get_question(self, audit: JudgeAudit) -> str:
        """Return the question's key."""
        return audit.study.questions[audit.question].key


class FoundAuditSerializer(JudgeAuditSerializer):
    """A stress test with its results, as `audit_judge --format json`."""

    found = serializers.SerializerMethodField()

    class Meta(JudgeAuditSerializer.Meta):
        fields = [*JudgeAuditSerializer.Meta.fields, "found"]

    def get_found(self, audit: JudgeAudit) -> dict[str, Any]:
        """Return what was found so far."""
        return stress_findings(audit)


@extend_schema_view(retrieve=extend_schema(responses={200: FoundAuditSerializer, **refusals()}))
class AuditViewSet(StudyRows):
    """Stress tests of judges."""

    queryset = JudgeAudit.objects.select_related("study", "judge")
    serializer_class = JudgeAuditSerializer
    filterset_class = by(judge="judge__name")

    def get_serializer_class(self) -> type[JudgeAuditSerializer]:
        """Include what was found of a single audit only."""
        return FoundAuditSerializer if self.action == "retrieve" else JudgeAuditSerializer

    @extend_schema(request=NewAuditSerializer, responses={202: JudgeAuditSerializer, **refusals(409, 413, 422)})
    def create(self, request: Request) -> Response:
        """Queue a stress test, or resume it. A worker asks the judge."""
        audit = read_asking(JudgeAuditForm, request).queue()
        where = {"Location": reverse("api:judgeaudit-detail", args=[audit.pk])}
        return Response(JudgeAuditSerializer(audit).data, status=status.HTTP_202_ACCEPTED, headers=where)

    @extend_schema(
        request=NewAuditSerializer, responses={200: EstimateSerializer, **refusals(409, 413, 422)}, filters=False
    )
    @action(detail=False, methods=["post"], pagination_class=None, filter_backends=[])
    def estimate(self, request: Request) -> Response:
        """Estimate the calls, tokens and cost of an audit. No call is made."""
        return Response(read_asking(JudgeAuditForm, request).estimate().as_dict())
