"""The page of a study's audits with the form that prices and starts one, and the page of a stress test."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import reverse

from analysis.bias.stress import TURNS
from annotation.core.http import as_download, is_htmx
from annotation.members.permissions import POST, READERS, study_view
from annotation.models import Study
from judging.core.estimating import estimate_page, start_page
from judging.core.visibility import judges_seen_by
from judging.models import AuditAnswer, JudgeAudit, Judgment
from reporting.audits.forms import PAIRS, JudgeAuditForm
from reporting.audits.stress import CHANGE_NAMES, PART_NAMES, PARTS, TURN_NAMES, stress_findings, stress_tests
from reporting.core.charts import Spec, column_spec, empty_chart
from reporting.core.pictures import chart_response, picture, theme_of, width_of
from reporting.findings.charts.common import interval_notes
from reporting.findings.charts.dots import dot_rows, point


def stress_context(findings: dict[str, Any]) -> dict[str, Any]:
    """Return the context of `_stress.html`, without its picture."""
    return {
        "found": findings,
        "unread": sum(findings["unread"].values()),
        "tables": [
            {
                "part": part,
                "name": PART_NAMES[part],
                "caption": "" if part != "all" else "Verdicts that turn with each change, on all pairs",
                "heading": f"part-{part}",
                "rows": [
                    {
                        "name": CHANGE_NAMES[change["change"]],
                        "sound": change["sound"],
                        "not_made": change["not_made"],
                        "cells": [(TURN_NAMES[turn], change[part][turn]) for turn in TURNS],
                    }
                    for change in findings["changes"]
                ],
            }
            for part in PARTS
        ],
    }


DRAWN = ("towards", "away", "to_tie")
NOTHING = "no answers from which it could be drawn"


def turned_verdicts(findings: dict[str, Any], theme: str) -> Spec:
    """Points with intervals: the shares of verdicts that each change turns to the changed text, the other one, or a tie."""
    series = [str(TURN_NAMES[turn]) for turn in DRAWN]
    rows = [
        point(str(CHANGE_NAMES[row["change"]]), name, row["all"][turn])
        for row in findings["changes"]
        for turn, name in zip(DRAWN, series, strict=True)
        if row["all"][turn]["value"] is not None
    ]
    title = f"Verdicts that turn, {findings['judge']}"
    if not rows:
        return empty_chart(title, NOTHING, theme)
    context = {"filters": {"level": findings["level"], "two_way": False}}
    body, about_rows = dot_rows(rows, series, "Share of verdicts", theme, share=True)
    return column_spec(body, [title], [*interval_notes(context, rows), *about_rows], theme)


PAGE, TEST_PAGE = "reporting/audits/audits.html", "reporting/audits/stress_test.html"
ALT = (
    "Points with intervals, three for each change: the shares of verdicts that turn towards the changed text, away from it, and "
    "to no preference. The numbers are in the table."
)


@dataclass(frozen=True)
class AuditRow:
    """An audit with its progress."""

    audit: JudgeAudit
    done: int
    total: int


@study_view(*READERS)
def show(request: HttpRequest, study: Study) -> HttpResponse:
    """List a study's audits, and offer to start one."""
    if is_htmx(request):
        return TemplateResponse(request, f"{PAGE}#audits", {"study": study, **_listed(study)})
    initial = {"judge": request.GET.get("judge"), "pairs": PAIRS}
    form = JudgeAuditForm(study=study, judges=judges_seen_by(request.user), initial=initial)
    return _page(request, study, form=form)


@study_view(*READERS, methods=POST)
def estimate(request: HttpRequest, study: Study) -> HttpResponse:
    """Estimate an audit, and offer to start it, without calls or stored rows."""
    form = JudgeAuditForm(request.POST, study=study, judges=judges_seen_by(request.user))
    return estimate_page(request, form, study, _page, f"{PAGE}#start")


@study_view(*READERS, methods=POST)
def start(request: HttpRequest, study: Study) -> HttpResponse:
    """Queue an audit, new or again."""
    form = JudgeAuditForm(request.POST, study=study, judges=judges_seen_by(request.user))
    return start_page(request, form, study, _page, message="Judge {job.judge} is asked as soon as a worker is free.")


@study_view(*READERS)
def stress(request: HttpRequest, study: Study, *, pk: int) -> HttpResponse:
    """Show what a stress test found: a picture, the table of all changes, and both parts of the pairs."""
    audit = _find(study, pk)
    findings = stress_findings(audit)

    def address(form: str, **query: str) -> str:
        path = reverse("reporting:stress-test-chart", kwargs={"slug": study.slug, "pk": pk, "form": form})
        return f"{path}?{urlencode(query)}" if query else path

    context = {
        "study": study,
        "audit": audit,
        **stress_context(findings),
        "picture": picture(ALT, address, spec=turned_verdicts(findings, "light")),
    }
    return TemplateResponse(request, TEST_PAGE, context)


@study_view(*READERS)
def stress_file(request: HttpRequest, study: Study, *, pk: int) -> HttpResponse:
    """Return a stress test's numbers as JSON."""
    audit = _find(study, pk)
    response = JsonResponse(stress_findings(audit), json_dumps_params={"ensure_ascii": False, "allow_nan": False})
    return as_download(response, f"{study.slug}-{audit.judge.name.replace('/', '-')}-stress.json")


@study_view(*READERS)
def chart(request: HttpRequest, study: Study, *, pk: int, form: str) -> HttpResponse:
    """Return the picture of a stress test. `theme` is light or dark."""
    spec = turned_verdicts(stress_findings(_find(study, pk)), theme_of(request))
    return chart_response(spec, form, width_of(request))


def _find(study: Study, pk: int) -> JudgeAudit:
    audits = JudgeAudit.objects.select_related("study", "judge__endpoint")
    return get_object_or_404(audits, study=study, pk=pk)


def _listed(study: Study) -> dict[str, Any]:
    answers = AuditAnswer.objects.filter(audit__study=study).order_by().values("audit_id")
    counted = answers.annotate(done=Count("pk", filter=~Q(status=Judgment.Status.PENDING)), total=Count("pk"))
    counts = {audit: (done, total) for audit, done, total in counted.values_list("audit_id", "done", "total")}
    tests = [AuditRow(audit, *counts.get(audit.pk, (0, 0))) for audit in stress_tests(study)]
    return {"tests": tests, "busy": any(row.audit.is_busy for row in tests)}


def _page(
    request: HttpRequest, study: Study, *, form: JudgeAuditForm, estimate: Any = None, status: int = 200
) -> HttpResponse:
    context = {"study": study, "form": form, "estimate": estimate, **_listed(study)}
    return TemplateResponse(request, PAGE, context, status=status)
