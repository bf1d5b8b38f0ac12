"""A judge's card: the page, JSON, and a page that stands alone."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.template.response import TemplateResponse
from django.urls import reverse

from annotation.core.http import as_download
from annotation.members.permissions import READERS, study_view
from annotation.models import Study
from annotation.studies.questions import find_question
from judging.core.visibility import judges_seen_by
from judging.models import Judge
from reporting.audits.card import about_question, judge_card
from reporting.audits.card_page import card_alone, card_sections, settings_rows
from reporting.core.pictures import picture
from reporting.findings.data.inputs import Filters
from reporting.findings.snapshots import snapshot_of


@study_view(*READERS)
def card(request: HttpRequest, study: Study, *, name: str) -> HttpResponse:
    """Show all that the study knows of a judge."""
    judge, found = _card(request, study, name)
    shown = None
    if audit := found["stress"].get("audit"):

        def address(form: str, **query: str) -> str:
            path = reverse("reporting:stress-test-chart", kwargs={"slug": study.slug, "pk": audit, "form": form})
            return f"{path}?theme={query['theme']}" if query else path

        shown = picture("", address)
    context = {
        "study": study,
        "judge": judge,
        "card": found,
        "settings": settings_rows(found),
        "sections": card_sections(found),
        "picture": shown,
        "forms": ("json", "html"),
    }
    return TemplateResponse(request, "reporting/audits/card.html", context)


@study_view(*READERS)
def card_file(request: HttpRequest, study: Study, *, name: str, form: str) -> HttpResponse:
    """Return a judge's card as JSON, or as a page that stands alone."""
    judge, found = _card(request, study, name)
    if form == "json":
        response: HttpResponse = JsonResponse(found, json_dumps_params={"ensure_ascii": False, "allow_nan": False})
    else:
        response = HttpResponse(card_alone(study, judge, found))
    return as_download(response, f"{study.slug}-{judge.name}-card.{form}")


def _card(request: HttpRequest, study: Study, name: str) -> tuple[Judge, dict[str, Any]]:
    judge = judges_seen_by(request.user).select_related("prompt_file").filter(name=name).first()
    if judge is None:
        raise Http404(f"no judge {name}")
    question = find_question(study, request.GET.get("question", "")).number
    numbers = snapshot_of(study, Filters(question=about_question(study, question))).numbers
    return judge, judge_card(study, judge, numbers, question=question)
