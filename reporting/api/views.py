"""Viewsets of the API: the rows of the studies that a user may read. The annotation app adds the writing actions."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_view
from drf_spectacular.views import SpectacularAPIView
from rest_framework.negotiation import DefaultContentNegotiation

from annotation.api.batch_serializers import BatchSerializer
from annotation.api.batches import BatchSetup
from annotation.api.channels import ChannelSerializer, ChannelSetup
from annotation.api.members import GroupSerializer, GroupSetup
from annotation.api.progress import BatchProgress
from annotation.api.raters import AssignmentDecisions, RaterDecisions
from annotation.api.separability import AlignmentSerializer, SeparabilityRunSerializer
from annotation.members.memberships import groups_of
from annotation.members.permissions import READERS
from annotation.models import (
    Alignment,
    Annotator,
    Assignment,
    Batch,
    Channel,
    ComparisonTable,
    Flag,
    Generation,
    Hit,
    Instance,
    Matchup,
    Pair,
    Rating,
    ResearchGroup,
    SeparabilityRun,
    System,
    VoteChange,
)
from annotation.models.tokens import Scope
from judging.core.visibility import judges_seen_by
from judging.models import Completion, Endpoint, Judge, JudgeRun, Judgment
from reporting.api import serializers
from reporting.api.access import InScope, IsReader, IsSiteAdmin, IsUnlimited
from reporting.api.docs_views import OnceGenerated
from reporting.api.judge_making import JudgmentReview
from reporting.api.rows import (
    HIT,
    KEY,
    MODEL,
    RATER,
    REFUSALS,
    AlignmentFilter,
    JudgeFilter,
    JudgmentFilter,
    RatingFilter,
    Rows,
    StudyRows,
    by,
)
from reporting.api.run_setup import EndpointSetup, JudgeSetup, RunSetup
from reporting.exports.rows import TABLE_OF

OF_DISPLAY = ("display__assignment__hit__batch__study", "display__assignment__annotator", "display__pair")


class GroupViewSet(GroupSetup, Rows):
    """Groups, by slug."""

    permission_classes = [IsReader, InScope, IsUnlimited]
    queryset = ResearchGroup.objects.all()
    serializer_class = GroupSerializer
    lookup_field = "slug"
    lookup_value_regex = r"[-\w]+"

    def get_queryset(self) -> QuerySet[ResearchGroup]:
        """Return the groups that this user may read."""
        return groups_of(self.request.user, *READERS).order_by("slug")


class SystemViewSet(StudyRows):
    """Systems under comparison."""

    queryset = System.objects.select_related("study")
    serializer_class = serializers.SystemSerializer


class InstanceViewSet(StudyRows):
    """Test inputs."""

    queryset = Instance.objects.select_related("study")
    serializer_class = serializers.InstanceSerializer
    filterset_class = by("dataset", "instance_id")


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
    filterset_class = by("dataset", "similarity", "model")


class AlignmentViewSet(StudyRows):
    """Alignments and separability of each matchup."""

    queryset = Alignment.objects.select_related("run__study", "matchup__instance")
    serializer_class = AlignmentSerializer
    filterset_class = AlignmentFilter


class PairViewSet(StudyRows):
    """Pairs of generations, by key."""

    queryset = Pair.objects.select_related("matchup__instance__study", "generation_a", "generation_b").defer(
        *("generation_a__text", "generation_a__messages", "generation_b__text", "generation_b__messages"),
        *("matchup__instance__source", "matchup__instance__messages"),
    )
    serializer_class = serializers.PairSerializer
    lookup_field = "key"
    lookup_value_regex = KEY


class BatchViewSet(BatchSetup, BatchProgress, StudyRows):
    """Batches of HITs."""

    write_scope = Scope.MANAGE
    queryset = Batch.objects.select_related("study", "system_a", "system_b")
    serializer_class = BatchSerializer
    filterset_class = by("name", "purpose")


class HitViewSet(StudyRows):
    """HITs, by key."""

    queryset = Hit.objects.select_related("batch__study").prefetch_related("pairs")
    serializer_class = serializers.HitSerializer
    filterset_class = by(batch="batch__name")
    lookup_field = "key"
    lookup_value_regex = KEY


class AssignmentViewSet(AssignmentDecisions, StudyRows):
    """Claims on HITs, by key."""

    write_scope = Scope.MANAGE
    queryset = Assignment.objects.select_related("hit__batch__study", "annotator", "repeat_of")
    serializer_class = serializers.AssignmentSerializer
    filterset_class = by("state", "purpose", batch="hit__batch__name", annotator="annotator__code")
    lookup_field = "key"
    lookup_value_regex = KEY


class RatingViewSet(StudyRows):
    """People's votes."""

    queryset = Rating.objects.select_related(*OF_DISPLAY, "table", "display__table")
    serializer_class = serializers.RatingSerializer
    filterset_class = RatingFilter


