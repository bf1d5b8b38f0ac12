"""The common part of lists in the API: permissions, parameters and schema."""

from collections.abc import Collection
from typing import Any, TypeVar

from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework.request import Request
from rest_framework.viewsets import ReadOnlyModelViewSet

from annotation.api.pages import PAGED, refuse_unknown
from annotation.api.study_serializers import refusals
from annotation.models.tokens import Scope
from reporting.api import filters
from reporting.api.access import InScope, IsReader, visible_to
from reporting.api.sent_once import HEADER, done_once

View = TypeVar("View", bound=type[ReadOnlyModelViewSet[Any]])
KEY = r"[A-Za-z0-9_-]+"
REFUSALS = refusals()
WORK: dict[str, Any] = {"detail": True, "pagination_class": None, "filter_backends": []}  # an action on a row
COMPUTED: dict[Any, Any] = {200: OpenApiTypes.OBJECT, **refusals(409)}


def documented(view: View) -> View:
    """Add a viewset's responses, errors included, to the schema."""
    serializer: Any = view.serializer_class  # type: ignore[misc]
    return extend_schema_view(
        list=extend_schema(responses={200: serializer(many=True), **REFUSALS}),
        retrieve=extend_schema(responses={200: serializer, **REFUSALS}),
    )(view)


class Rows(ReadOnlyModelViewSet[Any]):
    """Rows as JSON. Unknown parameters are refused."""

    permission_classes: list[Any] = [IsReader, InScope]
    filterset_class: Any = None
    # Of an action: its parameters, and the scopes that a token needs for it.
    parameters: Collection[OpenApiParameter] = ()
    read_scope: str = Scope.READ
    write_scope: str = Scope.CONFIGURE
    keeps_answer = True  # for a request that is sent again
    paged = False  # as lists are
    post: Any

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.serializer_class is not None:
            documented(cls)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse unknown parameters of those who may ask, and do what they send again once."""
        super().initial(request, *args, **kwargs)
        if request.method == "POST" and (key := request.headers.get(HEADER)) is not None:
            self.post = done_once(request, key, self.post, keeps_answer=self.keeps_answer)
        listed = self.action == "list" and self.filterset_class is not None
        names = [*self.filterset_class.base_filters] if listed else [parameter.name for parameter in self.parameters]
        refuse_unknown(request, [*names, *(PAGED if self.action == "list" or self.paged else ())])


class StudyRows(Rows):
    """Rows of the studies that the user may read."""

    filterset_class: Any = filters.StudyFilter

    def get_queryset(self) -> QuerySet[Any]:
        """Return the rows that this user may see, in a fixed order for pagination."""
        return visible_to(self.request.user, super().get_queryset()).order_by("pk")
