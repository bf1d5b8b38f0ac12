"""Viewsets of the API: the rows of the studies that a user may read; the annotation app adds the writing actions."""

from typing import Any, TypeVar

from django.db.models import QuerySet
from django.utils.http import http_date
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, extend_schema_view
from drf_spectacular.views import SpectacularAPIView
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ReadOnlyModelViewSet

from annotation.api.batch_serializers import BatchSerializer
from annotation.api.batches import BatchSetup
from annotation.api.progress import BatchProgress
from annotation.api.separability import AlignmentSerializer, SeparabilityRunSerializer, SeparabilitySetup
from annotation.api.studies import StudySetup
from annotation.api.study_serializers import StudySerializer
from annotation.members.permissions import READERS
from annotation.models import (
    Alignment,
    Annotator,
    Assignment,
    Batch,
    ComparisonTable,
    Flag,
    Generation,
    Hit,
    Instance,
    Matchup,
    Pair,
    Rating,
    SeparabilityRun,
    Study,
    System,
    VoteChange,
)
from judging.core.visibility import judges_seen_by
from judging.models import Completion, Endpoint, Judge, JudgeRun, Judgment
from reporting.api import filters, serializers
from reporting.api.access import IsReader, IsSiteAdmin, visible_to
from reporting.exports.rows import TABLE_OF
from reporting.findings.data.asked import filters_of
from reporting.findings.snapshots import snapshot_of
from reporting.findings.views import BEING_COMPUTED, RETRY
from reporting.leaderboard.board import leaderboard
from reporting.separability.arrays import THRESHOLDS
from reporting.separability.distributions import distinguishable
from reporting.separability.views import filters_of as separability_filters
from reporting.table_effect.effects import table_effect
from reporting.table_effect.views import filters_of as table_effect_filters

View = TypeVar("View", bound=type[ReadOnlyModelViewSet[Any]])
KEY = r"[A-Za-z0-9_-]+"
OF_DISPLAY = ("display__assignment__hit__batch__study", "display__assignment__annotator", "display__pair")
REFUSALS: dict[int, Any] = {
    401: OpenApiResponse(serializers.ProblemSerializer, "No token, or not a valid one."),
    403: OpenApiResponse(serializers.ProblemSerializer, "Not a researcher or an admin."),
    404: OpenApiResponse(serializers.ProblemSerializer, "There is no such row, or page, for this user."),
}
FINDINGS_PARAMETERS = [
    OpenApiParameter("similarity", str, description="Whose separability to bin by; computed last when left out."),
    OpenApiParameter("batch", str, many=True, description="Only these batches."),
    OpenApiParameter("dataset", str, many=True, description="Only these data sets."),
    OpenApiParameter("system", str, many=True, description="Only pairs of this system, or of these two."),
    OpenApiParameter("judge", str, many=True, description="Only these judges."),
    OpenApiParameter("rater", str, many=True, description="Only these people, by their codes."),
    OpenApiParameter("stage", str, enum=Rating.Stage.values, description="People's votes of this stage."),
    OpenApiParameter("arm", str, many=True, description="Only people's HITs of these arms."),
    OpenApiParameter("with_excluded", bool, description="Count people's ratings that were excluded manually too."),
    OpenApiParameter("drop_incomplete", bool, description="Leave out rating sets that lack a rating."),
    OpenApiParameter("question", str, description="Key of one of several questions; the main one when left out."),
    OpenApiParameter(
        "two_way", bool, description="Intervals over instances and raters, where a number has several raters."
    ),
]
EFFECT_PARAMETERS = [
    OpenApiParameter("dataset", str, description="Only this data set."),
    OpenApiParameter("system", str, many=True, description="Only pairs of this system, or of these two."),
    OpenApiParameter("batch", str, many=True, description="Only these batches."),
]

SEPARABILITY_PARAMETERS = [
    OpenApiParameter("dataset", str, description="Only this data set."),
    OpenApiParameter("system", str, many=True, description="Only pairs of this system, or of these two."),
    OpenApiParameter("similarity", str, description="Whose separability; computed last when left out."),
    OpenApiParameter("threshold", str, enum=THRESHOLDS, description="From where on an alignment is high."),
    OpenApiParameter("question", str, description="Key of one of several questions; the main one when left out."),
]


def documented(view: View) -> View:
    """Add a viewset's responses, errors included, to the schema."""
    serializer: Any = view.serializer_class  # type: ignore[misc]
    wrong = OpenApiResponse(OpenApiTypes.OBJECT, "A filter has a value that it can't have.")
    return extend_schema_view(
        list=extend_schema(responses={200: serializer(many=True), 400: wrong, **REFUSALS}),
        retrieve=extend_schema(responses={200: serializer, **REFUSALS}),
    )(view)


