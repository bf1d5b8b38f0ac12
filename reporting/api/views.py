"""Viewsets of the API: studies and their rows, as far as a user may read them. Other modules add the actions."""

from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from drf_spectacular.utils import extend_schema_view
from drf_spectacular.views import SpectacularAPIView
from rest_framework.negotiation import DefaultContentNegotiation

from annotation.api.answers import answers
from annotation.api.batches import BatchProgress, BatchSerializer, BatchSetup
from annotation.api.channels import ChannelSerializer, ChannelSetup, StudyInvitations
from annotation.api.members import GroupSerializer, GroupSetup, StudyMembers
from annotation.api.raters import AssignmentDecisions, RaterDecisions, StudyPayments
from annotation.api.studies import AlignmentSerializer, SeparabilityRunSerializer, StudySerializer, StudySetup
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
    Study,
    System,
    VoteChange,
)
from annotation.models.members import Scope
from annotation.models.studies import StudyQuerySet
from judging.core.visibility import judges_seen_by
from judging.models import Completion, Endpoint, Judge, JudgeRun, Judgment
from reporting.api import serializers
from reporting.api.access import InScope, IsReader, IsSiteAdmin, IsUnlimited
from reporting.api.corrections import StudyCorrections
from reporting.api.docs_views import OnceGenerated
from reporting.api.files import StudyFiles
from reporting.api.imports import StudyImports
from reporting.api.judge_making import JudgmentReview, StudyJudges
from reporting.api.material import StudyMaterial
from reporting.api.numbers import StudyNumbers
from reporting.api.rows import (
    HIT,
    KEY,
    MODEL,
    RATER,
    AlignmentFilter,
    JudgeFilter,
    JudgmentFilter,
    RatingFilter,
    Rows,
    StudyRows,
    by,
    study_rows,
)
from reporting.api.run_setup import EndpointSetup, JudgeSetup, RunSetup
from reporting.exports.rows import TABLE_OF

OF_DISPLAY = ("display__assignment__hit__batch__study", "display__assignment__annotator", "display__pair")


class StudyViewSet(
    StudySetup,
    StudyCorrections,
    StudyImports,
    StudyMembers,
    StudyInvitations,
    StudyPayments,
    StudyMaterial,
    StudyJudges,
    StudyNumbers,
    StudyFiles,
    Rows,
):
    """Studies, by slug."""

    queryset = Study.objects.all()
    serializer_class = StudySerializer
    lookup_field = "slug"
    lookup_value_regex = r"[-\w]+"

    def get_queryset(self) -> StudyQuerySet:
        """Return the studies that this user may read."""
        return Study.objects.visible_to(self.request.user, *READERS).select_related("group").order_by("slug")

    def get_object(self) -> Study:
        """Return the study that the address names, unless rows of an import are moving to it.

        Raises: Http404; UnknownStudy, which is a 404 that says the new short name of one that the user may read.
        """
        try:
            study: Study = super().get_object()
        except Http404:
            self.get_queryset().refuse_former_name(self.kwargs["slug"])
            raise
        study.refuse_reading()
        return study


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


SystemViewSet = study_rows(
    "Systems under comparison.", serializers.SystemSerializer, System.objects.select_related("study")
)

InstanceViewSet = study_rows(
    "Test inputs.",
    serializers.InstanceSerializer,
    Instance.objects.select_related("study"),
    filters=by("dataset", "instance_id"),
)

GenerationViewSet = study_rows(
    "Outputs of systems.",
    serializers.GenerationSerializer,
    Generation.objects.select_related("instance__study", "system"),
)

MatchupViewSet = study_rows(
    "Instances with two systems.",
    serializers.MatchupSerializer,
    Matchup.objects.select_related("instance__study", "system_a", "system_b"),
)

SeparabilityRunViewSet = study_rows(
    "Separability of each configuration by each measure.",
    SeparabilityRunSerializer,
    SeparabilityRun.objects.select_related("study", "system_a", "system_b"),
    filters=by("dataset", "similarity", "model"),
)

AlignmentViewSet = study_rows(
    "Alignments and separability of each matchup.",
    AlignmentSerializer,
    Alignment.objects.select_related("run__study", "matchup__instance"),
    filters=AlignmentFilter,
)

PairViewSet = study_rows(
    "Pairs of generations, by key.",
    serializers.PairSerializer,
    Pair.objects.select_related("matchup__instance__study", "generation_a", "generation_b").defer(
        *("generation_a__text", "generation_a__messages", "generation_b__text", "generation_b__messages"),
        *("matchup__instance__source", "matchup__instance__messages"),
    ),
    by_key=True,
)


class BatchViewSet(BatchSetup, BatchProgress, StudyRows):
    """Batches of HITs."""

    write_scope = Scope.MANAGE
    queryset = Batch.objects.select_related("study", "system_a", "system_b")
    serializer_class = BatchSerializer
    filterset_class = by("name", "purpose")


HitViewSet = study_rows(
    "HITs, by key.",
    serializers.HitSerializer,
    Hit.objects.select_related("batch__study").prefetch_related("pairs"),
    filters=by(batch="batch__name"),
    by_key=True,
)


class AssignmentViewSet(AssignmentDecisions, StudyRows):
    """Claims on HITs, by key."""

    write_scope = Scope.MANAGE
    queryset = Assignment.objects.select_related("hit__batch__study", "annotator", "repeat_of")
    serializer_class = serializers.AssignmentSerializer
    filterset_class = by("state", "purpose", batch="hit__batch__name", annotator="annotator__code")
    lookup_field = "key"
    lookup_value_regex = KEY


RatingViewSet = study_rows(
    "People's votes.",
    serializers.RatingSerializer,
    Rating.objects.select_related(*OF_DISPLAY, "table", "display__table"),
    filters=RatingFilter,
)

HistoryViewSet = study_rows(
    "Every change of a vote, as it came in.",
    serializers.HistorySerializer,
    VoteChange.objects.select_related(*OF_DISPLAY, "display__table").annotate(table_of=TABLE_OF),
    filters=RatingFilter,
)

FlagViewSet = study_rows(
    "Raters' reports about pairs and rows of tables. Returned HITs are among the assignments.",
    serializers.FlagSerializer,
    Flag.objects.select_related(*OF_DISPLAY, "table"),
    filters=by("kind", batch=HIT, rater=RATER),
)


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


@extend_schema_view(retrieve=answers(serializers.TableDetailSerializer))
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
