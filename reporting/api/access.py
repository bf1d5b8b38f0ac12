"""Who may read what through the API: readers of a study, its rows; nobody learns of another study's."""

from typing import Any

from django.db.models import Model, Q, QuerySet
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from annotation.access import READERS, holds_any
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
from judging.models import Completion, JudgeRun, Judgment

# From a row to its study. A completion may serve several studies: it is seen with any of them.
STUDY_PATHS: dict[type[Model], str] = {
    System: "study",
    Instance: "study",
    Generation: "instance__study",
    Matchup: "instance__study",
    SeparabilityRun: "study",
    Alignment: "run__study",
    Pair: "matchup__instance__study",
    Batch: "study",
    Hit: "batch__study",
    Assignment: "hit__batch__study",
    Rating: "display__assignment__hit__batch__study",
    VoteChange: "display__assignment__hit__batch__study",
    Flag: "display__assignment__hit__batch__study",
    Annotator: "study",
    ComparisonTable: "study",
    JudgeRun: "study",
    Judgment: "run__study",
    Completion: "judgments__run__study",
}
# From a row of what somebody did to whoever did it: who took consent back is in none of the lists.
ANNOTATOR_PATHS: dict[type[Model], str] = {
    Annotator: "",
    Assignment: "annotator__",
    Rating: "display__assignment__annotator__",
    VoteChange: "display__assignment__annotator__",
    Flag: "display__assignment__annotator__",
}


class IsReader(BasePermission):
    """Researchers and study admins of any study, and site admins; annotators are refused."""

    message = "only researchers and admins may use the API"

    def has_permission(self, request: Request, view: APIView) -> bool:
        """Tell whether the user reads any study at all; which rows they see is the queryset's affair."""
        return bool(request.user.is_authenticated) and holds_any(request.user, *READERS)


class IsSiteAdmin(BasePermission):
    """Site admins only."""

    message = "only site admins may see endpoints"

    def has_permission(self, request: Request, view: APIView) -> bool:
        """Tell whether the user is a site admin."""
        return bool(request.user.is_superuser)


def seen_by(user: Any, rows: QuerySet[Any]) -> QuerySet[Any]:
    """Keep the rows of the studies that `user` may read; of people who have withdrawn, none."""
    if rows.model in ANNOTATOR_PATHS:
        rows = rows.filter(**{f"{ANNOTATOR_PATHS[rows.model]}withdrawn_at": None})
    studies = Study.objects.seen_by(user, *READERS).order_by()
    return _in_studies(rows, Q(**{f"{STUDY_PATHS[rows.model]}__in": studies.values("pk")}))


def in_study(user: Any, rows: QuerySet[Any], slug: str) -> QuerySet[Any]:
    """Keep the rows of one study; none when `user` may not read it.

    A completion serves every study that asked the same: its rows would tell who else did.
    """
    study = Study.objects.seen_by(user, *READERS).order_by().filter(slug=slug)
    return _in_studies(rows, Q(**{f"{STUDY_PATHS[rows.model]}__in": study.values("pk")}))


def _in_studies(rows: QuerySet[Any], condition: Q) -> QuerySet[Any]:
    if rows.model is Completion:
        # By a subquery: a join would list a completion once for every judgment that it answered.
        return rows.filter(pk__in=Completion.objects.filter(condition).order_by().values("pk"))
    return rows.filter(condition)