class StudyRows(ReadOnlyModelViewSet[Any]):
    """Rows of the studies that the user may read."""

    permission_classes = [IsReader]
    filterset_class: Any = filters.StudyFilter

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        documented(cls)

    def get_queryset(self) -> QuerySet[Any]:
        """Return the rows that this user may see, in a fixed order for pagination."""
        return visible_to(self.request.user, super().get_queryset()).order_by("pk")


@documented
class StudyViewSet(StudySetup, SeparabilitySetup, ReadOnlyModelViewSet[Study]):
    """Studies, by slug."""

    permission_classes = [IsReader]
    queryset = Study.objects.all()
    serializer_class = StudySerializer
    lookup_field = "slug"
    lookup_value_regex = r"[-\w]+"

    def get_queryset(self) -> QuerySet[Study]:
        """Return the studies that this user may read."""
        return Study.objects.visible_to(self.request.user, *READERS).select_related("group").order_by("slug")

    @extend_schema(parameters=FINDINGS_PARAMETERS, responses={200: OpenApiTypes.OBJECT, **REFUSALS}, filters=False)
    @action(detail=True, pagination_class=None)
    def findings(self, request: Request, slug: str) -> Response:
        """Return the findings of the study, as `manage.py findings --format json` prints them.

        Of a large study they are those that were computed last, at the time in `Last-Modified`; 503 before the first time.
        """
        study = self.get_object()
        snapshot = snapshot_of(study, filters_of(study, request.query_params))
        if snapshot.numbers is None or snapshot.read_at is None:
            return Response({"detail": BEING_COMPUTED}, status=503, headers=RETRY)
        return Response(snapshot.numbers, headers={"Last-Modified": http_date(snapshot.read_at.timestamp())})

    @extend_schema(parameters=FINDINGS_PARAMETERS, responses={200: OpenApiTypes.OBJECT, **REFUSALS}, filters=False)
    @action(detail=True, pagination_class=None)
    def leaderboard(self, request: Request, slug: str) -> Response:
        """Return the ranks of the study's systems by rater and data set, and what would settle the next place; 503 as `findings`."""
        study = self.get_object()
        filters = filters_of(study, request.query_params)
        numbers = snapshot_of(study, filters).numbers
        if numbers is None:
            return Response({"detail": BEING_COMPUTED}, status=503, headers=RETRY)
        return Response(leaderboard(study, filters, numbers))

    @extend_schema(parameters=EFFECT_PARAMETERS, responses={200: OpenApiTypes.OBJECT, **REFUSALS}, filters=False)
    @action(detail=True, pagination_class=None, url_path="table-effect")
    def table_effect(self, request: Request, slug: str) -> Response:
        """Return what comparison tables change, as `manage.py table_effect --format json` prints it."""
        study = self.get_object()
        return Response(table_effect(study, table_effect_filters(study, request.query_params)))

    @extend_schema(parameters=SEPARABILITY_PARAMETERS, responses={200: OpenApiTypes.OBJECT, **REFUSALS}, filters=False)
    @action(detail=True, pagination_class=None)
    def distinguishable(self, request: Request, slug: str) -> Response:
        """Return separability with scenarios and advice, as `manage.py separability_advice --format json` prints it."""
        study = self.get_object()
        return Response(distinguishable(study, separability_filters(study, request.query_params)))


class SystemViewSet(StudyRows):
    """Systems under comparison."""

    queryset = System.objects.select_related("study")
    serializer_class = serializers.SystemSerializer


class InstanceViewSet(StudyRows):
    """Test inputs."""

    queryset = Instance.objects.select_related("study")
    serializer_class = serializers.InstanceSerializer
    filterset_class = filters.InstanceFilter


class GenerationViewSet(StudyRows):
    """Outputs of systems."""

    queryset = Generation.objects.select_related("instance__study", "system")
    serializer_class = serializers.GenerationSerializer


class MatchupViewSet(StudyRows):
    """Instances with two systems."""

    queryset = Matchup.objects.select_related("instance__study", "system_a", "system_b")
    serializer_class = serializers.MatchupSerializer


class SeparabilityRunViewSet(StudyRows):
    """Separability of each configuration by each measure."""

    queryset = SeparabilityRun.objects.select_related("study", "system_a", "system_b")
    serializer_class = SeparabilityRunSerializer
    filterset_class = filters.SeparabilityRunFilter


class AlignmentViewSet(StudyRows):
    """Alignments and separability of each matchup."""

    queryset = Alignment.objects.select_related("run__study", "matchup__instance")
    serializer_class = AlignmentSerializer
    filterset_class = filters.AlignmentFilter


class PairViewSet(StudyRows):
    """Pairs of generations, by key."""

    queryset = Pair.objects.select_related("matchup__instance__study", "generation_a", "generation_b").defer(
        "generation_a__text", "generation_b__text", "matchup__instance__source"
    )
    serializer_class = serializers.PairSerializer
    lookup_field = "key"
    lookup_value_regex = KEY


