"""Batches through the API: what the pages and commands do, by the same services."""

from decimal import Decimal
from typing import Any, cast

from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.urls import reverse
from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from annotation.access import MANAGERS, READERS
from annotation.api.batch_serializers import (
    BatchCopySerializer,
    BatchSerializer,
    ExtensionForecastSerializer,
    ExtensionSerializer,
    ForecastSerializer,
    NewBatchSerializer,
    StatusSerializer,
)
from annotation.api.bodies import read, user_of
from annotation.api.study_serializers import refusals
from annotation.configurations import configuration
from annotation.errors import BadFields
from annotation.forecast import extension_forecast, forecast
from annotation.keys import new_seed
from annotation.models import Batch, Study
from annotation.services.batch_changes import copy_batch, extend_batch
from annotation.services.batches import create_batch, set_batch_status
from annotation.services.choosing import Asked, Wanted
from annotation.study_templates import batch_plan

_MADE = PolymorphicProxySerializer(
    component_name="BatchOrForecast", serializers=[BatchSerializer, ForecastSerializer], resource_type_field_name=None
)
_EXTENDED = PolymorphicProxySerializer(
    component_name="BatchOrExtensionForecast",
    serializers=[BatchSerializer, ExtensionForecastSerializer],
    resource_type_field_name=None,
)


class BatchSetup(GenericViewSet):
    """Making batches, launching, pausing, closing, extending and copying them."""

    def _managed(self) -> Batch:
        """Return the batch if this user is a study admin of its study; a reader is refused, a stranger finds nothing."""
        batch: Batch = self.get_object()
        if not Study.objects.seen_by(self.request.user, *MANAGERS).filter(pk=batch.study_id).exists():
            raise PermissionDenied("only study admins may change batches")
        return batch

    def _managed_study(self, slug: str) -> Study:
        study = Study.objects.seen_by(self.request.user, *READERS).filter(slug=slug).first()
        if study is None:
            raise Http404(f"no study {slug}")
        if not Study.objects.seen_by(self.request.user, *MANAGERS).filter(pk=study.pk).exists():
            raise PermissionDenied("only study admins may make batches")
        return study

    def _shown(self, batch: Batch, code: int = status.HTTP_200_OK) -> Response:
        where = {"Location": reverse("api:batch-detail", args=[batch.pk])} if code == status.HTTP_201_CREATED else None
        return Response(BatchSerializer(Batch.objects.get(pk=batch.pk)).data, status=code, headers=where)

    @extend_schema(request=NewBatchSerializer, responses={200: _MADE, 201: BatchSerializer, **refusals(409, 413, 422)})
    def create(self, request: Request) -> Response:
        """Make a batch; asking for the same again changes nothing. With `preview`, say what it would be."""
        asked = read(NewBatchSerializer, request)
        study = self._managed_study(asked.pop("study"))
        plan = batch_plan(study)
        chosen = _choice(asked, plan.select)
        asked = {"pairs": plan.pairs, "raters": plan.raters, **asked}
        fee, first_status, name = asked.pop("fee_percent", Decimal(0)), asked.pop("status"), asked.pop("name", None)
        systems = cast("tuple[str, str]", tuple(asked.pop("systems")))
        if asked.pop("preview"):
            found = configuration(study, dataset=asked.pop("dataset"), systems=systems)
            seed = asked.pop("seed", None)
            wanted = Wanted(found, seed=new_seed() if seed is None else seed, asked=chosen, **asked)
            return Response(forecast(wanted, fee_percent=fee).as_json)
        if not name:
            raise BadFields({"name": ["This field is required."]})
        batch, made = create_batch(
            study=study, name=name, status=first_status, by=user_of(request), systems=systems, **_named(chosen), **asked
        )
        return self._shown(batch, status.HTTP_201_CREATED if made else status.HTTP_200_OK)

    @extend_schema(request=StatusSerializer, responses={200: BatchSerializer, **refusals(409, 413, 422)})
    @action(detail=True, methods=["post"], url_path="status")
    def set_status(self, request: Request, pk: str) -> Response:
        """Launch a batch, pause it, close it, or open it again."""
        batch = self._managed()
        set_batch_status(batch=batch, by=user_of(request), **read(StatusSerializer, request))
        return self._shown(batch)

    @extend_schema(request=ExtensionSerializer, responses={200: _EXTENDED, **refusals(409, 413, 422)})
    @action(detail=True, methods=["post"])
    def extend(self, request: Request, pk: str) -> Response:
        """Give a batch more raters, further HITs, or both. With `preview`, say what that would be."""
        batch = self._managed()
        asked = read(ExtensionSerializer, request)
        has_choice = "select" in asked or "instance_ids" in asked
        chosen = _choice(asked, "all") if has_choice else None
        fee, seed = asked.pop("fee_percent", Decimal(0)), asked.pop("seed", None)
        if asked.pop("preview"):
            found = extension_forecast(batch, asked["more_raters"], chosen, seed, fee_percent=fee)
            return Response(found.as_json)
        asked.pop("similarity", None)
        asked = {"reason": "", **asked, **(_named(chosen) if chosen else {})}
        return self._shown(extend_batch(batch=batch, seed=seed, by=user_of(request), **asked))

    @extend_schema(
        request=BatchCopySerializer,
        responses={200: BatchSerializer, 201: BatchSerializer, **refusals(409, 413, 422)},
    )
    @action(detail=True, methods=["post"])
    def copy(self, request: Request, pk: str) -> Response:
        """Make a batch after the pattern of this one, a draft unless told otherwise."""
        batch = self._managed()
        asked = read(BatchCopySerializer, request)
        systems = asked.pop("systems", None) or (batch.system_a.name, batch.system_b.name)
        dataset = asked.pop("dataset", batch.dataset)
        found = configuration(batch.study, dataset=dataset, systems=cast("tuple[str, str]", tuple(systems)))
        copy, made = copy_batch(batch=batch, configuration=found, by=user_of(request), **asked)
        return self._shown(copy, status.HTTP_201_CREATED if made else status.HTTP_200_OK)


def _choice(asked: dict[str, Any], otherwise: str) -> Asked:
    """Take the choice out of what was asked; a list of ids alone is one."""
    ids = asked.pop("instance_ids", [])
    select = asked.pop("select", None) or ("ids" if ids else otherwise)
    return Asked(select, tuple(dict.fromkeys(ids)), asked.pop("similarity", None))


def _named(chosen: Asked) -> dict[str, Any]:
    return {"select": chosen.spec, "instance_ids": chosen.instance_ids, "similarity": chosen.similarity}
