"""Aspects, comparison tables and sampling of texts in the API."""

from typing import Any

from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from annotation.api.bodies import body_of, read, read_form, schema_of, user_of
from annotation.api.study_serializers import refusals
from annotation.core.errors import BadFields
from annotation.models import Study
from annotation.models.jobs import Job
from judging.aspects.aspect_sets import current_aspects, edit_aspects, estimate_distilling, versions_of
from judging.aspects.forms import DistilForm
from judging.aspects.services import queue_distilling
from judging.aspects.text import as_dict as aspects_as_dict
from judging.core.constants import MOST_SEED
from judging.core.pricing import check_cap
from judging.endpoints.services import find_endpoint
from judging.generation.estimates import ON_A_PAGE, estimate_generating
from judging.generation.forms import GenerateForm
from judging.generation.instances import check_selection
from judging.generation.sampled_systems import as_dict, instances_with_texts, runs_of
from judging.generation.services import build_run, queue_generating
from judging.methods.options import MOST_BUDGET, MOST_SAMPLES, OFFLINE, ONLINE
from judging.methods.sc2.bracket import SCHEMES
from judging.models import AspectSet, Distillation
from judging.runs.estimates import estimate
from judging.tables.making import TableSettings, build_tables_judge, default_variant, start_tables
from reporting.api.rows import COMPUTED, WORK
from reporting.api.run_setup import AskingSerializer, EstimateSerializer, PairsSerializer, pairs_of
from reporting.api.serializers import JudgeRunSerializer

ESTIMATED: dict[Any, Any] = {200: OpenApiTypes.OBJECT, **refusals(409, 413, 422)}
QUEUED: dict[Any, Any] = {202: OpenApiTypes.OBJECT, **refusals(409, 413, 422)}
RUN_QUEUED: dict[Any, Any] = {202: JudgeRunSerializer, **refusals(409, 413, 422)}

DistilSerializer = schema_of(DistilForm, "Distil", "Aspects to be distilled from a study's texts.")
SamplingSerializer = schema_of(GenerateForm, "Sampling", "Texts of a system to be sampled.")


class NewAspectsSerializer(serializers.Serializer[Any]):
    """The next version of the aspects."""

    aspects: Any = serializers.ListField(child=serializers.CharField(), help_text="The most important one first.")
    seen = serializers.IntegerField(
        required=False, allow_null=True, default=None, min_value=0, max_value=MOST_SEED,
        help_text="The version that was edited; 0 for the task's own. Refused if there is a newer one.",
    )  # fmt: skip


class MakeTablesSerializer(PairsSerializer, AskingSerializer):
    """Comparison tables to create."""

    endpoint = serializers.CharField(max_length=80)
    samples = serializers.IntegerField(required=False, min_value=1, max_value=MOST_SAMPLES, help_text="Default: 8.")
    budget = serializers.IntegerField(
        required=False, min_value=2, max_value=MOST_BUDGET, help_text="Calls for each pair, in place of samples."
    )
    scheme = serializers.ChoiceField(choices=list(SCHEMES), required=False, default=next(iter(SCHEMES)))
    aspects = serializers.ChoiceField(
        choices=[OFFLINE, ONLINE], required=False, default=OFFLINE, help_text="The same for all pairs, or for each."
    )
    variant = serializers.CharField(required=False, default="", allow_blank=True, max_length=40)
    params: Any = serializers.DictField(required=False, default=dict)


