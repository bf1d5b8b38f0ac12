"""Progress of a batch in the API."""

from typing import Any

from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from annotation.api.study_serializers import refusals
from annotation.monitoring.batch_annotators import MOST_SORTED, raters_of
from annotation.monitoring.batch_status import batch_status, slots_of


class BatchProgress(GenericViewSet[Any]):
    """Endpoints for a batch's progress and raters."""

    @extend_schema(responses={200: OpenApiTypes.OBJECT, **refusals()}, filters=False)
    @action(detail=True, pagination_class=None)
    def progress(self, request: Request, pk: str) -> Response:
        """Return slots, ratings per pair and duplicates, as `manage.py batch_status --format json` prints them."""
        return Response(batch_status(self.get_object(), timezone.now()).as_json())

    @extend_schema(responses={200: OpenApiTypes.OBJECT, **refusals()}, filters=False)
    @action(detail=True, pagination_class=None)
    def raters(self, request: Request, pk: str) -> Response:
        """Return the batch's raters, by code: speed, sides, ties, checks, agreement, flags, pay due.

        Batches with more than half a million ratings are not `thorough`: without speed and agreement.
        """
        batch, now = self.get_object(), timezone.now()
        thorough = slots_of(batch, now).filled * batch.pairs_per_hit <= MOST_SORTED
        rows: list[dict[str, Any]] = [row.as_json() for row in raters_of(batch, now, thorough=thorough)]
        return Response({"raters": rows, "thorough": thorough})
