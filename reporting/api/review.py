"""One judgment in the API: the messages that were sent with their readings, and marks on its rationale."""

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from annotation.api.bodies import read, user_of
from annotation.api.study_serializers import refusals
from judging.models import Judgment
from judging.review.marks import LONGEST_NOTE, mark_rationale, remove_mark
from judging.review.replaying import replay
from reporting.api.rows import COMPUTED, WORK


class MarkSerializer(serializers.Serializer[Any]):
    """True if a rationale is sound, whatever the verdict."""

    sound = serializers.BooleanField()
    note = serializers.CharField(required=False, default="", allow_blank=True, max_length=LONGEST_NOTE)


class JudgmentReview(GenericViewSet[Any]):
    """A judgment's steps, and researchers' marks of it."""

    @extend_schema(responses=COMPUTED, filters=False)
    @action(**WORK)
    def replay(self, request: Request, pk: str) -> Response:
        """Return each answer behind a judgment, with the messages of its call and its present reading."""
        judgment: Judgment = self.get_object()
        steps = [
            {
                "completion": step.completion.cache_key,
                "messages": list(step.messages),
                "settings": step.settings,
                "text": step.completion.text,
                "status": step.status,
                "value": step.value,
                "attempt": step.attempt,
                "before": step.before,
            }
            for step in replay(judgment).steps
        ]
        return Response({"steps": steps})

    @extend_schema(request=MarkSerializer, responses={204: None, **refusals(409, 413, 422)})
    @action(**WORK, methods=["post"])
    def mark(self, request: Request, pk: str) -> Response:
        """Store the user's mark on a rationale, in place of an earlier one."""
        judgment: Judgment = self.get_object()
        body = read(MarkSerializer, request)
        mark_rationale(judgment=judgment, marker=user_of(request), at=timezone.now(), **body)
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=None, responses={204: None, **refusals()})
    @mark.mapping.delete
    def remove_mark(self, request: Request, pk: str) -> Response:
        """Take the user's mark back."""
        judgment: Judgment = self.get_object()
        remove_mark(judgment=judgment, marker=user_of(request))
        return Response(status=status.HTTP_204_NO_CONTENT)
