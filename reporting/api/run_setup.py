"""Endpoints, judges and runs in the API: adding judges, estimating, starting and steering runs, and their progress."""

from decimal import Decimal
from typing import Any, cast

from django.contrib.auth.models import User
from django.http import Http404
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from annotation.api.bodies import F, body_of, read, read_form, schema_of, texts_of
from annotation.api.study_serializers import refusals
from annotation.core.errors import BadFields
from annotation.members.permissions import READERS, find_study
from annotation.models import Study
from annotation.questions.questions import MAIN
from annotation.studies.questions import find_question
from judging.core.constants import MAX_IN_FLIGHT, MOST_SEED
from judging.core.errors import BadSettings
from judging.core.visibility import judges_seen_by, prompt_files_seen_by
from judging.endpoints.forms import EndpointForm, LimitsForm
from judging.endpoints.services import add_endpoint, edit_endpoint
from judging.endpoints.tasks import is_being_tested, queue_test
from judging.models import Endpoint, JudgeRun
from judging.runs.estimates import estimate
from judging.runs.forms import JudgeSettings
from judging.runs.judges import add_judge
from judging.runs.pair_filters import PairFilter
from judging.runs.provider_batches.files import MOST_REQUESTS
from judging.runs.reopening import queue_retry
from judging.runs.services import cancel_run, find_batch, pause_run, queue_run, resume_run, run_again
from judging.runs.status import report_on
from judging.wordings.prompt_files import VERSIONED
from reporting.api.serializers import EndpointSerializer, JudgeRunSerializer, JudgeSerializer

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


def find_prompt(user: Any, named: str) -> Any:
    match = VERSIONED.fullmatch(str(named))
    prompts = prompt_files_seen_by(user)
    prompt = prompts.filter(name=match["name"], version=int(match["version"])).first() if match else None
    if prompt is None:
        raise BadFields({"prompt_file": [f"There is no prompt file {named}."]})
    return prompt


def read_judges_form(form: type[F], body: dict[str, Any], user: Any, study: Study) -> F:
    """Return a page's form about a study's judges as `read_form`. A request names prompts and the question.

    Raises: BadFields; UnknownName.
    """
    question = find_question(study, texts_of(body, "question")["question"]).number
    if question or len(study.questions) > 1:
        body["question"] = question
    if "wording" in body and body["wording"] is not None:
        body["wording"] = find_prompt(user, body["wording"]).pk
    if body.get("prompts"):
        body["prompts"] = [find_prompt(user, name).pk for name in body["prompts"]]
    return read_form(form, body, study=study, judges=judges_seen_by(user))


class PairsSerializer(serializers.Serializer[Any]):
    """The pairs of a study, of one batch, or of a part of either."""

    batch = serializers.CharField(required=False, max_length=200)
    dataset = serializers.CharField(required=False, default="", max_length=100)
    systems: Any = serializers.ListField(
        child=serializers.CharField(max_length=200), min_length=2, max_length=2, required=False
    )
    tags: Any = serializers.ListField(child=serializers.CharField(max_length=200), required=False)
    instances: Any = serializers.ListField(child=serializers.CharField(max_length=200), required=False)
    off_hits = serializers.BooleanField(required=False, default=False, help_text="Include pairs on no HIT.")
    limit = serializers.IntegerField(
        required=False, min_value=1, max_value=MOST_SEED, help_text="Most presentations this time."
    )


class AskingSerializer(serializers.Serializer[Any]):
    """Settings of calls, and their cost cap."""

    in_flight = serializers.IntegerField(required=False, min_value=1, max_value=MAX_IN_FLIGHT)
    max_cost = serializers.DecimalField(
        required=False, max_digits=12, decimal_places=6, min_value=Decimal(0), help_text="In the endpoint's currency."
    )


class JudgePairsSerializer(PairsSerializer):
    """A judge on the pairs of a study, of one batch, or of a part of either."""

    study = serializers.CharField(max_length=80)
    judge = serializers.CharField(max_length=80)
    questions: Any = serializers.ListField(
        child=serializers.CharField(max_length=80), required=False, min_length=1, help_text="Their keys; the main one."
    )
    way = serializers.ChoiceField(choices=JudgeRun.Way.choices, required=False, default=JudgeRun.Way.CALLS.value)


class NewRunSerializer(JudgePairsSerializer, AskingSerializer):
    """A run to be started."""

    batch_size = serializers.IntegerField(
        required=False, min_value=1, max_value=MOST_REQUESTS, help_text="Most requests in a provider's batch."
    )


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
        run = queue_run(**_arguments(request.user, read(NewRunSerializer, request)))
        where = {"Location": reverse("api:judgerun-detail", args=[run.pk])}
        return Response(self._told(run.pk), status=status.HTTP_202_ACCEPTED, headers=where)

    @extend_schema(
        request=JudgePairsSerializer, responses={200: EstimateSerializer, **refusals(409, 413, 422)}, filters=False
    )
    @action(detail=False, methods=["post"], pagination_class=None, filter_backends=[])
    def estimate(self, request: Request) -> Response:
        """Estimate a run's calls, tokens and cost. No call is made."""
        return Response(estimate(**_arguments(request.user, read(JudgePairsSerializer, request))).as_dict())

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


def _arguments(user: Any, data: dict[str, Any]) -> dict[str, Any]:
    """Return a request's values as arguments of the services.

    Raises: Http404 for a study or a judge that the user may not see; UnknownName.
    """
    study = find_study(user, data.pop("study"), *READERS)
    judge = judges_seen_by(user).select_related("prompt_file").filter(name=data["judge"]).first()
    if judge is None:
        raise Http404(f"no judge {data['judge']}")
    keys = data.pop("questions", ())
    return {
        **pairs_of(study, data),
        "study": study,
        "judge": judge,
        "questions": [find_question(study, key).number for key in keys] or [MAIN],
    }


def pairs_of(study: Study, data: dict[str, Any]) -> dict[str, Any]:
    """Return a request's values with its batch and its filter of pairs as services take them.

    Raises: BadFields; UnknownName.
    """
    data = dict(data)
    batch = data.pop("batch", None)
    narrowing: dict[str, Any] = {name: tuple(data.pop(name, ())) for name in ("systems", "tags", "instances")}
    only = PairFilter(dataset=data.pop("dataset"), off_hits=data.pop("off_hits"), **narrowing)
    if only.off_hits and batch:
        raise BadFields({"off_hits": ["All pairs of a batch are on its HITs: choose one of the two."]})
    return {**data, "batch": find_batch(study, batch) if batch else None, "only": only}


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
