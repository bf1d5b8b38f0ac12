"""Endpoints, judges and runs in the API: adding judges, estimating, starting and steering runs, and their progress."""

from typing import Any, TypeVar, cast

from django.contrib.auth.models import User
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from annotation.api.bodies import body_of, needed_text, read_form, schema_of
from annotation.api.study_serializers import refusals
from annotation.members.permissions import READERS, find_study
from annotation.models import Study
from judging.core.errors import BadSettings
from judging.core.fields import AskingForm
from judging.core.visibility import judges_seen_by, prompt_files_seen_by
from judging.endpoints.forms import EndpointForm, LimitsForm
from judging.endpoints.services import add_endpoint, edit_endpoint
from judging.endpoints.tasks import is_being_tested, queue_test
from judging.models import Endpoint, JudgeRun
from judging.runs.forms import JudgeSettings, RunForm
from judging.runs.judges import add_judge
from judging.runs.reopening import queue_retry
from judging.runs.services import cancel_run, pause_run, resume_run, run_again
from judging.runs.status import report_on
from reporting.api.serializers import EndpointSerializer, JudgeRunSerializer, JudgeSerializer

A = TypeVar("A", bound=AskingForm)
NewJudgeSerializer = schema_of(JudgeSettings, "NewJudge", "A judge to be added.")


class JudgeSetup(GenericViewSet[Any]):
    """Add judges; for researchers too."""

    @extend_schema(
        request=NewJudgeSerializer,
        responses={200: JudgeSerializer, 201: JudgeSerializer, **refusals(409, 413, 422)},
    )
    def create(self, request: Request) -> Response:
        """Add a judge. Adding the same again changes nothing."""
        user = request.user
        prompts = prompt_files_seen_by(user)
        form = read_form(JudgeSettings, body_of(request), judges=judges_seen_by(user), prompts=prompts)
        judge, is_new = add_judge(**form.cleaned_data)
        return Response(JudgeSerializer(judge).data, status=status.HTTP_201_CREATED if is_new else status.HTTP_200_OK)


NewRunSerializer = schema_of(RunForm, "NewRun", "A run to be started.", study=serializers.CharField(max_length=80))


class CallKindSerializer(serializers.Serializer[Any]):
    """Calls of one kind in an estimate."""

    kind = serializers.CharField()
    calls = serializers.IntegerField()
    cached = serializers.IntegerField()
    prompt_tokens = serializers.IntegerField()
    completion_tokens = serializers.IntegerField()


class EstimateSerializer(serializers.Serializer[Any]):
    """The expected usage of a run. `cost` is null where the endpoint has no prices."""

    presentations = serializers.IntegerField()
    pending = serializers.IntegerField()
    calls = serializers.IntegerField()
    cached = serializers.IntegerField()
    prompt_tokens = serializers.IntegerField()
    completion_tokens = serializers.IntegerField()
    cost = serializers.FloatField(allow_null=True)
    currency = serializers.CharField(allow_blank=True)
    sampled = serializers.IntegerField()
    learned_from = serializers.IntegerField()
    tokens_by = serializers.CharField()
    spent = serializers.FloatField()
    kinds = CallKindSerializer(many=True)


_STEERED = {200: JudgeRunSerializer, **refusals(409)}


class RunSetup(GenericViewSet[Any]):
    """Estimate, start and control runs; for researchers too."""

    @extend_schema(request=NewRunSerializer, responses={202: JudgeRunSerializer, **refusals(409, 413, 422)})
    def create(self, request: Request) -> Response:
        """Queue a run, new or again. A worker makes its calls."""
        return run_queued(read_asking(RunForm, request).queue())

    @extend_schema(
        request=NewRunSerializer, responses={200: EstimateSerializer, **refusals(409, 413, 422)}, filters=False
    )
    @action(detail=False, methods=["post"], pagination_class=None, filter_backends=[])
    def estimate(self, request: Request) -> Response:
        """Estimate a run's calls, tokens and cost. No call is made."""
        return Response(read_asking(RunForm, request).estimate().as_dict())

    @extend_schema(request=None, responses=_STEERED)
    @action(detail=True, methods=["post"])
    def pause(self, request: Request, pk: str) -> Response:
        """Pause a run: calls under way end, no new one begins."""
        return Response(self._told(pause_run(run=self.get_object()).pk))

    @extend_schema(request=None, responses=_STEERED)
    @action(detail=True, methods=["post"])
    def resume(self, request: Request, pk: str) -> Response:
        """Queue a run that was paused or stopped by an error."""
        return Response(self._told(resume_run(run=self.get_object()).pk))

    @extend_schema(request=None, responses=_STEERED)
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, pk: str) -> Response:
        """Cancel a run. What was answered is kept."""
        return Response(self._told(cancel_run(run=self.get_object()).pk))

    @extend_schema(request=None, responses=_STEERED)
    @action(detail=True, methods=["post"])
    def again(self, request: Request, pk: str) -> Response:
        """Start a run again with the same settings, for new pairs and for errors that may pass now."""
        return Response(self._told(run_again(run=self.get_object()).pk))

    @extend_schema(request=None, responses=_STEERED)
    @action(detail=True, methods=["post"])
    def retry(self, request: Request, pk: str) -> Response:
        """Ask a finished run's errors again, also requests that were too long or stopped by a filter."""
        run = self.get_object()
        queue_retry(run=run, by=cast(User, request.user))
        return Response(self._told(run.pk))

    @extend_schema(responses={200: OpenApiTypes.OBJECT, **refusals()}, filters=False)
    @action(detail=True, pagination_class=None)
    def progress(self, request: Request, pk: str) -> Response:
        """Return outcomes, tokens and cost of a run, as `manage.py run_status --format json` prints them."""
        return Response(report_on([self.get_object()]))

    def _told(self, run_id: int) -> dict[str, Any]:
        return JudgeRunSerializer(self.get_queryset().get(pk=run_id)).data


def read_asking(form: type[A], request: Request, study: Study | None = None) -> A:
    """Return a request's form of work that asks a model, filled and valid. Without a study, the request names it.

    Raises: BadFields; Http404 for a study that the user may not see.
    """
    body = body_of(request)
    study = study or find_study(request.user, needed_text(body, "study"), *READERS)
    return read_form(form, body, study=study, judges=judges_seen_by(request.user))


def run_queued(run: JudgeRun) -> Response:
    """Return the response to a request that queued a run."""
    where = {"Location": reverse("api:judgerun-detail", args=[run.pk])}
    return Response(JudgeRunSerializer(run).data, status=status.HTTP_202_ACCEPTED, headers=where)


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
