"""The page of rankings that ask a judge: a form with the price beforehand, progress, and results with their files."""

import json
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext_lazy

from annotation.core.files.spreadsheet import csv_lines
from annotation.core.http import as_download, is_htmx
from annotation.members.permissions import POST, READERS, study_view
from annotation.models import Study
from annotation.studies.questions import named_questions
from judging.core.fields import errors_on
from judging.core.visibility import judges_seen_by
from reporting.models import SystemRanking
from reporting.system_ranking.designs import COLUMNS, as_rows, estimate_ranking
from reporting.system_ranking.forms import DESIGN_NAMES, RankingForm
from reporting.system_ranking.jobs import UNDER_WAY, queue_ranking, rankings_of, stop_ranking, wanted_by

PAGE = "reporting/system_ranking/rankings.html"
FILES = ("csv", "json")
STOPPED = {
    "settled": gettext_lazy("The places asked for are settled."),
    "budget": gettext_lazy("All comparisons of the budget are made."),
    "exhausted": gettext_lazy("All comparisons of the design are made."),
}


@study_view(*READERS)
def show(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the study's rankings, and offer to ask for another; for htmx, the rankings alone."""
    if is_htmx(request):
        return TemplateResponse(request, f"{PAGE}#rankings", _rankings(study))
    return _page(request, study, _form(request, study))


@study_view(*READERS, methods=POST)
def estimate(request: HttpRequest, study: Study) -> HttpResponse:
    """Estimate the most that a ranking takes, and offer to start it; no call is made."""
    form, found = _form(request, study), None
    if form.is_valid():
        with errors_on(form):
            found = estimate_ranking(form.cleaned_data["wanted"], limit=form.cleaned_data["limit"])
    status = 200 if found else 422
    if is_htmx(request):
        context = {"study": study, "form": form, "estimate": found}
        return TemplateResponse(request, f"{PAGE}#start", context, status=status)
    return _page(request, study, form, estimate=found, status=status)


@study_view(*READERS, methods=POST)
def start(request: HttpRequest, study: Study) -> HttpResponse:
    """Queue a ranking, new or again."""
    form = _form(request, study)
    if form.is_valid():
        with errors_on(form):
            queue_ranking(**{name: form.cleaned_data[name] for name in ("wanted", "in_flight", "max_cost", "limit")})
            return redirect("reporting:system-rankings", study.slug)
    return _page(request, study, form, status=422)


@study_view(*READERS, methods=POST)
def stop(request: HttpRequest, study: Study, ranking_id: int) -> HttpResponse:
    """Stop a ranking."""
    stop_ranking(_find(study, ranking_id))
    return redirect("reporting:system-rankings", study.slug)


@study_view(*READERS, methods=POST)
def resume(request: HttpRequest, study: Study, ranking_id: int) -> HttpResponse:
    """Continue a ranking that was stopped, or ask again where one that is done has new texts."""
    ranking = _find(study, ranking_id)
    queue_ranking(wanted_by(ranking), in_flight=ranking.in_flight, max_cost=ranking.max_cost)
    return redirect("reporting:system-rankings", study.slug)


@study_view(*READERS)
def download(request: HttpRequest, study: Study, *, ranking_id: str, form: str) -> HttpResponse:
    """Return a ranking as JSON or CSV."""
    found = _find(study, int(ranking_id)).found
    if found is None:
        raise Http404("the ranking has no result yet")
    if form == "json":
        response = HttpResponse(json.dumps(found, ensure_ascii=False, allow_nan=False), content_type="application/json")
    else:
        response = HttpResponse("".join(csv_lines(as_rows(found), COLUMNS)), content_type="text/csv; charset=utf-8")
    return as_download(response, f"{study.slug}-ranking-{ranking_id}.{form}")


def _form(request: HttpRequest, study: Study) -> RankingForm:
    data = request.POST if request.method == "POST" else None
    return RankingForm(
        data, study=study, judges=judges_seen_by(request.user), initial={"judge": request.GET.get("judge")}
    )


def _find(study: Study, ranking_id: int) -> SystemRanking:
    ranking = next((one for one in rankings_of(study) if one.pk == ranking_id), None)
    if ranking is None:
        raise Http404(f"no ranking {ranking_id}")
    return ranking


def _rankings(study: Study) -> dict[str, Any]:
    """Return the context of the list of rankings."""
    found, asked = rankings_of(study), named_questions(study)
    rows = [
        {
            "ranking": one,
            "under_way": one.status in UNDER_WAY,
            "design": DESIGN_NAMES[one.options["design"].partition(":")[0]],
            "question": asked.get(one.question),
            "stopped": STOPPED.get(one.found["stopped"], "") if one.found else "",
        }
        for one in found
    ]
    return {"study": study, "rankings": rows, "files": FILES, "busy": any(row["under_way"] for row in rows)}


def _page(
    request: HttpRequest, study: Study, form: RankingForm, *, estimate: Any = None, status: int = 200
) -> HttpResponse:
    return TemplateResponse(request, PAGE, {**_rankings(study), "form": form, "estimate": estimate}, status=status)
