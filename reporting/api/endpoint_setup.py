"""Endpoints in the API: adding, changing and testing them, for site admins."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from annotation.api.bodies import body_of, read_form, schema_of
from annotation.api.study_serializers import refusals
from judging.core.errors import BadSettings
from judging.endpoints.forms import EndpointForm, LimitsForm
from judging.endpoints.services import add_endpoint, edit_endpoint
from judging.endpoints.tasks import is_being_tested, queue_test
from judging.models import Endpoint
from reporting.api.serializers import EndpointSerializer

LimitsSerializer = schema_of(
    LimitsForm,
    "Limits",
    "The settings of an endpoint that may change: prices, limits, time-out, headers.",
    partial=True,
)
NewEndpointSerializer = schema_of(EndpointForm, "NewEndpoint", "An endpoint to be added.")


class TestSerializer(serializers.Serializer[Any]):
    """The state of a test: whether one is queued or running. Its results are the endpoint's `supports`."""

    pending = serializers.BooleanField()


class EndpointSetup(GenericViewSet[Any]):
    """Add, change and test endpoints."""

    @extend_schema(
        request=NewEndpointSerializer,
        responses={200: EndpointSerializer, 201: EndpointSerializer, **refusals(409, 413, 422)},
    )
    def create(self, request: Request) -> Response:
        """Add an endpoint. Adding the same again changes nothing."""
        body = body_of(request)
        endpoint, is_new = add_endpoint(**read_form(EndpointForm, body).named_in(body))
        code = status.HTTP_201_CREATED if is_new else status.HTTP_200_OK
        return Response(EndpointSerializer(endpoint).data, status=code)

    @extend_schema(request=LimitsSerializer, responses={200: EndpointSerializer, **refusals(409, 413, 422)})
    def partial_update(self, request: Request, name: str) -> Response:
        """Change an endpoint's prices, limits, time-out or headers. Stored costs keep the old prices."""
        endpoint: Endpoint = self.get_object()
        body = body_of(request)
        changes = read_form(LimitsForm, body).named_in(body)
        if not changes:
            raise BadSettings("give a price, a limit, the time-out or headers to change")
        return Response(EndpointSerializer(edit_endpoint(endpoint=endpoint, **changes)).data)

    @extend_schema(request=None, responses={202: TestSerializer, **refusals()})
    @action(detail=True, methods=["post"])
    def test(self, request: Request, name: str) -> Response:
        """Have a worker test what an endpoint supports. Nothing is queued while a test is under way."""
        endpoint: Endpoint = self.get_object()
        queue_test(endpoint=endpoint)
        return Response({"pending": is_being_tested(endpoint)}, status=status.HTTP_202_ACCEPTED)
