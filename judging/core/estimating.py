"""The estimate of work that asks a model, on the page of its form."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from annotation.core.http import attempt, is_htmx
from annotation.models import Study
from judging.core.fields import AskingForm


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
