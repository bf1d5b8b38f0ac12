"""Batches in the API, by the services of the pages and commands."""

from datetime import timedelta
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, PolymorphicProxySerializer
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.annotators.messages import send_to_batch
from annotation.api.answers import answers, made, work
from annotation.api.bodies import Managed, body_of, needed_text, read_form, require_manager, schema_of, user_of
from annotation.api.pages import number_asked
from annotation.api.raters import MessageSerializer
from annotation.batches.forms import CopyBatch, CreateBatch, ExtendBatch, SetBatch
from annotation.batches.sampling import shown_selection
from annotation.batches.services import notices_of
from annotation.hits.idle import LEAST_MINUTES, idle_claims
from annotation.members.permissions import READERS, find_study
from annotation.models import Batch
from annotation.monitoring.batch_annotators import MOST_SORTED, raters_of
from annotation.monitoring.batch_status import batch_status, slots_of
from annotation.monitoring.forms import MOST_MINUTES, MessageForm, ReleaseIdleForm
from annotation.quality.exclusion import release_idle


class BatchSerializer(serializers.ModelSerializer[Batch]):
    """HITs published together."""

    study = serializers.CharField(source="study.slug", read_only=True)
    system_a = serializers.CharField(source="system_a.name", read_only=True)
    system_b = serializers.CharField(source="system_b.name", read_only=True)
    selection = serializers.SerializerMethodField()

    class Meta:
        model = Batch
        fields = "__all__"

    def get_selection(self, batch: Batch) -> dict[str, Any]:
        """Return how the instances were selected."""
        return shown_selection(batch.selection)


class ChangedBatchSerializer(BatchSerializer):
    """A batch after it was created or changed, with notices for its admin."""

    notices = serializers.SerializerMethodField()

    def get_notices(self, batch: Batch) -> list[str]:
        """Return the notices that the pages show."""
        return notices_of(batch)


class DesignSerializer(serializers.Serializer[Any]):
    """The batches of a design."""

    batches = ChangedBatchSerializer(many=True)


class BarSerializer(serializers.Serializer[Any]):
    """One bin of separability. That of undefined values has no bounds."""

    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    chosen = serializers.IntegerField()
    left = serializers.IntegerField()


class WorkSerializer(serializers.Serializer[Any]):
    """Workload. Null where it is unknown or unbounded. Money is text."""

    hits = serializers.IntegerField()
    pairs = serializers.IntegerField()
    ratings = serializers.IntegerField(allow_null=True)
    assignments = serializers.IntegerField(allow_null=True)
    hidden_checks = serializers.IntegerField(allow_null=True)
    raters_needed = serializers.IntegerField(allow_null=True)
    hours = serializers.FloatField(allow_null=True)
    pay = serializers.CharField(allow_null=True)
    fee = serializers.CharField(allow_null=True)
    cost = serializers.CharField(allow_null=True)
    currency = serializers.CharField(allow_null=True)


class ForecastSerializer(WorkSerializer):
    """The forecast of a batch."""

    seed = serializers.IntegerField()
    pool = serializers.IntegerField()
    chosen = serializers.IntegerField()
    left_out: Any = serializers.DictField(child=serializers.IntegerField())
    instance_ids: Any = serializers.ListField(child=serializers.CharField())
    by_systems: Any = serializers.DictField(
        child=serializers.IntegerField(), required=False, help_text="HITs, of a design."
    )
    similarity = serializers.CharField(allow_null=True)
    histogram = BarSerializer(many=True)


class ExtensionForecastSerializer(serializers.Serializer[Any]):
    """The forecast of an extension: by raters, by HITs, or null."""

    more_raters = WorkSerializer(allow_null=True)
    more_hits = ForecastSerializer(allow_null=True)


def _either(name: str, *others: Any) -> PolymorphicProxySerializer:
    """Return the description of an answer that is a batch, or one of others."""
    kinds = [ChangedBatchSerializer, *others]
    return PolymorphicProxySerializer(component_name=name, serializers=kinds, resource_type_field_name=None)


