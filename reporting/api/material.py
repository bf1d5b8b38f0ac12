"""A study's aspects, comparison tables, sampling of texts, frozen plan and long tasks in the API."""

from typing import Any

from django.http import JsonResponse
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from annotation.api.answers import OBJECT, WithMessage, answers, work
from annotation.api.bodies import body_of, read_form, schema_of, user_of
from annotation.jobs.work import find_job, jobs_of, stop_job
from annotation.models import Study
from annotation.models.jobs import Job
from annotation.planning.frozen_plans import frozen_plan
from judging.aspects.aspect_sets import as_dict as aspects_as_dict
from judging.aspects.aspect_sets import current_aspects, edit_aspects, versions_of
from judging.aspects.forms import AspectsForm, DistilForm
from judging.core.fields import ResumeForm
from judging.core.visibility import judges_seen_by
from judging.generation.forms import GenerateForm
from judging.generation.sampled_systems import as_dict, instances_with_texts, runs_of
from judging.jobs.bounds import resume_job
from judging.models import AspectSet, Distillation
from judging.tables.forms import MakeTablesForm
from reporting.api.run_setup import EstimateSerializer, read_asking, run_queued
from reporting.api.serializers import JudgeRunSerializer
from reporting.planning.forms import FreezePlan, WithdrawPlan

DistilSerializer = schema_of(DistilForm, "Distil", "Aspects to be distilled from a study's texts.")
SamplingSerializer = schema_of(GenerateForm, "Sampling", "Texts of a system to be sampled.")
MakeTablesSerializer = schema_of(MakeTablesForm, "MakeTables", "Comparison tables to create.")
NULLABLE = {"type": "object", "additionalProperties": {}, "nullable": True}
JOB = r"jobs/(?P<kind>[a-z-]+)/(?P<pk>\d+)"


class JobSerializer(WithMessage):
    """A long task, with its progress."""

    kind = serializers.CharField(source="job_kind", read_only=True)
    id = serializers.IntegerField(read_only=True)
    name = serializers.CharField(source="__str__", read_only=True)
    status = serializers.ChoiceField(choices=Job.Status.choices, read_only=True)
    done = serializers.IntegerField(read_only=True)
    total = serializers.IntegerField(read_only=True)
    rate = serializers.FloatField(read_only=True, allow_null=True, help_text="Done per second, while it runs.")
    seconds_left = serializers.FloatField(read_only=True, allow_null=True)
    created_at = serializers.DateTimeField(read_only=True)
    ended_at = serializers.DateTimeField(read_only=True, allow_null=True, help_text="When it was done.")


ResumeSerializer = schema_of(ResumeForm, "Resume")


