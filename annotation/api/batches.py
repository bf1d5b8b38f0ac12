"""Batches in the API, by the services of the pages and commands."""

from typing import Any

from django.urls import reverse
from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from annotation.api.batch_serializers import (
    ChangedBatchSerializer,
    DesignSerializer,
    ExtensionForecastSerializer,
    ForecastSerializer,
)
from annotation.api.bodies import body_of, needed_text, read_form, require_manager, schema_of, user_of
from annotation.api.study_serializers import refusals
from annotation.batches.forms import CopyBatch, CreateBatch, ExtendBatch, SetBatch
from annotation.members.permissions import READERS, find_study
from annotation.models import Batch, Study

_MADE = PolymorphicProxySerializer(
    component_name="BatchOrForecast",
    serializers=[ChangedBatchSerializer, DesignSerializer, ForecastSerializer],
    resource_type_field_name=None,
)
_CHANGED = PolymorphicProxySerializer(
    component_name="BatchOrDesign",
    serializers=[ChangedBatchSerializer, DesignSerializer],
    resource_type_field_name=None,
)
_EXTENDED = PolymorphicProxySerializer(
    component_name="BatchOrExtensionForecast",
    serializers=[ChangedBatchSerializer, ExtensionForecastSerializer],
    resource_type_field_name=None,
)


class BatchSetup(GenericViewSet[Any]):
    """Create, launch, pause, close, extend and copy batches."""

    def _managed(self) -> Batch:
        """Return the batch to a study admin, else raise 403 for readers and 404 for others."""
        batch: Batch = self.get_object()
        require_manager(self.request.user, batch.study)
        return batch

    def _managed_study(self, slug: str) -> Study:
        study = find_study(self.request.user, slug, *READERS)
        require_manager(self.request.user, study)
        return study

    def _response(self, batch: Batch, code: int = status.HTTP_200_OK) -> Response:
        where = {"Location": reverse("api:batch-detail", args=[batch.pk])} if code == status.HTTP_201_CREATED else None
        return Response(ChangedBatchSerializer(Batch.objects.get(pk=batch.pk)).data, status=code, headers=where)

    @extend_schema(
        request=schema_of(CreateBatch, "NewBatch", study=serializers.CharField(max_length=80)),
        responses={200: _MADE, 201: ChangedBatchSerializer, **refusals(409, 413, 422)},
    )
    def create(self, request: Request) -> Response:
        """Create a batch, or those of a design. Repeating it changes nothing. `preview` returns a forecast."""
        body = body_of(request)
        form = read_form(CreateBatch, body, study=self._managed_study(needed_text(body, "study")))
        if form.cleaned_data["preview"]:
            return Response(form.forecast().as_json)
        batches, created = form.run(by=user_of(request))
        code = status.HTTP_201_CREATED if created else status.HTTP_200_OK
        if form.asked_design:
            return Response(DesignSerializer({"batches": batches}).data, status=code)
        return self._response(batches[0], code)

    @extend_schema(
        request=schema_of(SetBatch, "Status"),
        responses={200: _CHANGED, **refusals(409, 413, 422)},
    )
    @action(detail=True, methods=["post"], url_path="status")
    def set_status(self, request: Request, pk: str) -> Response:
        """Launch, pause, close or reopen a batch, or change its stop rule; with `design` all of its design."""
        batch = self._managed()
        form = read_form(SetBatch, body_of(request))
        batches = form.run(batch, by=user_of(request))
        if form.cleaned_data["design"]:
            return Response(DesignSerializer({"batches": batches}).data)
        return self._response(batch)

    @extend_schema(request=schema_of(ExtendBatch, "Extension"), responses={200: _EXTENDED, **refusals(409, 413, 422)})
    @action(detail=True, methods=["post"])
    def extend(self, request: Request, pk: str) -> Response:
        """Give a batch more raters, further HITs, or both. With `preview`, return a forecast."""
        batch = self._managed()
        form = read_form(ExtendBatch, body_of(request))
        if form.cleaned_data["preview"]:
            return Response(form.forecast(batch).as_json)
        return self._response(form.run(batch, by=user_of(request)))

    @extend_schema(
        request=schema_of(CopyBatch, "BatchCopy"),
        responses={200: ChangedBatchSerializer, 201: ChangedBatchSerializer, **refusals(409, 413, 422)},
    )
    @action(detail=True, methods=["post"])
    def copy(self, request: Request, pk: str) -> Response:
        """Create a batch with the settings of this one, a draft by default."""
        batch = self._managed()
        copy, created = read_form(CopyBatch, body_of(request)).run(batch, by=user_of(request))
        return self._response(copy, status.HTTP_201_CREATED if created else status.HTTP_200_OK)
