"""Studies in the API, with all that is computed of them."""

from collections.abc import Callable
from functools import partial

from django.http import Http404, HttpResponse
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.channels import StudyInvitations
from annotation.api.members import StudyMembers
from annotation.api.plans import StudyPlans
from annotation.api.raters import StudyPayments
from annotation.api.separability import SeparabilitySetup
from annotation.api.studies import StudySetup
from annotation.api.study_serializers import StudySerializer
from annotation.members.permissions import READERS
from annotation.models import Rating, Study
from annotation.models.studies import StudyQuerySet
from reporting.api.corrections import StudyCorrections
from reporting.api.files import StudyFiles
from reporting.api.imports import StudyImports
from reporting.api.jobs import StudyJobs
from reporting.api.judge_making import StudyJudges
from reporting.api.material import StudyMaterial
from reporting.api.numbers import StudyNumbers
from reporting.api.rows import COMPUTED, Rows
from reporting.findings.data.asked import filters_of
from reporting.findings.data.inputs import Filters
from reporting.findings.snapshots import Snapshot, snapshot_of
from reporting.findings.views import BEING_COMPUTED, RETRY, send_changed, send_stored
from reporting.leaderboard.leaderboard import leaderboard
from reporting.planning.api import StudyFrozenPlan
from reporting.separability.arrays import THRESHOLDS
from reporting.separability.stability import stabilities
from reporting.separability.study_separability import distinguishable
from reporting.separability.views import filters_of as separability_filters
from reporting.table_effect.reading import table_effect
from reporting.table_effect.views import filters_of as table_effect_filters

UNCHANGED = OpenApiResponse(description="Not changed since the `ETag` that was sent.")
FINDINGS_PARAMETERS = [
    OpenApiParameter("similarity", str, description="Whose separability to bin by. Default: computed last."),
    OpenApiParameter("batch", str, many=True, description="Only these batches."),
    OpenApiParameter("dataset", str, many=True, description="Only these data sets."),
    OpenApiParameter("system", str, many=True, description="Only pairs of this system, or of these two."),
    OpenApiParameter("judge", str, many=True, description="Only these judges."),
    OpenApiParameter("rater", str, many=True, description="Only these people, by their codes."),
    OpenApiParameter("stage", str, enum=Rating.Stage.values, description="People's votes of this stage."),
    OpenApiParameter("arm", str, many=True, description="Only people's HITs of these arms."),
    OpenApiParameter("with_excluded", bool, description="Include ratings that were excluded by hand."),
    OpenApiParameter("with_incomplete", bool, description="Include incomplete rating sets."),
    OpenApiParameter("question", str, description="Key of a question. Default: the main one."),
    OpenApiParameter(
        "two_way", bool, description="Intervals over instances and raters, for numbers of several raters."
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
    OpenApiParameter("similarity", str, description="Whose separability. Default: computed last."),
    OpenApiParameter("threshold", str, enum=THRESHOLDS, description="From where an alignment counts as high."),
    OpenApiParameter("question", str, description="Key of a question. Default: the main one."),
]
STABILITY_PARAMETERS = [
    parameter for parameter in SEPARABILITY_PARAMETERS if parameter.name not in ("threshold", "question")
]


class StudyViewSet(
    StudySetup,
    StudyCorrections,
    StudyImports,
    StudyJobs,
    StudyMembers,
    SeparabilitySetup,
    StudyInvitations,
    StudyPayments,
    StudyPlans,
    StudyFrozenPlan,
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

    @extend_schema(parameters=FINDINGS_PARAMETERS, responses={**COMPUTED, 304: UNCHANGED}, filters=False)
    @action(detail=True, pagination_class=None, parameters=FINDINGS_PARAMETERS)
    def findings(self, request: Request, slug: str) -> HttpResponse:
        """Return the findings of the study, as `manage.py findings --format json` prints them.

        Of a large study they are those that were computed last, at the time in `Last-Modified`; 503 before the first time.
        """
        _study, _filters, snapshot = self._snapshot(request)
        return _send(request, snapshot, partial(send_stored, snapshot))

    @extend_schema(parameters=FINDINGS_PARAMETERS, responses={**COMPUTED, 304: UNCHANGED}, filters=False)
    @action(detail=True, pagination_class=None, parameters=FINDINGS_PARAMETERS)
    def leaderboard(self, request: Request, slug: str) -> HttpResponse:
        """Return the ranks of the study's systems by rater and data set, and what would settle the next place. 503 as `findings`."""
        study, filters, snapshot = self._snapshot(request)
        return _send(request, snapshot, lambda: Response(leaderboard(study, filters, snapshot.numbers or {})))

    def _snapshot(self, request: Request) -> tuple[Study, Filters, Snapshot]:
        study: Study = self.get_object()
        filters = filters_of(study, request.query_params)
        return study, filters, snapshot_of(study, filters)

    @extend_schema(parameters=EFFECT_PARAMETERS, responses=COMPUTED, filters=False)
    @action(detail=True, pagination_class=None, parameters=EFFECT_PARAMETERS, url_path="table-effect")
    def table_effect(self, request: Request, slug: str) -> Response:
        """Return what comparison tables change, as `manage.py table_effect --format json` prints it."""
        study = self.get_object()
        return Response(table_effect(study, table_effect_filters(request.query_params)))

    @extend_schema(parameters=SEPARABILITY_PARAMETERS, responses=COMPUTED, filters=False)
    @action(detail=True, pagination_class=None, parameters=SEPARABILITY_PARAMETERS)
    def distinguishable(self, request: Request, slug: str) -> Response:
        """Return separability with scenarios and advice, as `manage.py separability_advice --format json` prints it."""
        study = self.get_object()
        return Response(distinguishable(study, separability_filters(study, request.query_params)))

    @extend_schema(parameters=STABILITY_PARAMETERS, responses=COMPUTED, filters=False)
    @action(detail=True, pagination_class=None, parameters=STABILITY_PARAMETERS)
    def stability(self, request: Request, slug: str) -> Response:
        """Return how far separability moves with fewer samples, as `manage.py separability_stability --format json` prints it."""
        study = self.get_object()
        return Response(stabilities(study, separability_filters(study, request.query_params)))


def _send(request: Request, snapshot: Snapshot, make: Callable[[], HttpResponse]) -> HttpResponse:
    return send_changed(request, snapshot, make) or Response({"detail": BEING_COMPUTED}, status=503, headers=RETRY)
