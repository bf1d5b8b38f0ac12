"""Estimating and starting work that asks a model, on the page of its form."""

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from annotation.core.http import attempt, is_htmx
from annotation.models import Study
from judging.core.fields import AskingForm, JobForm


def estimate_page(
    request: HttpRequest,
    form: AskingForm,
    study: Study,
    page: Callable[..., HttpResponse],
    part: str,
    *,
    name: str = "form",
) -> HttpResponse:
    """Estimate the work of a form and offer to start it. No call is made.

    page : shows the whole page, with the form, its estimate and a status
    part : the template of the form alone, for htmx
    name : of the form in the context
    """
    estimate = attempt(form, form.estimate) if form.is_valid() else None
    context = {name: form, "estimate": estimate}
    status = 422 if estimate is None else 200
    if is_htmx(request):
        return TemplateResponse(request, part, {"study": study, **context}, status=status)
    return page(request, study, **context, status=status)


def start_page(
    request: HttpRequest,
    form: JobForm,
    study: Study,
    page: Callable[..., HttpResponse],
    *,
    name: str = "form",
    message: str = "",
    **by: str,
) -> HttpResponse:
    """Leave the work of a form to a worker, and return to its page.

    page, name : as for `estimate_page`
    message    : shown then, with the `job`; by default only that it is under way already
    """
    queued = attempt(form, lambda: form.queue(**by)) if form.is_valid() else None
    if queued is None:
        return page(request, study, **{name: form}, status=422)
    job, is_new = queued
    if message:
        messages.success(request, message.format(job=job))
    elif not is_new:
        messages.info(request, "It is under way already.")
    return redirect(form.kind.page, study.slug)
