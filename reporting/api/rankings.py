"""Rankings of systems in the API: estimating, starting, stopping them, and their results."""

from decimal import Decimal
from typing import Any

from django.http import Http404
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.adaptive import STEP
from annotation.api.bodies import read
from annotation.api.study_serializers import refusals
from annotation.members.permissions import READERS, find_study
from annotation.studies.questions import find_question
from judging.core.constants import MAX_IN_FLIGHT, MOST_SEED
from judging.core.visibility import judges_seen_by
from reporting.api.filters import RunFilter
from reporting.api.rows import StudyRows
from reporting.api.run_setup import EstimateSerializer
from reporting.models import SystemRanking
from reporting.system_ranking.designs import DESIGNS, OPTIONS, WantedRanking, estimate_ranking
from reporting.system_ranking.jobs import queue_ranking, rankings_of, stop_ranking


class WantedSerializer(serializers.Serializer[Any]):
    """A ranking to be estimated."""

    study = serializers.CharField(max_length=80)
    judge = serializers.CharField(max_length=80)
    question = serializers.CharField(required=False, default="", max_length=80, help_text="Its key; the main one.")
    design = serializers.CharField(required=False, default="adaptive", max_length=20, help_text=f"{DESIGNS}.")
    settle = serializers.IntegerField(
        required=False,
        default=1,
        min_value=0,
        max_value=MOST_SEED,
        help_text="Stop when so many are settled; 0: never.",
    )
    budget = serializers.IntegerField(
        required=False,
        default=None,
        allow_null=True,
        min_value=1,
        max_value=MOST_SEED,
        help_text="Comparisons at most.",
    )
    step = serializers.IntegerField(
        required=False, default=STEP, min_value=1, max_value=MOST_SEED, help_text="Comparisons between two looks."
    )
    both_orders = serializers.BooleanField(required=False, default=False)
    seed = serializers.IntegerField(required=False, default=0, min_value=0, max_value=MOST_SEED)
    dataset = serializers.CharField(required=False, default="", allow_blank=True, max_length=100)
    sample = serializers.IntegerField(
        required=False, default=None, allow_null=True, min_value=1, max_value=MOST_SEED, help_text="So many instances."
    )


class NewRankingSerializer(WantedSerializer):
    """A ranking to be started, or continued."""

    in_flight = serializers.IntegerField(required=False, default=8, min_value=1, max_value=MAX_IN_FLIGHT)
    max_cost = serializers.DecimalField(
        required=False, default=None, allow_null=True, max_digits=12, decimal_places=6, min_value=Decimal(0)
    )
    limit = serializers.IntegerField(
        required=False, default=None, allow_null=True, min_value=1, max_value=MOST_SEED,
        help_text="Most presentations in this start.",
    )  # fmt: skip


class SystemRankingSerializer(serializers.ModelSerializer[SystemRanking]):
    """A ranking for which a judge is asked, and its result (`manage.py rank_systems --format json`); null before it stops."""

    study = serializers.CharField(source="study.slug", read_only=True)
    judge = serializers.CharField(source="judge.name", read_only=True)
    question = serializers.SerializerMethodField(help_text="Its key.")
    options = serializers.JSONField(read_only=True)
    found = serializers.JSONField(read_only=True, allow_null=True)

    class Meta:
        model = SystemRanking
        fields = [
            *("id", "study", "judge", "question", "options", "run", "in_flight", "max_cost", "most", "asked"),
            *("status", "message", "found", "asked_at", "finished_at"),
        ]

    def get_question(self, ranking: SystemRanking) -> str:
        """Return the question's key."""
        return ranking.study.questions[ranking.question].key


class RankingViewSet(StudyRows):
    """Rankings of systems for which a judge is asked step by step, for researchers too."""

    queryset = SystemRanking.objects.select_related("study", "judge")
    serializer_class = SystemRankingSerializer
    filterset_class = RunFilter

    @extend_schema(request=NewRankingSerializer, responses={202: SystemRankingSerializer, **refusals(409, 413, 422)})
    def create(self, request: Request) -> Response:
        """Queue a ranking, or continue one with the same settings; a worker asks the judge."""
        data = read(NewRankingSerializer, request)
        ranking = queue_ranking(
            _wanted(request.user, data), **{name: data[name] for name in ("in_flight", "max_cost", "limit")}
        )
        where = {"Location": reverse("api:systemranking-detail", args=[ranking.pk])}
        return Response(SystemRankingSerializer(ranking).data, status=status.HTTP_202_ACCEPTED, headers=where)

    @extend_schema(
        request=WantedSerializer, responses={200: EstimateSerializer, **refusals(409, 413, 422)}, filters=False
    )
    @action(detail=False, methods=["post"], pagination_class=None, filter_backends=[])
    def estimate(self, request: Request) -> Response:
        """Estimate the calls, tokens and cost that a ranking takes at most; no call is made."""
        return Response(estimate_ranking(_wanted(request.user, read(WantedSerializer, request))).as_dict())

    @extend_schema(request=None, responses={200: SystemRankingSerializer, **refusals(409)})
    @action(detail=True, methods=["post"])
    def stop(self, request: Request, pk: str) -> Response:
        """Stop a ranking: calls under way end, no new one begins."""
        ranking: SystemRanking = self.get_object()
        stop_ranking(next(one for one in rankings_of(ranking.study) if one.pk == ranking.pk))
        return Response(SystemRankingSerializer(self.get_object()).data)


def _wanted(user: Any, data: dict[str, Any]) -> WantedRanking:
    """Return what a request asks for.

    Raises: Http404 for a study or a judge that the user may not see; UnknownName
    """
    study = find_study(user, data["study"], *READERS)
    judge = judges_seen_by(user).select_related("endpoint", "prompt_file").filter(name=data["judge"]).first()
    if judge is None:
        raise Http404(f"no judge {data['judge']}")
    number = find_question(study, data["question"]).number
    return WantedRanking(study, judge, number, **{name: data[name] for name in OPTIONS})
