"""Audits of judges in the API: estimating and starting stress tests, and their results."""

from decimal import Decimal
from typing import Any

from django.http import Http404
from django.urls import reverse
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.bodies import read
from annotation.api.reasons import MESSAGE, WithMessage
from annotation.api.study_serializers import refusals
from annotation.jobs.work import queue_job
from annotation.members.permissions import READERS, find_study
from annotation.studies.questions import find_question
from judging.audits.estimates import estimate_stress
from judging.audits.stress import CHANGES, StressTest, start_stress
from judging.core.constants import MAX_IN_FLIGHT, MOST_SEED
from judging.core.visibility import judges_seen_by
from judging.models import Judge, JudgeAudit
from reporting.api.rows import StudyRows, by
from reporting.api.run_setup import EstimateSerializer
from reporting.audits.stress import stress_findings


class AuditSerializer(serializers.Serializer[Any]):
    """A stress test to be estimated."""

    study = serializers.CharField(max_length=80)
    judge = serializers.CharField(max_length=80)
    question = serializers.CharField(required=False, default="", max_length=80, help_text="Its key; the main one.")
    changes = serializers.ListField(
        child=serializers.ChoiceField(choices=CHANGES),
        required=False,
        default=list(CHANGES),
        min_length=1,
        help_text="Default: all.",
    )
    dataset = serializers.CharField(required=False, default="", allow_blank=True, max_length=100)
    pairs = serializers.IntegerField(
        required=False,
        default=None,
        allow_null=True,
        min_value=1,
        max_value=MOST_SEED,
        help_text="Number of pairs to draw.",
    )
    seed = serializers.IntegerField(required=False, default=0, min_value=0, max_value=MOST_SEED)


class NewAuditSerializer(AuditSerializer):
    """A stress test to be started, or resumed."""

    in_flight = serializers.IntegerField(required=False, default=8, min_value=1, max_value=MAX_IN_FLIGHT)
    max_cost = serializers.DecimalField(
        required=False, default=None, allow_null=True, max_digits=12, decimal_places=6, min_value=Decimal(0)
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
        data = read(NewAuditSerializer, request)
        test = _wanted(request.user, data)
        audit = start_stress(test, in_flight=data["in_flight"], max_cost=data["max_cost"])
        queue_job(audit)
        where = {"Location": reverse("api:judgeaudit-detail", args=[audit.pk])}
        return Response(JudgeAuditSerializer(audit).data, status=status.HTTP_202_ACCEPTED, headers=where)

    @extend_schema(
        request=AuditSerializer, responses={200: EstimateSerializer, **refusals(409, 413, 422)}, filters=False
    )
    @action(detail=False, methods=["post"], pagination_class=None, filter_backends=[])
    def estimate(self, request: Request) -> Response:
        """Estimate the calls, tokens and cost of an audit. No call is made."""
        return Response(estimate_stress(_wanted(request.user, read(AuditSerializer, request))).as_dict())


def _judge(user: Any, name: str) -> Judge:
    judge = judges_seen_by(user).select_related("endpoint", "prompt_file").filter(name=name).first()
    if judge is None:
        raise Http404(f"no judge {name}")
    return judge


def _wanted(user: Any, data: dict[str, Any]) -> StressTest:
    """Return what a request asks for.

    Raises: Http404 for a study or a judge that the user may not see; UnknownName
    """
    study = find_study(user, data["study"], *READERS)
    return StressTest(
        study=study,
        judge=_judge(user, data["judge"]),
        changes=tuple(data["changes"]),
        question=find_question(study, data["question"]).number,
        **{name: data[name] for name in ("dataset", "pairs", "seed")},
    )
