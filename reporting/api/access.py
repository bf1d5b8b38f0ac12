"""Permissions of the API: readers of a study see its rows, and no others."""

from collections.abc import Iterable
from typing import Any

from django.db.models import Model, Q, QuerySet
from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from annotation.members.permissions import READERS, has_any_role, is_site_admin
from annotation.models import (
    Alignment,
    Annotator,
    ApiToken,
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
    SeparabilityRun,
    Study,
    System,
    VoteChange,
)
from judging.models import Completion, JudgeAudit, JudgeRun, Judgment

# Lookup from a row to its study. A completion may serve several studies, and is visible with any of them.
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
    Channel: "study",
    ComparisonTable: "study",
    JudgeRun: "study",
    Judgment: "run__study",
    JudgeAudit: "study",
    Completion: "judgments__run__study",
}
# Lookup from a row to its annotator: rows of annotators who withdrew consent are in no list.
ANNOTATOR_PATHS: dict[type[Model], str] = {
    Annotator: "",
    Assignment: "annotator__",
    Rating: "display__assignment__annotator__",
    VoteChange: "display__assignment__annotator__",
    Flag: "display__assignment__annotator__",
}


class InScope(BasePermission):
    """Requests within the scopes of their token. A session has all."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """Refuse a token that lacks the scope, naming it."""
        if isinstance(request.auth, ApiToken):
            needed = view.read_scope if request.method in SAFE_METHODS else view.write_scope
            if needed not in request.auth.scopes:
                message = f"This token lacks the scope {needed}; create one that has it on /api/v1/token/."
                raise PermissionDenied(message)
        return True


class IsReader(BasePermission):
    """Researchers and study admins of any study, and site admins. Annotators are refused."""

    message = "only researchers and admins may use the API"

    def has_permission(self, request: Request, view: APIView) -> bool:
        """Tell whether the user may read any study. The querysets restrict the rows."""
        return bool(request.user.is_authenticated) and has_any_role(request.user, *READERS)


class IsUnlimited(BasePermission):
    """No token that is limited to some studies."""

    message = "this token is limited to some studies, and opens no group"

    def has_permission(self, request: Request, view: APIView) -> bool:
        """Tell whether the user's roles are all that limits the request."""
        return getattr(request.user, "limited_to", None) is None


class IsSiteAdmin(BasePermission):
    """Site admins only, and no token that is limited to some studies."""

    message = "only site admins may see endpoints"

    def has_permission(self, request: Request, view: APIView) -> bool:
        """Tell whether the user is a site admin."""
        return is_site_admin(request.user)


def visible_to(user: Any, rows: QuerySet[Any]) -> QuerySet[Any]:
    """Keep the rows of the studies that `user` may read, without those of annotators who withdrew."""
    if rows.model in ANNOTATOR_PATHS:
        rows = rows.filter(**{f"{ANNOTATOR_PATHS[rows.model]}withdrawn_at": None})
    studies = Study.objects.visible_to(user, *READERS).readable().order_by()
    return _in_studies(rows, Q(**{f"{STUDY_PATHS[rows.model]}__in": studies.values("pk")}))


def in_study(user: Any, rows: QuerySet[Any], slug: str) -> QuerySet[Any]:
    """Keep the rows of one study, or none when `user` may not read it."""
    study = Study.objects.visible_to(user, *READERS).order_by().filter(slug=slug)
    for row in study.only("slug", "merging"):
        row.refuse_reading()
    return _in_studies(rows, Q(**{f"{STUDY_PATHS[rows.model]}__in": study.values("pk")}))


def answers_to(rows: QuerySet[Any], studies: Iterable[Study], key: str) -> QuerySet[Any]:
    """Keep the answers to the question of this key, whose number may differ from study to study."""
    asking: dict[int, list[int]] = {}
    for study in studies:
        for question in study.questions:
            if question.key == key:
                asking.setdefault(question.number, []).append(study.pk)
    condition = Q(pk__in=[])
    for number, ids in asking.items():
        condition |= Q(question=number, **{f"{STUDY_PATHS[rows.model]}__in": ids})
    return rows.filter(condition)


def _in_studies(rows: QuerySet[Any], condition: Q) -> QuerySet[Any]:
    if rows.model is Completion:
        # A subquery, since a join would repeat a completion for each of its judgments.
        return rows.filter(pk__in=Completion.objects.filter(condition).order_by().values("pk"))
    return rows.filter(condition)