class StudyMaterial(GenericViewSet[Any]):
    """Aspects, tables, texts, the frozen plan and long tasks of a study; for researchers too."""

    @work(refused=(409,))
    def aspects(self, request: Request, slug: str) -> Response:
        """Return the aspects that hold, their earlier versions, and the last distillation."""
        return Response(_aspects(self.get_object()))

    @answers(OBJECT, 201, 200, body=schema_of(AspectsForm, "NewAspects"))
    @aspects.mapping.post
    def edit_aspects(self, request: Request, slug: str) -> Response:
        """Store a list as the next version. The list that holds already changes nothing (200)."""
        study: Study = self.get_object()
        form = read_form(AspectsForm, body_of(request))
        version, is_new = edit_aspects(study, by=user_of(request).username, **form.cleaned_data)
        code = status.HTTP_201_CREATED if is_new else status.HTTP_200_OK
        return Response(aspects_as_dict(version), status=code)

    @work(body=DistilSerializer, methods=["post"], path="aspects/estimate")
    def estimate_aspects(self, request: Request, slug: str) -> Response:
        """Estimate the distillation. No call is made."""
        return Response(read_asking(DistilForm, request, self.get_object()).estimate().as_dict())

    @work(OBJECT, 202, body=DistilSerializer, methods=["post"], path="aspects/distil")
    def distil_aspects(self, request: Request, slug: str) -> Response:
        """Have a worker distil the aspects. Nothing is queued while one works on it."""
        study: Study = self.get_object()
        read_asking(DistilForm, request, study).queue(by=user_of(request).username)
        return Response(_aspects(study), status=status.HTTP_202_ACCEPTED)

    @work(JudgeRunSerializer, 202, body=MakeTablesSerializer, methods=["post"], path="tables")
    def make_tables(self, request: Request, slug: str) -> Response:
        """Queue a run that makes comparison tables and publishes them under a variant."""
        return run_queued(read_asking(MakeTablesForm, request, self.get_object()).queue())

    @work(EstimateSerializer, body=MakeTablesSerializer, methods=["post"], path="tables/estimate")
    def estimate_tables(self, request: Request, slug: str) -> Response:
        """Estimate what making comparison tables takes. No call is made."""
        return Response(read_asking(MakeTablesForm, request, self.get_object()).estimate().as_dict())

    @work(refused=(409,))
    def sampling(self, request: Request, slug: str) -> Response:
        """List the systems whose texts are sampled, with their settings and progress."""
        return Response(_sampled(self.get_object()))

    @answers(OBJECT, 202, body=SamplingSerializer)
    @sampling.mapping.post
    def sample_texts(self, request: Request, slug: str) -> Response:
        """Have a worker sample a system's texts. Nothing is queued while one works on it."""
        study: Study = self.get_object()
        read_asking(GenerateForm, request, study).queue(by=user_of(request).username)
        return Response(_sampled(study), status=status.HTTP_202_ACCEPTED)

    @work(body=SamplingSerializer, methods=["post"], path="sampling/estimate")
    def estimate_sampling(self, request: Request, slug: str) -> Response:
        """Estimate what sampling takes. No call is made and nothing is stored."""
        return Response(read_asking(GenerateForm, request, self.get_object()).estimate().as_dict())

    @work(JobSerializer(many=True))
    def jobs(self, request: Request, slug: str) -> Response:
        """List the jobs of a study, the latest first."""
        return Response(JobSerializer(jobs_of(self.get_object()), many=True).data)

    @work(JobSerializer, path=JOB)
    def job(self, request: Request, slug: str, kind: str, pk: str) -> Response:
        """Return a job."""
        return Response(JobSerializer(find_job(self.get_object(), kind, int(pk))).data)

    @work(JobSerializer, 202, refused=(409,), methods=["post"], path=f"{JOB}/stop")
    def stop_job(self, request: Request, slug: str, kind: str, pk: str) -> Response:
        """Stop a job between two calls. One that has ended stays as it is."""
        stop_job(find_job(self.get_object(), kind, int(pk)))
        return self._job(kind, pk)

    @work(JobSerializer, 202, body=ResumeSerializer, methods=["post"], path=f"{JOB}/resume")
    def resume_job(self, request: Request, slug: str, kind: str, pk: str) -> Response:
        """Queue a job that stopped, within another cap. Nothing changes while it is under way, or once it is done."""
        job = find_job(self.get_object(), kind, int(pk))
        resume_job(job, **read_form(ResumeForm, body_of(request)).cleaned_data)
        return self._job(kind, pk)

    def _job(self, kind: str, pk: str) -> Response:
        job = find_job(self.get_object(), kind, int(pk))
        return Response(JobSerializer(job).data, status=status.HTTP_202_ACCEPTED)

    @work({200: NULLABLE}, path="frozen-plan")
    def frozen_plan(self, request: Request, slug: str) -> JsonResponse:
        """Return the frozen plan with its hash and time, or null."""
        plan = frozen_plan(self.get_object())
        return JsonResponse(plan.as_json() if plan else None, safe=False)

    @answers(OBJECT, 201, body=schema_of(FreezePlan, partial=True))
    @frozen_plan.mapping.post
    def freeze_plan(self, request: Request, slug: str) -> Response:
        """Freeze a plan before the first vote. What is left out is the study's own."""
        study: Study = self.get_object()
        form = read_form(FreezePlan, body_of(request), study=study, judges=judges_seen_by(request.user))
        plan = form.run(by=user_of(request))
        return Response(plan.as_json(), status=status.HTTP_201_CREATED)

    @work(None, 204, body=schema_of(WithdrawPlan), methods=["post"], path="frozen-plan/withdraw")
    def withdraw_plan(self, request: Request, slug: str) -> Response:
        """Withdraw the frozen plan before the first vote."""
        study: Study = self.get_object()
        read_form(WithdrawPlan, body_of(request)).run(study, by=user_of(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


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
