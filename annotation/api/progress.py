"""A batch at work in the API: its progress and raters, messages to them, and idle claims."""

from datetime import timedelta
from typing import Any

from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from annotation.annotators.messages import send_to_batch
from annotation.api.bodies import body_of, read_form, require_manager, schema_of, user_of
from annotation.api.pages import number_asked
from annotation.api.raters import MessageSerializer
from annotation.api.study_serializers import refusals
from annotation.hits.idle import LEAST_MINUTES, idle_claims
from annotation.models import Batch
from annotation.monitoring.batch_annotators import MOST_SORTED, raters_of
from annotation.monitoring.batch_status import batch_status, slots_of
from annotation.monitoring.forms import MOST_MINUTES, MessageForm, ReleaseIdleForm
from annotation.quality.exclusion import release_idle

MINUTES = OpenApiParameter("minutes", int, description=f"Minimum minutes without activity. Default: {LEAST_MINUTES}.")


class CountSerializer(serializers.Serializer[Any]):
    """The number of changed rows."""

    count = serializers.IntegerField()


class IdleSerializer(serializers.Serializer[Any]):
    """A claim whose rater has not voted or opened a pair for some minutes."""

    assignment = serializers.CharField(source="assignment.key")
    annotator = serializers.CharField(source="assignment.annotator.code")
    minutes = serializers.IntegerField()


class BatchProgress(GenericViewSet[Any]):
    """Progress and raters of a batch."""

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

    @extend_schema(request=MessageSerializer, responses={200: CountSerializer, **refusals(409, 413, 422)})
    @action(detail=True, methods=["post"], pagination_class=None)
    def message(self, request: Request, pk: str) -> Response:
        """Send a message to all raters who have, or had, a HIT of the batch."""
        batch = self._of_admin()
        text = read_form(MessageForm, body_of(request)).cleaned_data["text"]
        return Response({"count": send_to_batch(batch=batch, text=text, by=user_of(request), at=timezone.now())})

    @extend_schema(parameters=[MINUTES], responses={200: IdleSerializer(many=True), **refusals()}, filters=False)
    @action(detail=True, pagination_class=None, filter_backends=[], parameters=[MINUTES])
    def idle(self, request: Request, pk: str) -> Response:
        """List the claims whose raters are idle, the longest first."""
        batch = self._of_admin()
        after = number_asked(request, "minutes", LEAST_MINUTES, minimum=LEAST_MINUTES, maximum=MOST_MINUTES)
        claims = idle_claims(batch, timezone.now(), timedelta(minutes=after))
        return Response(IdleSerializer(claims, many=True).data)

    @extend_schema(
        request=schema_of(ReleaseIdleForm, "ReleaseIdle"),
        parameters=[],
        responses={200: CountSerializer, **refusals(409, 413, 422)},
    )
    @idle.mapping.post
    def release_idle(self, request: Request, pk: str) -> Response:
        """End the idle claims, so that others get the HITs."""
        batch, data = self._of_admin(), read_form(ReleaseIdleForm, body_of(request)).cleaned_data
        after = timedelta(minutes=data["minutes"])
        count = release_idle(batch=batch, after=after, reason=data["reason"], by=user_of(request), at=timezone.now())
        return Response({"count": count})

    def _of_admin(self) -> Batch:
        """Return the batch to a study admin, else raise 403 for readers and 404 for others."""
        batch: Batch = self.get_object()
        require_manager(self.request.user, batch.study)
        return batch
