"""Endpoints, judges, their runs and stress tests in the API: adding, estimating, starting and steering them, and results."""

from typing import Any, TypeVar

from drf_spectacular.utils import extend_schema_view
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from annotation.api.answers import MESSAGE, WithMessage, answers, made, work
from annotation.api.bodies import body_of, needed_text, read_form, schema_of, user_of
from annotation.members.permissions import READERS, find_study
from annotation.models import Study
from judging.core.errors import BadSettings
from judging.core.fields import AskingForm
from judging.core.visibility import judges_seen_by, prompt_files_seen_by
from judging.endpoints.forms import EndpointForm, LimitsForm
from judging.endpoints.services import add_endpoint, edit_endpoint
from judging.endpoints.tasks import is_being_tested, queue_test
from judging.models import Endpoint, JudgeAudit, JudgeRun
from judging.runs.forms import JudgeSettings, RunForm
from judging.runs.judges import add_judge
from judging.runs.reopening import queue_retry
from judging.runs.services import cancel_run, pause_run, resume_run, run_again
from judging.runs.status import report_on
from reporting.api.rows import StudyRows, by
from reporting.api.serializers import EndpointSerializer, JudgeRunSerializer, JudgeSerializer
from reporting.audits.forms import JudgeAuditForm
from reporting.audits.stress import stress_findings

A = TypeVar("A", bound=AskingForm)


class JudgeSetup(GenericViewSet[Any]):
    """Add judges; for researchers too."""

    @answers(JudgeSerializer, 200, 201, body=schema_of(JudgeSettings, "NewJudge", "A judge to be added."))
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


class RunSetup(GenericViewSet[Any]):
    """Estimate, start and control runs; for researchers too."""

    @answers(JudgeRunSerializer, 202, body=NewRunSerializer)
    def create(self, request: Request) -> Response:
        """Queue a run, new or again. A worker makes its calls."""
        return run_queued(read_asking(RunForm, request).queue())

    @work(EstimateSerializer, body=NewRunSerializer, detail=False, methods=["post"])
    def estimate(self, request: Request) -> Response:
        """Estimate a run's calls, tokens and cost. No call is made."""
        return Response(read_asking(RunForm, request).estimate().as_dict())

    @work(JudgeRunSerializer, refused=(409,), methods=["post"])
    def pause(self, request: Request, pk: str) -> Response:
        """Pause a run: calls under way end, no new one begins."""
        return Response(self._told(pause_run(run=self.get_object()).pk))

    @work(JudgeRunSerializer, refused=(409,), methods=["post"])
    def resume(self, request: Request, pk: str) -> Response:
        """Queue a run that was paused or stopped by an error."""
        return Response(self._told(resume_run(run=self.get_object()).pk))

    @work(JudgeRunSerializer, refused=(409,), methods=["post"])
    def cancel(self, request: Request, pk: str) -> Response:
        """Cancel a run. What was answered is kept."""
        return Response(self._told(cancel_run(run=self.get_object()).pk))

    @work(JudgeRunSerializer, refused=(409,), methods=["post"])
    def again(self, request: Request, pk: str) -> Response:
        """Start a run again with the same settings, for new pairs and for errors that may pass now."""
        return Response(self._told(run_again(run=self.get_object()).pk))

    @work(JudgeRunSerializer, refused=(409,), methods=["post"])
    def retry(self, request: Request, pk: str) -> Response:
        """Ask a finished run's errors again, also requests that were too long or stopped by a filter."""
        run = self.get_object()
        queue_retry(run=run, by=user_of(request))
        return Response(self._told(run.pk))

    @work()
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
    return made(JudgeRunSerializer(run).data, "judgerun-detail", run.pk, 202)


LimitsSerializer = schema_of(
    LimitsForm,
    "Limits",
    "The settings of an endpoint that may change: prices, limits, time-out, headers.",
    partial=True,
)


class TestSerializer(serializers.Serializer[Any]):
    """The state of a test: whether one is queued or running. Its results are the endpoint's `supports`."""

    pending = serializers.BooleanField()


