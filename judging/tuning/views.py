"""The page of a study's tunings: the price beforehand, progress, results, and the judges that came of them."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from annotation.core.http import is_htmx
from annotation.members.permissions import POST, READERS, study_view
from annotation.models import Study
from judging.core.estimating import estimate_page, start_page
from judging.core.visibility import judges_seen_by
from judging.models import JudgeTuning
from judging.tuning.forms import TuningForm
from judging.tuning.planning import TuningEstimate
from judging.tuning.services import asked_of_tuning, cost_of_tuning


@study_view(*READERS)
def tunings(request: HttpRequest, study: Study) -> HttpResponse:
    """List a study's tunings, with a form to begin one."""
    if is_htmx(request):
        return TemplateResponse(request, "judging/tuning/tunings.html#work", {"study": study, **_work(study)})
    return _page(request, study)


@study_view(*READERS, methods=POST)
def estimate(request: HttpRequest, study: Study) -> HttpResponse:
    """Plan a tuning and say what it would take. No call is made."""
    form = TuningForm(request.POST, study=study, judges=judges_seen_by(request.user))
    return estimate_page(request, form, study, _page, "judging/tuning/tunings.html#begin")


@study_view(*READERS, methods=POST)
def start(request: HttpRequest, study: Study) -> HttpResponse:
    """Queue a tuning, new or again."""
    form = TuningForm(request.POST, study=study, judges=judges_seen_by(request.user))
    return start_page(
        request, form, study, _page, message="It starts as soon as a worker is free, unless it has ended."
    )


def _page(
    request: HttpRequest,
    study: Study,
    *,
    form: TuningForm | None = None,
    estimate: TuningEstimate | None = None,
    status: int = 200,
) -> HttpResponse:
    context = {
        "study": study,
        "form": form or TuningForm(study=study, judges=judges_seen_by(request.user)),
        "estimate": estimate,
        **_work(study),
    }
    return TemplateResponse(request, "judging/tuning/tunings.html", context, status=status)


def _work(study: Study) -> dict[str, Any]:
    rows = [_row(tuning) for tuning in study.judge_tunings.select_related("judge__endpoint", "tuned")]
    return {"tunings": rows, "active": any(row["tuning"].is_busy for row in rows)}


def _row(tuning: JudgeTuning) -> dict[str, Any]:
    tried = sorted(tuning.found.get("tried", ()), key=lambda item: (-item["instances"], -item["agreement"]))
    endpoint = tuning.judge.endpoint
    return {
        "tuning": tuning,
        "asked": asked_of_tuning(tuning),
        "of": tuning.plan["presentations"],
        "cost": cost_of_tuning(tuning),
        "currency": endpoint.currency if endpoint else "",
        "tried": tried,
        "compared": _compared(tuning.found.get("held_out")),
        "choosing": len(tuning.plan["choosing"]) + len(tuning.plan["shown"]),
        "held_out": len(tuning.plan["held_out"]),
    }


def _compared(result: dict[str, Any] | None) -> list[tuple[str, dict[str, Any]]]:
    """Return the rows of the comparison on the held-out part."""
    if not result:
        return []
    labels = {
        "tuned": "The tuned judge agrees with people",
        "untuned": "The untuned judge agrees with people",
        "difference": "Difference, on the same votes",
        "people": "People agree with one another",
    }
    return [(label, result[key]) for key, label in labels.items()]
