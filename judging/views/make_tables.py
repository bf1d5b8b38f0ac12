"""Making comparison tables: how, of which pairs, what it will take, and then the run."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods, require_POST

from annotation.access import READERS, study_view
from annotation.errors import UnknownName
from annotation.models import Study
from judging.errors import JudgingError
from judging.make_tables_form import MakeTablesForm
from judging.services.aspect_sets import resolve_offline
from judging.services.estimates import Estimate, estimate
from judging.services.table_runs import start_tables, tables_judge_to_be


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(*READERS)
def make(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the form; of one that is sent, say what the run would take. Nothing is made and nobody is asked."""
    if request.method != "POST":
        return _page(request, study, MakeTablesForm(study=study))
    form = MakeTablesForm(request.POST, study=study)
    found = None
    if form.is_valid():
        chosen = form.cleaned_data
        try:
            judge = tables_judge_to_be(endpoint=chosen["endpoint"], settings=chosen["settings"])
            where = {name: chosen[name] for name in ("batch", "only", "limit")}
            found = estimate(study=study, judge=judge, **where)
        except (JudgingError, UnknownName) as error:
            form.add_error(None, str(error))
    return _page(request, study, form, found)


@require_POST
@study_view(*READERS)
def start(request: HttpRequest, study: Study) -> HttpResponse:
    """Start the run, or start it again; a worker does the work."""
    form = MakeTablesForm(request.POST, study=study)
    if form.is_valid():
        chosen = form.cleaned_data
        where = {name: chosen[name] for name in ("variant", "batch", "only", "in_flight", "max_cost", "limit")}
        try:
            run = start_tables(
                study=study, endpoint=chosen["endpoint"], settings=chosen["settings"], queued=True, **where
            )
        except (JudgingError, UnknownName) as error:
            form.add_error(None, str(error))
        else:
            return redirect("judging:run", study.slug, run.pk)
    return _page(request, study, form)


def _page(request: HttpRequest, study: Study, form: MakeTablesForm, found: Estimate | None = None) -> HttpResponse:
    aspects, name = resolve_offline(study)
    context: dict[str, Any] = {
        "study": study,
        "form": form,
        "estimate": found,
        "aspects": aspects,
        "aspects_name": name,
    }
    sent = request.method == "POST"
    template = "judging/make_tables.html#start" if request.htmx else "judging/make_tables.html"  # type: ignore[attr-defined]
    return TemplateResponse(request, template, context, status=422 if sent and found is None else 200)
