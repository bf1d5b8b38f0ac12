"""Aspects, comparison tables and sampling of texts in the API."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from annotation.api.bodies import body_of, read_form, schema_of, user_of
from annotation.api.study_serializers import refusals
from annotation.models import Study
from annotation.models.jobs import Job
from judging.aspects.aspect_sets import current_aspects, edit_aspects, versions_of
from judging.aspects.forms import AspectsForm, DistilForm
from judging.aspects.text import as_dict as aspects_as_dict
from judging.generation.forms import GenerateForm
from judging.generation.sampled_systems import as_dict, instances_with_texts, runs_of
from judging.models import AspectSet, Distillation
from judging.tables.forms import MakeTablesForm
from reporting.api.rows import COMPUTED, WORK
from reporting.api.run_setup import EstimateSerializer, read_asking, run_queued
from reporting.api.serializers import JudgeRunSerializer

ESTIMATED: dict[Any, Any] = {200: OpenApiTypes.OBJECT, **refusals(409, 413, 422)}
QUEUED: dict[Any, Any] = {202: OpenApiTypes.OBJECT, **refusals(409, 413, 422)}
RUN_QUEUED: dict[Any, Any] = {202: JudgeRunSerializer, **refusals(409, 413, 422)}

DistilSerializer = schema_of(DistilForm, "Distil", "Aspects to be distilled from a study's texts.")
SamplingSerializer = schema_of(GenerateForm, "Sampling", "Texts of a system to be sampled.")


NewAspectsSerializer = schema_of(AspectsForm, "NewAspects")
MakeTablesSerializer = schema_of(MakeTablesForm, "MakeTables", "Comparison tables to create.")


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
        form = read_form(AspectsForm, body_of(request))
        version, is_new = edit_aspects(study, by=user_of(request).username, **form.cleaned_data)
        code = status.HTTP_201_CREATED if is_new else status.HTTP_200_OK
        return Response(aspects_as_dict(version), status=code)

    @extend_schema(request=DistilSerializer, responses=ESTIMATED, filters=False)
    @action(**WORK, methods=["post"], url_path="aspects/estimate")
    def estimate_aspects(self, request: Request, slug: str) -> Response:
        """Estimate the distillation. No call is made."""
        return Response(read_asking(DistilForm, request, self.get_object()).estimate().as_dict())

    @extend_schema(request=DistilSerializer, responses=QUEUED, filters=False)
    @action(**WORK, methods=["post"], url_path="aspects/distil")
    def distil_aspects(self, request: Request, slug: str) -> Response:
        """Have a worker distil the aspects. Nothing is queued while one works on it."""
        study: Study = self.get_object()
        read_asking(DistilForm, request, study).queue(by=user_of(request).username)
        return Response(_aspects(study), status=status.HTTP_202_ACCEPTED)

    @extend_schema(request=MakeTablesSerializer, responses=RUN_QUEUED)
    @action(**WORK, methods=["post"], url_path="tables")
    def make_tables(self, request: Request, slug: str) -> Response:
        """Queue a run that makes comparison tables and publishes them under a variant."""
        return run_queued(read_asking(MakeTablesForm, request, self.get_object()).queue())

    @extend_schema(
        request=MakeTablesSerializer, responses={200: EstimateSerializer, **refusals(409, 413, 422)}, filters=False
    )
    @action(**WORK, methods=["post"], url_path="tables/estimate")
    def estimate_tables(self, request: Request, slug: str) -> Response:
        """Estimate what making comparison tables takes. No call is made."""
        return Response(read_asking(MakeTablesForm, request, self.get_object()).estimate().as_dict())

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
        read_asking(GenerateForm, request, study).queue(by=user_of(request).username)
        return Response(_sampled(study), status=status.HTTP_202_ACCEPTED)

    @extend_schema(request=SamplingSerializer, responses=ESTIMATED, filters=False)
    @action(**WORK, methods=["post"], url_path="sampling/estimate")
    def estimate_sampling(self, request: Request, slug: str) -> Response:
        """Estimate what sampling takes. No call is made and nothing is stored."""
        return Response(read_asking(GenerateForm, request, self.get_object()).estimate().as_dict())


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
