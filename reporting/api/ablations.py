"""Ablations in the API: ways of judging side by side, what more of them takes, and starting them."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from annotation.api.bodies import read
from annotation.api.study_serializers import refusals
from annotation.models import Study
from judging.ablation.judge_configurations import PAPER, PARTS, ROUNDS, Axes
from judging.ablation.services import FEWER_CALLS, Ablation, estimate_ablation, queue_ablation
from judging.core.constants import MOST_SEED
from judging.endpoints.services import find_endpoint
from judging.methods.options import OFFLINE, ONLINE
from judging.methods.sc2.bracket import SCHEMES
from judging.runs.judges import MOST_REPEATS
from reporting.ablation.study_ablation import ablation
from reporting.api.rows import COMPUTED, WORK
from reporting.api.run_setup import AskingSerializer, PairsSerializer, pairs_of
from reporting.api.serializers import JudgeRunSerializer

RUNS_QUEUED: dict[Any, Any] = {202: JudgeRunSerializer(many=True), **refusals(409, 413, 422)}


def _numbers(most: int, least: int = 1) -> Any:
    return serializers.ListField(
        child=serializers.IntegerField(min_value=least, max_value=most), required=False, min_length=1
    )


class AblationSerializer(PairsSerializer, AskingSerializer):
    """Configurations of judging at an endpoint, and the pairs that each is asked about; `max_cost` is of all runs together."""

    limit = None  # type: ignore[assignment]  # runs of one ablation are compared on the same pairs
    endpoint = serializers.CharField(max_length=80)
    table_endpoint = serializers.CharField(max_length=80, required=False, help_text="Where SC² makes its tables.")
    parts = serializers.ListField(
        child=serializers.ChoiceField(choices=PARTS), required=False, default=list(PAPER), min_length=1
    )
    rounds = serializers.IntegerField(required=False, default=ROUNDS, min_value=1, max_value=MOST_REPEATS)
    samples = _numbers(MOST_SEED)
    schemes = serializers.ListField(
        child=serializers.CharField(max_length=40), required=False, min_length=1, help_text=f"Of {', '.join(SCHEMES)}."
    )
    aspects = serializers.ListField(
        child=serializers.ChoiceField(choices=[ONLINE, OFFLINE]), required=False, min_length=1
    )
    budgets = _numbers(MOST_SEED)
    shots = _numbers(MOST_SEED)
    table_variants = serializers.ListField(
        child=serializers.CharField(max_length=40),
        required=False,
        min_length=1,
        help_text="Stored tables to show to SC².",
    )


class StudyAblations(GenericViewSet[Any]):
    """The ablation of a study, for researchers too."""

    @extend_schema(responses=COMPUTED, filters=False)
    @action(**WORK)
    def ablation(self, request: Request, slug: str) -> Response:
        """Return ways of judging side by side, as `manage.py sc2_ablation --format json` prints them."""
        return Response(ablation(self.get_object()))

    @extend_schema(request=AblationSerializer, responses=RUNS_QUEUED)
    @ablation.mapping.post
    def start_ablation(self, request: Request, slug: str) -> Response:
        """Queue a run of each configuration."""
        asked, asking = _ablation(request, self.get_object())
        runs = queue_ablation(asked, **asking)
        return Response(JudgeRunSerializer(runs, many=True).data, status=status.HTTP_202_ACCEPTED)

    @extend_schema(
        request=AblationSerializer, responses={200: OpenApiTypes.OBJECT, **refusals(409, 413, 422)}, filters=False
    )
    @action(**WORK, methods=["post"], url_path="ablation/estimate")
    def estimate_ablation(self, request: Request, slug: str) -> Response:
        """Estimate the calls and the cost of each configuration, and of all; no call is made."""
        asked, _asking = _ablation(request, self.get_object())
        found = estimate_ablation(asked, calls=FEWER_CALLS)
        rows = [{"judge": row.judge.name, **expected.as_dict()} for row, expected in found.rows]
        return Response({"rows": rows, "total": found.total.as_dict()})


def _ablation(request: Request, study: Study) -> tuple[Ablation, dict[str, Any]]:
    """Return what a request asks for, and how it is asked.

    Raises: BadFields; BadSettings; UnknownName
    """
    data = pairs_of(study, read(AblationSerializer, request))
    values = {
        name: tuple(data.pop(name)) for name in ("samples", "schemes", "aspects", "budgets", "shots") if name in data
    }
    axes = Axes(**values, variants=tuple(data.pop("table_variants", ())))
    axes.check()
    asking: dict[str, Any] = {name: data.pop(name) for name in ("in_flight", "max_cost") if name in data}
    table_endpoint = find_endpoint(data.pop("table_endpoint")) if "table_endpoint" in data else None
    endpoint, parts = find_endpoint(data.pop("endpoint")), tuple(data.pop("parts"))
    return Ablation(study, endpoint, table_endpoint, parts, axes, **data), asking