class HistoryViewSet(StudyRows):
    """Every change of a vote, as it came in."""

    queryset = VoteChange.objects.select_related(*OF_DISPLAY, "display__table").annotate(table_of=TABLE_OF)
    serializer_class = serializers.HistorySerializer
    filterset_class = RatingFilter


class FlagViewSet(StudyRows):
    """Raters' reports about pairs and rows of tables. Returned HITs are among the assignments."""

    queryset = Flag.objects.select_related(*OF_DISPLAY, "table")
    serializer_class = serializers.FlagSerializer
    filterset_class = by("kind", batch=HIT, rater=RATER)


class AnnotatorViewSet(RaterDecisions, StudyRows):
    """Annotators, by the code that stands for them. Those who have withdrawn are not listed."""

    write_scope = Scope.MANAGE
    queryset = Annotator.objects.select_related("study")
    serializer_class = serializers.AnnotatorSerializer


class ChannelViewSet(ChannelSetup, StudyRows):
    """Ways into studies, by key."""

    write_scope = Scope.MANAGE
    queryset = Channel.objects.select_related("study", "batch")
    serializer_class = ChannelSerializer
    lookup_field = "key"
    lookup_value_regex = KEY


@extend_schema_view(retrieve=extend_schema(responses={200: serializers.TableDetailSerializer, **REFUSALS}))
class ComparisonTableViewSet(StudyRows):
    """Comparison tables of pairs. A single one has its checks and how it was created."""

    queryset = ComparisonTable.objects.select_related("study", "pair")
    serializer_class = serializers.ComparisonTableSerializer
    filterset_class = by("variant")

    def get_serializer_class(self) -> type[serializers.ComparisonTableSerializer]:
        """Include the checks of a single table only: for a list they take too long."""
        return serializers.TableDetailSerializer if self.action == "retrieve" else self.serializer_class


class JudgeViewSet(JudgeSetup, Rows):
    """Judges, by name: those that ran in the user's groups, and those that never ran."""

    queryset = Judge.objects.select_related("endpoint", "table_endpoint", "prompt_file").order_by("name")
    serializer_class = serializers.JudgeSerializer
    filterset_class = JudgeFilter
    lookup_field = "name"
    lookup_value_regex = MODEL

    def get_queryset(self) -> QuerySet[Judge]:
        """Return the judges that this user may see."""
        return (
            judges_seen_by(self.request.user)
            .select_related("endpoint", "table_endpoint", "prompt_file")
            .order_by("name")
        )


class EndpointViewSet(EndpointSetup, Rows):
    """Endpoints that judges ask, by name, for site admins."""

    permission_classes = [IsSiteAdmin, InScope]
    queryset = Endpoint.objects.order_by("name")
    serializer_class = serializers.EndpointSerializer
    lookup_field = "name"
    lookup_value_regex = KEY


class JudgeRunViewSet(RunSetup, StudyRows):
    """Runs of judges, with their processes."""

    queryset = JudgeRun.objects.select_related("study", "judge", "batch").prefetch_related("workers")
    serializer_class = serializers.JudgeRunSerializer
    filterset_class = by("status", judge="judge__name")


class JudgmentViewSet(JudgmentReview, StudyRows):
    """Judges' answers, one row per presentation."""

    queryset = Judgment.objects.select_related("run__study", "run__judge", "pair").prefetch_related("completions")
    serializer_class = serializers.JudgmentSerializer
    filterset_class = JudgmentFilter


class CompletionViewSet(StudyRows):
    """Raw answers of endpoints behind the judgments, by cache key."""

    queryset = Completion.objects.all()
    serializer_class = serializers.CompletionSerializer
    lookup_field = "cache_key"
    lookup_value_regex = r"[0-9a-f]+"


class SchemaView(SpectacularAPIView):
    """The description of this API, without data of studies."""

    permission_classes: list[Any] = []
    authentication_classes: list[Any] = []
    content_negotiation_class = DefaultContentNegotiation  # YAML or JSON
    generator_class = OnceGenerated
