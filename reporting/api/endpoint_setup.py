"""Endpoints in the API: adding, changing and testing them, for site admins."""

from decimal import Decimal
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from annotation.api.bodies import read
from annotation.api.study_serializers import refusals
from judging.core.errors import BadSettings
from judging.endpoints.services import add_endpoint, edit_endpoint
from judging.endpoints.tasks import is_being_tested, queue_test
from judging.models import Endpoint
from reporting.api.serializers import EndpointSerializer

MOST_A_MINUTE = 2**31 - 1


def _price() -> serializers.DecimalField:
    """A field for a price per million tokens; null is unknown."""
    return serializers.DecimalField(
        max_digits=12, decimal_places=6, min_value=Decimal(0), required=False, allow_null=True
    )


def _a_minute() -> serializers.IntegerField:
    return serializers.IntegerField(required=False, allow_null=True, min_value=1, max_value=MOST_A_MINUTE)


class LimitsSerializer(serializers.Serializer[Any]):
    """The settings of an endpoint that may change: prices, limits, time-out, headers."""

    price_prompt = _price()
    price_completion = _price()
    currency = serializers.RegexField("^[A-Z]{3}$", required=False)
    batch_discount = serializers.FloatField(required=False, min_value=0, max_value=1)
    cached_discount = serializers.FloatField(required=False, min_value=0, max_value=1)
    requests_per_minute = _a_minute()
    tokens_per_minute = _a_minute()
    timeout_seconds = serializers.FloatField(required=False, min_value=0.1, max_value=86_400)
    headers: Any = serializers.DictField(
        child=serializers.CharField(max_length=500, allow_blank=True),
        required=False,
        help_text="No secrets: env:NAME as a value reads an environment variable.",
    )


class NewEndpointSerializer(LimitsSerializer):
    """An endpoint to be added."""

    name = serializers.SlugField(max_length=80)
    base_url = serializers.CharField(max_length=500)
    model = serializers.CharField(max_length=200)
    key_env = serializers.CharField(
        required=False, allow_blank=True, max_length=100, help_text="The environment variable that holds the key."
    )


class TestSerializer(serializers.Serializer[Any]):
    """The state of a test: whether one is queued or running; its results are the endpoint's `supports`."""

    pending = serializers.BooleanField()


class EndpointSetup(GenericViewSet[Any]):
    """Adding, changing and testing endpoints."""

    @extend_schema(
        request=NewEndpointSerializer,
        responses={200: EndpointSerializer, 201: EndpointSerializer, **refusals(409, 413, 422)},
    )
    def create(self, request: Request) -> Response:
        """Add an endpoint; adding the same again changes nothing."""
        endpoint, is_new = add_endpoint(**read(NewEndpointSerializer, request))
        code = status.HTTP_201_CREATED if is_new else status.HTTP_200_OK
        return Response(EndpointSerializer(endpoint).data, status=code)

    @extend_schema(request=LimitsSerializer, responses={200: EndpointSerializer, **refusals(409, 413, 422)})
    def partial_update(self, request: Request, name: str) -> Response:
        """Change an endpoint's prices, limits, time-out or headers. Stored costs keep the old prices."""
        endpoint: Endpoint = self.get_object()
        changes = read(LimitsSerializer, request)
        if not changes:
            raise BadSettings("name what is to be changed: a price, a limit, the time-out or headers")
        return Response(EndpointSerializer(edit_endpoint(endpoint=endpoint, **changes)).data)

    @extend_schema(request=None, responses={202: TestSerializer, **refusals()})
    @action(detail=True, methods=["post"])
    def test(self, request: Request, name: str) -> Response:
        """Have a worker test what an endpoint supports; nothing is queued while a test is under way."""
        endpoint: Endpoint = self.get_object()
        queue_test(endpoint=endpoint)
        return Response({"pending": is_being_tested(endpoint)}, status=status.HTTP_202_ACCEPTED)
