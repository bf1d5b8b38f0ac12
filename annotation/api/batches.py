"""Batches in the API, by the services of the pages and commands."""

from decimal import Decimal
from typing import Any, cast

from django.urls import reverse
from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from annotation.api.batch_serializers import (
    BatchCopySerializer,
    ChangedBatchSerializer,
    DesignSerializer,
    ExtensionForecastSerializer,
    ExtensionSerializer,
    ForecastSerializer,
    NewBatchSerializer,
    StatusSerializer,
)
from annotation.api.bodies import read, require_manager, user_of
from annotation.api.study_serializers import refusals
from annotation.batches.changes import copy_batch, extend_batch
from annotation.batches.designs import create_design, design_forecast, design_of, set_design_status
from annotation.batches.forecast import extension_forecast, forecast
from annotation.batches.sampling import BatchSpec, SelectionSpec
from annotation.batches.services import create_batch, set_batch_status
from annotation.core.errors import BadFields
from annotation.core.keys import new_seed
from annotation.members.permissions import READERS, find_study
from annotation.models import Batch, Study
from annotation.studies.configurations import configuration, configuration_of_dataset
from annotation.studies.presets import batch_defaults

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
    """Endpoints that make, launch, pause, close, extend and copy batches."""

    def _managed(self) -> Batch:
        """Return the batch to a study admin; 403 for readers, 404 for others."""
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
        request=NewBatchSerializer, responses={200: _MADE, 201: ChangedBatchSerializer, **refusals(409, 413, 422)}
    )
    def create(self, request: Request) -> Response:
        """Make a batch, or those of a design; making the same again changes nothing. With `preview`, return a forecast."""
        data = read(NewBatchSerializer, request)
        study = self._managed_study(data.pop("study"))
        plan = batch_defaults(study)
        selection = _pop_selection(data, plan.select)
        data = {"pairs": plan.pairs, "raters": plan.raters, **data}
        fee, first_status, name = data.pop("fee_percent", Decimal(0)), data.pop("status"), data.pop("name", None)
        if ("design" in data) == ("systems" in data):
            raise BadFields({"systems": ["Name two systems, or a design over all of them."]})
        if not (name or data["preview"]):
            raise BadFields({"name": ["This field is required."]})
        if design := data.pop("design", None):
            spec = _design_spec(study, selection, data)
            if data["preview"]:
                return Response(design_forecast(spec, design, fee_percent=fee).as_json)
            drawn = data.get("seed") is None
            batches, made = create_design(
                spec=spec, design=design, name=name, status=first_status, by=user_of(request), drawn=drawn
            )
            code = status.HTTP_201_CREATED if made else status.HTTP_200_OK
            return Response(DesignSerializer({"batches": batches}).data, status=code)
        systems = cast("tuple[str, str]", tuple(data.pop("systems")))
        if data.pop("preview"):
            found = configuration(study, dataset=data.pop("dataset"), systems=systems)
            seed = data.pop("seed", None)
            spec = BatchSpec(found, seed=new_seed() if seed is None else seed, selection=selection, **data)
            return Response(forecast(spec, fee_percent=fee).as_json)
        batch, made = create_batch(
            study=study,
            name=name,
            status=first_status,
            by=user_of(request),
            systems=systems,
            **selection.arguments,
            **data,
        )
        return self._response(batch, status.HTTP_201_CREATED if made else status.HTTP_200_OK)

    @extend_schema(request=StatusSerializer, responses={200: _CHANGED, **refusals(409, 413, 422)})
    @action(detail=True, methods=["post"], url_path="status")
    def set_status(self, request: Request, pk: str) -> Response:
        """Launch a batch, pause it, close it, or open it again; with `design`, all of its design."""
        batch, data = self._managed(), read(StatusSerializer, request)
        if data.pop("design"):
            batches = set_design_status(study=batch.study, name=design_of(batch), by=user_of(request), **data)
            return Response(DesignSerializer({"batches": batches}).data)
        set_batch_status(batch=batch, by=user_of(request), **data)
        return self._response(batch)

    @extend_schema(request=ExtensionSerializer, responses={200: _EXTENDED, **refusals(409, 413, 422)})
    @action(detail=True, methods=["post"])
    def extend(self, request: Request, pk: str) -> Response:
        """Give a batch more raters, further HITs, or both. With `preview`, return a forecast."""
        batch = self._managed()
        data = read(ExtensionSerializer, request)
        selection = _pop_selection(data, "all") if "select" in data or "instance_ids" in data else None
        fee, seed = data.pop("fee_percent", Decimal(0)), data.pop("seed", None)
        if data.pop("preview"):
            found = extension_forecast(batch, data["more_raters"], selection, seed, fee_percent=fee)
            return Response(found.as_json)
        data.pop("similarity", None)
        data = {"reason": "", **data, **(selection.arguments if selection else {})}
        return self._response(extend_batch(batch=batch, seed=seed, by=user_of(request), **data))

    @extend_schema(
        request=BatchCopySerializer,
        responses={200: ChangedBatchSerializer, 201: ChangedBatchSerializer, **refusals(409, 413, 422)},
    )
    @action(detail=True, methods=["post"])
    def copy(self, request: Request, pk: str) -> Response:
        """Make a batch with the settings of this one; a draft by default."""
        batch = self._managed()
        data = read(BatchCopySerializer, request)
        systems = data.pop("systems", None) or (batch.system_a.name, batch.system_b.name)
        dataset = data.pop("dataset", batch.dataset)
        found = configuration(batch.study, dataset=dataset, systems=cast("tuple[str, str]", tuple(systems)))
        copy, made = copy_batch(batch=batch, configuration=found, by=user_of(request), **data)
        return self._response(copy, status.HTTP_201_CREATED if made else status.HTTP_200_OK)


def _design_spec(study: Study, selection: SelectionSpec, data: dict[str, Any]) -> BatchSpec:
    seed = data.get("seed")
    settings = {name: value for name, value in data.items() if name not in ("dataset", "seed", "preview")}
    found = configuration_of_dataset(study, data["dataset"])
    return BatchSpec(found, seed=new_seed() if seed is None else seed, selection=selection, **settings)


def _pop_selection(data: dict[str, Any], default: str) -> SelectionSpec:
    """Take the selection out of a request's data; a list of ids without `select` selects these."""
    ids = data.pop("instance_ids", [])
    select = data.pop("select", None) or ("ids" if ids else default)
    return SelectionSpec(select, tuple(dict.fromkeys(ids)), data.pop("similarity", None))
