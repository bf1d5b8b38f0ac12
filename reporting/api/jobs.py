"""Jobs of every kind in the API: their progress, stopping and resuming them."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from annotation.api.bodies import body_of, read_form, schema_of
from annotation.api.reasons import WithMessage
from annotation.api.study_serializers import refusals
from annotation.jobs.work import find_job, jobs_of, stop_job
from annotation.models.jobs import Job
from judging.core.fields import ResumeForm
from judging.jobs.bounds import resume_job
from reporting.api.rows import WORK

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


class StudyJobs(GenericViewSet[Any]):
    """Long tasks on a study, of all kinds."""

    @extend_schema(responses={200: JobSerializer(many=True), **refusals()}, filters=False)
    @action(**WORK)
    def jobs(self, request: Request, slug: str) -> Response:
        """List the jobs of a study, the latest first."""
        return Response(JobSerializer(jobs_of(self.get_object()), many=True).data)

    @extend_schema(responses={200: JobSerializer, **refusals()}, filters=False)
    @action(**WORK, url_path=JOB)
    def job(self, request: Request, slug: str, kind: str, pk: str) -> Response:
        """Return a job."""
        return Response(JobSerializer(find_job(self.get_object(), kind, int(pk))).data)

    @extend_schema(request=None, responses={202: JobSerializer, **refusals(409)})
    @action(**WORK, methods=["post"], url_path=f"{JOB}/stop")
    def stop_job(self, request: Request, slug: str, kind: str, pk: str) -> Response:
        """Stop a job between two calls. One that has ended stays as it is."""
        stop_job(find_job(self.get_object(), kind, int(pk)))
        return self._job(kind, pk)

    @extend_schema(request=ResumeSerializer, responses={202: JobSerializer, **refusals(409, 413, 422)})
    @action(**WORK, methods=["post"], url_path=f"{JOB}/resume")
    def resume_job(self, request: Request, slug: str, kind: str, pk: str) -> Response:
        """Queue a job that stopped, within another cap. Nothing changes while it is under way, or once it is done."""
        job = find_job(self.get_object(), kind, int(pk))
        resume_job(job, **read_form(ResumeForm, body_of(request)).cleaned_data)
        return self._job(kind, pk)

    def _job(self, kind: str, pk: str) -> Response:
        job = find_job(self.get_object(), kind, int(pk))
        return Response(JobSerializer(job).data, status=status.HTTP_202_ACCEPTED)