class BatchViewSet(BatchSetup, BatchProgress, StudyRows):
    """Batches of HITs."""

    queryset = Batch.objects.select_related("study", "system_a", "system_b")
    serializer_class = BatchSerializer
    filterset_class = filters.BatchFilter


class HitViewSet(StudyRows):
    """HITs, by key."""

    queryset = Hit.objects.select_related("batch__study").prefetch_related("pairs")
    serializer_class = serializers.HitSerializer
    filterset_class = filters.HitFilter
    lookup_field = "key"
    lookup_value_regex = KEY


class AssignmentViewSet(StudyRows):
    """Claims on HITs, by key."""

    queryset = Assignment.objects.select_related("hit__batch__study", "annotator", "repeat_of")
    serializer_class = serializers.AssignmentSerializer
    filterset_class = filters.AssignmentFilter
    lookup_field = "key"
    lookup_value_regex = KEY


class RatingViewSet(StudyRows):
    """People's votes."""

    queryset = Rating.objects.of_every_question().select_related(*OF_DISPLAY, "table", "display__table")
    serializer_class = serializers.RatingSerializer
    filterset_class = filters.RatingFilter


class HistoryViewSet(StudyRows):
    """Every change of a vote, as it came in."""

    queryset = (
        VoteChange.objects.of_every_question().select_related(*OF_DISPLAY, "display__table").annotate(table_of=TABLE_OF)
    )
    serializer_class = serializers.HistorySerializer
    filterset_class = filters.RatingFilter


class FlagViewSet(StudyRows):
    """What raters reported about pairs and about rows of tables; HITs given back are among the assignments."""

    queryset = Flag.objects.select_related(*OF_DISPLAY, "table")
    serializer_class = serializers.FlagSerializer
    filterset_class = filters.FlagFilter


class AnnotatorViewSet(StudyRows):
    """Annotators, by the code that stands for them; those who have withdrawn are not listed."""

    queryset = Annotator.objects.select_related("study")
    serializer_class = serializers.AnnotatorSerializer


@extend_schema_view(retrieve=extend_schema(responses={200: serializers.TableDetailSerializer, **REFUSALS}))
class ComparisonTableViewSet(StudyRows):
    """Comparison tables of pairs; one by itself comes with its checks and its making."""

    queryset = ComparisonTable.objects.select_related("study", "pair")
    serializer_class = serializers.ComparisonTableSerializer
    filterset_class = filters.TableFilter

    def get_serializer_class(self) -> type[serializers.ComparisonTableSerializer]:
        """Include the checks of a single table only: for a list they take too long."""
        return serializers.TableDetailSerializer if self.action == "retrieve" else self.serializer_class


@documented
class JudgeViewSet(ReadOnlyModelViewSet[Judge]):
    """Judges, by name: those that ran in the user's groups, and those that never ran."""

    permission_classes = [IsReader]
    queryset = Judge.objects.select_related("endpoint", "prompt_file").order_by("name")
    serializer_class = serializers.JudgeSerializer
    filterset_class = filters.JudgeFilter
    lookup_field = "name"
    lookup_value_regex = KEY

    def get_queryset(self) -> QuerySet[Judge]:
        """Return the judges that this user may see."""
        return judges_seen_by(self.request.user).select_related("endpoint", "prompt_file").order_by("name")


@documented
class EndpointViewSet(ReadOnlyModelViewSet[Endpoint]):
    """Endpoints that judges ask, by name; for site admins."""

    permission_classes = [IsSiteAdmin]
    queryset = Endpoint.objects.order_by("name")
    serializer_class = serializers.EndpointSerializer
    lookup_field = "name"
    lookup_value_regex = KEY


class JudgeRunViewSet(StudyRows):
    """Runs of judges, with the processes at work on them."""

    queryset = JudgeRun.objects.select_related("study", "judge", "batch").prefetch_related("workers")
    serializer_class = serializers.JudgeRunSerializer
    filterset_class = filters.RunFilter


class JudgmentViewSet(StudyRows):
    """What judges answered, one row per presentation."""

    queryset = (
        Judgment.objects.of_every_question()
        .select_related("run__study", "run__judge", "pair")
        .prefetch_related("completions")
    )
    serializer_class = serializers.JudgmentSerializer
    filterset_class = filters.JudgmentFilter


class CompletionViewSet(StudyRows):
    """Raw answers of endpoints behind the judgments, by cache key."""

    queryset = Completion.objects.all()
    serializer_class = serializers.CompletionSerializer
    lookup_field = "cache_key"
    lookup_value_regex = r"[0-9a-f]+"


class SchemaView(SpectacularAPIView):
    """The description of this API; it holds nothing of any study."""

    permission_classes: list[Any] = []
    authentication_classes: list[Any] = []