class EndpointSetup(GenericViewSet[Any]):
    """Add, change and test endpoints."""

    @answers(EndpointSerializer, 200, 201, body=schema_of(EndpointForm, "NewEndpoint", "An endpoint to be added."))
    def create(self, request: Request) -> Response:
        """Add an endpoint. Adding the same again changes nothing."""
        body = body_of(request)
        endpoint, is_new = add_endpoint(**read_form(EndpointForm, body).named_in(body))
        code = status.HTTP_201_CREATED if is_new else status.HTTP_200_OK
        return Response(EndpointSerializer(endpoint).data, status=code)

    @answers(EndpointSerializer, body=LimitsSerializer)
    def partial_update(self, request: Request, name: str) -> Response:
        """Change an endpoint's prices, limits, time-out or headers. Stored costs keep the old prices."""
        endpoint: Endpoint = self.get_object()
        body = body_of(request)
        changes = read_form(LimitsForm, body).named_in(body)
        if not changes:
            raise BadSettings("give a price, a limit, the time-out or headers to change")
        return Response(EndpointSerializer(edit_endpoint(endpoint=endpoint, **changes)).data)

    @work(TestSerializer, 202, methods=["post"])
    def test(self, request: Request, name: str) -> Response:
        """Have a worker test what an endpoint supports. Nothing is queued while a test is under way."""
        endpoint: Endpoint = self.get_object()
        queue_test(endpoint=endpoint)
        return Response({"pending": is_being_tested(endpoint)}, status=status.HTTP_202_ACCEPTED)


NewAuditSerializer = schema_of(
    JudgeAuditForm,
    "NewAudit",
    "A stress test to be started, or resumed.",
    study=serializers.CharField(max_length=80),
)


class JudgeAuditSerializer(WithMessage, serializers.ModelSerializer[JudgeAudit]):
    """A stress test."""

    study = serializers.CharField(source="study.slug", read_only=True)
    judge = serializers.CharField(source="judge.name", read_only=True)
    question = serializers.SerializerMethodField(help_text="Its key.")
    changes = serializers.JSONField(read_only=True)

    class Meta:
        model = JudgeAudit
        fields = [
            *("id", "study", "judge", "question", "dataset", "pairs", "seed", "changes", "model"),
            *("calls", "cached", "cost", "currency", *MESSAGE, "created_at", "ended_at"),
        ]

    def get_question(self, audit: JudgeAudit) -> str:
        """Return the question's key."""
        return audit.study.questions[audit.question].key


class FoundAuditSerializer(JudgeAuditSerializer):
    """A stress test with its results, as `audit_judge --format json`."""

    found = serializers.SerializerMethodField()

    class Meta(JudgeAuditSerializer.Meta):
        fields = [*JudgeAuditSerializer.Meta.fields, "found"]

    def get_found(self, audit: JudgeAudit) -> dict[str, Any]:
        """Return what was found so far."""
        return stress_findings(audit)


@extend_schema_view(retrieve=answers(FoundAuditSerializer))
class AuditViewSet(StudyRows):
    """Stress tests of judges."""

    queryset = JudgeAudit.objects.select_related("study", "judge")
    serializer_class = JudgeAuditSerializer
    filterset_class = by(judge="judge__name")

    def get_serializer_class(self) -> type[JudgeAuditSerializer]:
        """Include what was found of a single audit only."""
        return FoundAuditSerializer if self.action == "retrieve" else JudgeAuditSerializer

    @answers(JudgeAuditSerializer, 202, body=NewAuditSerializer)
    def create(self, request: Request) -> Response:
        """Queue a stress test, or resume it. A worker asks the judge."""
        audit, _ = read_asking(JudgeAuditForm, request).queue()
        return made(JudgeAuditSerializer(audit).data, "judgeaudit-detail", audit.pk, 202)

    @work(EstimateSerializer, body=NewAuditSerializer, detail=False, methods=["post"])
    def estimate(self, request: Request) -> Response:
        """Estimate the calls, tokens and cost of an audit. No call is made."""
        return Response(read_asking(JudgeAuditForm, request).estimate().as_dict())