class StudyMaterial(GenericViewSet[Any]):
    """Aspects, tables and texts of a study; for researchers too."""

    @extend_schema(responses=COMPUTED, filters=False)
    @action(**WORK)
    def aspects(self, request: Request, slug: str) -> Response:
        """Return the aspects that hold, their earlier versions, and the last distillation."""
        return Response(_aspects(self.get_object()))

    @extend_schema(request=NewAspectsSerializer, responses={201: OpenApiTypes.OBJECT, **ESTIMATED})
    @aspects.mapping.post
    def edit_aspects(self, request: Request, slug: str) -> Response:
        """Store a list as the next version. The list that holds already changes nothing (200)."""
        study: Study = self.get_object()
        version, is_new = edit_aspects(study, by=user_of(request).username, **read(NewAspectsSerializer, request))
        code = status.HTTP_201_CREATED if is_new else status.HTTP_200_OK
        return Response(aspects_as_dict(version), status=code)

    @extend_schema(request=DistilSerializer, responses=ESTIMATED, filters=False)
    @action(**WORK, methods=["post"], url_path="aspects/estimate")
    def estimate_aspects(self, request: Request, slug: str) -> Response:
        """Estimate the distillation. No call is made."""
        study: Study = self.get_object()
        cleaned = read_form(DistilForm, body_of(request)).cleaned_data
        cleaned.pop("max_cost")
        return Response(estimate_distilling(study, **cleaned).as_dict())

    @extend_schema(request=DistilSerializer, responses=QUEUED, filters=False)
    @action(**WORK, methods=["post"], url_path="aspects/distil")
    def distil_aspects(self, request: Request, slug: str) -> Response:
        """Have a worker distil the aspects. Nothing is queued while one works on it."""
        study: Study = self.get_object()
        cleaned = read_form(DistilForm, body_of(request)).cleaned_data
        queue_distilling(study, by=user_of(request).username, **cleaned)
        return Response(_aspects(study), status=status.HTTP_202_ACCEPTED)

    @extend_schema(request=MakeTablesSerializer, responses=RUN_QUEUED)
    @action(**WORK, methods=["post"], url_path="tables")
    def make_tables(self, request: Request, slug: str) -> Response:
        """Queue a run that makes comparison tables and publishes them under a variant."""
        study: Study = self.get_object()
        cleaned = _tables(study, read(MakeTablesSerializer, request))
        run = start_tables(study=study, queued=True, **cleaned)
        where = {"Location": reverse("api:judgerun-detail", args=[run.pk])}
        return Response(JudgeRunSerializer(run).data, status=status.HTTP_202_ACCEPTED, headers=where)

    @extend_schema(
        request=MakeTablesSerializer, responses={200: EstimateSerializer, **refusals(409, 413, 422)}, filters=False
    )
    @action(**WORK, methods=["post"], url_path="tables/estimate")
    def estimate_tables(self, request: Request, slug: str) -> Response:
        """Estimate what making comparison tables takes. No call is made."""
        study: Study = self.get_object()
        cleaned = _tables(study, read(MakeTablesSerializer, request))
        judge = build_tables_judge(endpoint=cleaned["endpoint"], settings=cleaned["settings"])
        where = {name: cleaned[name] for name in ("batch", "only", "limit") if name in cleaned}
        return Response(estimate(study=study, judge=judge, **where).as_dict())

    @extend_schema(responses=COMPUTED, filters=False)
    @action(**WORK)
    def sampling(self, request: Request, slug: str) -> Response:
        """List the systems whose texts are sampled, with their settings and progress."""
        return Response(_sampled(self.get_object()))

    @extend_schema(request=SamplingSerializer, responses=QUEUED)
    @sampling.mapping.post
    def sample_texts(self, request: Request, slug: str) -> Response:
        """Have a worker sample a system's texts. Nothing is queued while one works on it."""
        study: Study = self.get_object()
        cleaned = read_form(GenerateForm, body_of(request), study=study).cleaned_data
        settings = {name: cleaned[name] for name in ("selection", "in_flight", "max_cost")}
        queue_generating(study, cleaned["system"], cleaned["sampling"], by=user_of(request).username, **settings)
        return Response(_sampled(study), status=status.HTTP_202_ACCEPTED)

    @extend_schema(request=SamplingSerializer, responses=ESTIMATED, filters=False)
    @action(**WORK, methods=["post"], url_path="sampling/estimate")
    def estimate_sampling(self, request: Request, slug: str) -> Response:
        """Estimate what sampling takes. No call is made and nothing is stored."""
        study: Study = self.get_object()
        cleaned = read_form(GenerateForm, body_of(request), study=study).cleaned_data
        check_cap(cleaned["max_cost"], cleaned["sampling"].endpoint)
        check_selection(study, cleaned["selection"])
        run = build_run(study, cleaned["system"], cleaned["sampling"])
        return Response(estimate_generating(run, cleaned["selection"], limit=ON_A_PAGE).as_dict())


def _aspects(study: Study) -> dict[str, Any]:
    current, name = current_aspects(study)
    versions: list[AspectSet] = list(versions_of(study))
    return {
        "name": name,
        "aspects": current,
        "version": versions[0].version if versions else 0,
        "versions": [aspects_as_dict(version) for version in versions],
        "distillation": job_status(Distillation.objects.filter(study=study).first()),
    }


def job_status(job: Job | None) -> dict[str, Any] | None:
    """Return the status of a job for JSON."""
    if job is None:
        return None
    return {"status": job.outcome, "error": job.message.text, "error_code": job.message.code}


def _sampled(study: Study) -> dict[str, Any]:
    counts = instances_with_texts(study)
    systems = [
        {
            **as_dict(run),
            "instances": counts.get(run.name, 0),
            "work": job_status(run),
            "at_work": run.is_at_work,
        }
        for run in runs_of(study)
    ]
    return {"study": study.slug, "instances": study.instances.count(), "systems": systems}


def _tables(study: Study, data: dict[str, Any]) -> dict[str, Any]:
    """Return a request's values as arguments of `start_tables`.

    Raises: BadFields; UnknownName
    """
    if "samples" in data and "budget" in data:
        raise BadFields({"budget": ["Give either the tables or the calls for each pair."]})
    current, name = current_aspects(study)
    settings = TableSettings(
        samples=data.pop("samples", 8),
        budget=data.pop("budget", None),
        scheme=data.pop("scheme"),
        aspects=tuple(current) if data.pop("aspects") == OFFLINE else ONLINE,
        params=data.pop("params"),
    )
    variant = data.pop("variant") or default_variant(settings, name)
    endpoint = find_endpoint(data.pop("endpoint"))
    return {**pairs_of(study, data), "endpoint": endpoint, "settings": settings, "variant": variant}
