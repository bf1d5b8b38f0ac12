"""The frozen plan of a study in the API."""

from typing import Any

from django.http import JsonResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from annotation.api.bodies import body_of, read_form, schema_of, user_of
from annotation.api.study_serializers import refusals
from annotation.models import Study
from annotation.planning.frozen_plans import frozen_plan
from judging.core.visibility import judges_seen_by
from reporting.planning.forms import FreezePlan, WithdrawPlan

NULLABLE = {"type": "object", "additionalProperties": {}, "nullable": True}


class StudyFrozenPlan(GenericViewSet[Any]):
    """Endpoints that show, freeze and withdraw a plan."""

    @extend_schema(responses={200: NULLABLE, **refusals()}, filters=False)
    @action(detail=True, url_path="frozen-plan", pagination_class=None, filter_backends=[])
    def frozen_plan(self, request: Request, slug: str) -> JsonResponse:
        """Return the frozen plan with its hash and time, or null."""
        plan = frozen_plan(self.get_object())
        return JsonResponse(plan.as_json() if plan else None, safe=False)

    @extend_schema(
        request=schema_of(FreezePlan, partial=True), responses={201: OpenApiTypes.OBJECT, **refusals(409, 413, 422)}
    )
    @frozen_plan.mapping.post
    def freeze_plan(self, request: Request, slug: str) -> Response:
        """Freeze a plan before the first vote. What is left out is the study's own."""
        study: Study = self.get_object()
        form = read_form(FreezePlan, body_of(request), study=study, judges=judges_seen_by(request.user))
        plan = form.run(by=user_of(request))
        return Response(plan.as_json(), status=status.HTTP_201_CREATED)

    @extend_schema(request=schema_of(WithdrawPlan), responses={204: None, **refusals(409, 413, 422)})
    @action(detail=True, methods=["post"], url_path="frozen-plan/withdraw", filter_backends=[])
    def withdraw_plan(self, request: Request, slug: str) -> Response:
        """Withdraw the frozen plan before the first vote."""
        study: Study = self.get_object()
        read_form(WithdrawPlan, body_of(request)).run(study, by=user_of(request))
        return Response(status=status.HTTP_204_NO_CONTENT)
