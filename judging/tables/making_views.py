"""The page for making comparison tables: the form, the estimate, and starting the run."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods, require_POST

from annotation.members.permissions import READERS, study_view
from annotation.models import Study
from judging.aspects.aspect_sets import current_aspects
from judging.core.fields import errors_on
from judging.runs.estimates import RunEstimate, estimate
from judging.tables.forms import MakeTablesForm
from judging.tables.making import build_tables_judge, start_tables


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(*READERS)
def make(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the form, and for a submitted one the estimate; no call is made."""
    if request.method != "POST":
        return _page(request, study, MakeTablesForm(study=study))
    form = MakeTablesForm(request.POST, study=study)
    found = None
    if form.is_valid():
        chosen = form.cleaned_data
        with errors_on(form):
            judge = build_tables_judge(endpoint=chosen["endpoint"], settings=chosen["settings"])
            where = {name: chosen[name] for name in ("batch", "only", "limit")}
            found = estimate(study=study, judge=judge, **where)
    return _page(request, study, form, found)


@require_POST
@study_view(*READERS)
def start(request: HttpRequest, study: Study) -> HttpResponse:
    """Queue the run, new or again."""
    form = MakeTablesForm(request.POST, study=study)
    if form.is_valid():
        chosen = form.cleaned_data
        where = {name: chosen[name] for name in ("variant", "batch", "only", "in_flight", "max_cost", "limit")}
        made_with = {"endpoint": chosen["endpoint"], "settings": chosen["settings"]}
        with errors_on(form):
            run = start_tables(study=study, **made_with, queued=True, **where)
            return redirect("judging:run", study.slug, run.pk)
    return _page(request, study, form)


def _page(request: HttpRequest, study: Study, form: MakeTablesForm, found: RunEstimate | None = None) -> HttpResponse:
    aspects, name = current_aspects(study)
    context: dict[str, Any] = {
        "study": study,
        "form": form,
        "estimate": found,
        "aspects": aspects,
        "aspects_name": name,
    }
    sent = request.method == "POST"
    template = "judging/tables/make_tables.html#start" if request.htmx else "judging/tables/make_tables.html"  # type: ignore[attr-defined]
    return TemplateResponse(request, template, context, status=422 if sent and found is None else 200)
