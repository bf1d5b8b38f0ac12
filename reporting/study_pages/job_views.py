"""Stopping and resuming a job of any kind."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from annotation.core.actions import filled
from annotation.jobs.work import find_job, stop_job
from annotation.members.permissions import POST, READERS, study_view
from annotation.models import Study
from judging.core.fields import ResumeForm
from judging.jobs.bounds import resume_job


@study_view(*READERS, methods=POST)
def stop(request: HttpRequest, study: Study, *, kind: str, pk: int) -> HttpResponse:
    """Stop a job."""
    job = find_job(study, kind, pk)
    stop_job(job)
    return redirect(job.page, study.slug)


@study_view(*READERS, methods=POST)
def resume(request: HttpRequest, study: Study, *, kind: str, pk: int) -> HttpResponse:
    """Queue a job that stopped, within another cap."""
    job = find_job(study, kind, pk)
    is_queued = resume_job(job, filled(ResumeForm, request.POST).cleaned_data["max_cost"])
    messages.success(
        request, "It starts as soon as a worker is free." if is_queued else "It has ended, or is under way already."
    )
    return redirect(job.page, study.slug)