class BatchSetup(Managed):
    """Create, launch, pause, close, extend and copy batches."""

    def _response(self, batch: Batch, code: int = status.HTTP_200_OK) -> Response:
        return made(ChangedBatchSerializer(Batch.objects.get(pk=batch.pk)).data, "batch-detail", batch.pk, code)

    @answers(
        {200: _either("BatchOrForecast", DesignSerializer, ForecastSerializer), 201: ChangedBatchSerializer},
        body=schema_of(CreateBatch, "NewBatch", study=serializers.CharField(max_length=80)),
    )
    def create(self, request: Request) -> Response:
        """Create a batch, or those of a design. Repeating it changes nothing. `preview` returns a forecast."""
        body = body_of(request)
        study = find_study(request.user, needed_text(body, "study"), *READERS)
        require_manager(request.user, study)
        form = read_form(CreateBatch, body, study=study)
        if form.cleaned_data["preview"]:
            return Response(form.forecast().as_json)
        batches, created = form.run(by=user_of(request))
        code = status.HTTP_201_CREATED if created else status.HTTP_200_OK
        if form.asked_design:
            return Response(DesignSerializer({"batches": batches}).data, status=code)
        return self._response(batches[0], code)

    @work(
        _either("BatchOrDesign", DesignSerializer), body=schema_of(SetBatch, "Status"), methods=["post"], path="status"
    )
    def set_status(self, request: Request, pk: str) -> Response:
        """Launch, pause, close or reopen a batch, or change its stop rule; with `design` all of its design."""
        batch, form = self.managed(), read_form(SetBatch, body_of(request))
        batches = form.run(batch, by=user_of(request))
        if form.cleaned_data["design"]:
            return Response(DesignSerializer({"batches": batches}).data)
        return self._response(batch)

    @work(
        _either("BatchOrExtensionForecast", ExtensionForecastSerializer),
        body=schema_of(ExtendBatch, "Extension"),
        methods=["post"],
    )
    def extend(self, request: Request, pk: str) -> Response:
        """Give a batch more raters, further HITs, or both. With `preview`, return a forecast."""
        batch, form = self.managed(), read_form(ExtendBatch, body_of(request))
        if form.cleaned_data["preview"]:
            return Response(form.forecast(batch).as_json)
        return self._response(form.run(batch, by=user_of(request)))

    @work(ChangedBatchSerializer, 200, 201, body=schema_of(CopyBatch, "BatchCopy"), methods=["post"])
    def copy(self, request: Request, pk: str) -> Response:
        """Create a batch with the settings of this one, a draft by default."""
        batch = self.managed()
        copy, created = read_form(CopyBatch, body_of(request)).run(batch, by=user_of(request))
        return self._response(copy, status.HTTP_201_CREATED if created else status.HTTP_200_OK)


MINUTES = OpenApiParameter("minutes", int, description=f"Minimum minutes without activity. Default: {LEAST_MINUTES}.")


class CountSerializer(serializers.Serializer[Any]):
    """The number of changed rows."""

    count = serializers.IntegerField()


class IdleSerializer(serializers.Serializer[Any]):
    """A claim whose rater has not voted or opened a pair for some minutes."""

    assignment = serializers.CharField(source="assignment.key")
    annotator = serializers.CharField(source="assignment.annotator.code")
    minutes = serializers.IntegerField()


class BatchProgress(Managed):
    """Progress and raters of a batch."""

    @work()
    def progress(self, request: Request, pk: str) -> Response:
        """Return slots, ratings per pair and duplicates, as `manage.py batch_status --format json` prints them."""
        return Response(batch_status(self.get_object(), timezone.now()).as_json())

    @work()
    def raters(self, request: Request, pk: str) -> Response:
        """Return the batch's raters, by code: speed, sides, ties, checks, agreement, flags, pay due.

        Batches with more than half a million ratings are not `thorough`: without speed and agreement.
        """
        batch, now = self.get_object(), timezone.now()
        thorough = slots_of(batch, now).filled * batch.pairs_per_hit <= MOST_SORTED
        rows: list[dict[str, Any]] = [row.as_json() for row in raters_of(batch, now, thorough=thorough)]
        return Response({"raters": rows, "thorough": thorough})

    @work(CountSerializer, body=MessageSerializer, methods=["post"])
    def message(self, request: Request, pk: str) -> Response:
        """Send a message to all raters who have, or had, a HIT of the batch."""
        batch = self.managed()
        text = read_form(MessageForm, body_of(request)).cleaned_data["text"]
        return Response({"count": send_to_batch(batch=batch, text=text, by=user_of(request), at=timezone.now())})

    @work(IdleSerializer(many=True), parameters=[MINUTES])
    def idle(self, request: Request, pk: str) -> Response:
        """List the claims whose raters are idle, the longest first."""
        batch = self.managed()
        after = number_asked(request, "minutes", LEAST_MINUTES, minimum=LEAST_MINUTES, maximum=MOST_MINUTES)
        claims = idle_claims(batch, timezone.now(), timedelta(minutes=after))
        return Response(IdleSerializer(claims, many=True).data)

    @answers(CountSerializer, body=schema_of(ReleaseIdleForm, "ReleaseIdle"), parameters=[])
    @idle.mapping.post
    def release_idle(self, request: Request, pk: str) -> Response:
        """End the idle claims, so that others get the HITs."""
        batch, data = self.managed(), read_form(ReleaseIdleForm, body_of(request)).cleaned_data
        after = timedelta(minutes=data["minutes"])
        count = release_idle(batch=batch, after=after, reason=data["reason"], by=user_of(request), at=timezone.now())
        return Response({"count": count})
