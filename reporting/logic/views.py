"""The page of an audit with its pictures and files, the form that starts one, and the list of contradictions."""

import json
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse

from annotation.core.database.aggregates import grouped
from annotation.core.files.spreadsheet import csv_lines
from annotation.core.http import as_download, attempt
from annotation.members.permissions import POST, READERS, study_view
from annotation.models import Study
from annotation.questions.questions import MAIN
from annotation.studies.questions import question_named
from judging.core.estimating import estimate_page
from judging.core.visibility import judges_seen_by
from reporting.core.charts import why_empty
from reporting.core.pictures import chart_response, picture, theme_of, width_of
from reporting.core.questions import question_choice
from reporting.core.raters import PEOPLE, everyone_of
from reporting.logic.audit import KINDS, SIZES, found_in
from reporting.logic.audits import (
    COLUMNS,
    OF_INSTANCE,
    OVER_WORDINGS,
    as_rows,
    estimate_of,
    instance_rows,
    judges_audited,
    kept_audit,
    presentations_of,
)
from reporting.logic.charts import CHARTS
from reporting.logic.contradictions import opened
from reporting.logic.forms import LogicAuditForm

A_PAGE = 10
PAGE = "reporting/logic/logic.html"
OF_ONE_RATER = ("commutativity", "self_agreement")  # measures of answers that one rater gave
KIND_NAMES = {
    "cycles": "cycles of three",
    "order_effects": "verdicts that change with the order",
}
MEASURES = {
    "human_agreement": "H, agreement with people or gold",
    "transitivity_5": "Transitivity s_tran(5)",
    "commutativity": "Commutativity",
    "negation_invariance": "Negation invariance",
    "self_agreement": "Self-agreement",
    "preferred_first": "First text preferred",
}
ALTS = {
    "transitivity": (
        "Curves with intervals, one for each rater: transitivity by the number of texts in a set. The numbers are "
        "in the table."
    ),
    "self-agreement": (
        "Points with intervals, one for each judge: transitivity against self-agreement. The numbers are in the table."
    ),
    "commutativity": (
        "Points with intervals, one for each judge and wording: agreement with people against commutativity. The numbers "
        "are in the table."
    ),
}


@study_view(*READERS)
def show(request: HttpRequest, study: Study) -> HttpResponse:
    """Show how consistent the study's raters are with themselves, and offer to ask a judge for more."""
    form = LogicAuditForm(study=study, judges=judges_seen_by(request.user), initial={"judge": request.GET.get("judge")})
    return _page(request, study, form=form)


@study_view(*READERS, methods=POST)
def estimate(request: HttpRequest, study: Study) -> HttpResponse:
    """Estimate an audit's run and offer to start it. No call is made."""
    form = LogicAuditForm(request.POST, study=study, judges=judges_seen_by(request.user))
    return estimate_page(request, form, study, _page, f"{PAGE}#start")


@study_view(*READERS, methods=POST)
def start(request: HttpRequest, study: Study) -> HttpResponse:
    """Queue an audit's run, new or again."""
    form = LogicAuditForm(request.POST, study=study, judges=judges_seen_by(request.user))
    if form.is_valid() and (run := attempt(form, form.queue)):
        messages.success(request, f"Judge {run.judge} is asked as soon as a worker is free.")
        return redirect("judging:run", study.slug, run.pk)
    return _page(request, study, form=form, status=422)


@study_view(*READERS)
def download(request: HttpRequest, study: Study, *, form: str) -> HttpResponse:
    """Return the numbers of the page as JSON or CSV."""
    audit = _audit(request, study)
    if form == "json":
        response = HttpResponse(json.dumps(audit, ensure_ascii=False, allow_nan=False), content_type="application/json")
    else:
        response = HttpResponse("".join(csv_lines(as_rows(audit), COLUMNS)), content_type="text/csv; charset=utf-8")
    return as_download(response, f"{study.slug}-logic.{form}")


@study_view(*READERS)
def by_instance(request: HttpRequest, study: Study) -> HttpResponse:
    """Return each measure of each rater on each instance, as CSV."""
    question = _asked(request, study)
    rows = instance_rows(study, [None, *judges_audited(study, question).values()], question=question)
    converted = ({name: "" if row[name] is None else row[name] for name in OF_INSTANCE} for row in rows)
    response = HttpResponse("".join(csv_lines(converted, OF_INSTANCE)), content_type="text/csv; charset=utf-8")
    return as_download(response, f"{study.slug}-logic-by-instance.csv")


@study_view(*READERS)
def chart(request: HttpRequest, study: Study, *, name: str, form: str) -> HttpResponse:
    """Return a chart. `theme` is light or dark."""
    if name not in CHARTS:
        raise Http404(f"no picture {name}")
    return chart_response(CHARTS[name](_audit(request, study), theme_of(request)), form, width_of(request))


@study_view(*READERS)
def listed(request: HttpRequest, study: Study) -> HttpResponse:
    """List a rater's contradictions of one kind, each with its texts, the answers and the rationales."""
    question, rater, kind = _asked(request, study), request.GET.get("rater", PEOPLE), request.GET.get("kind", KINDS[0])
    if kind not in KINDS:
        raise Http404(f"no contradictions of kind {kind}")
    judge, presentations = presentations_of(study, rater, question=question)
    page = Paginator(found_in(presentations)[kind], A_PAGE).get_page(request.GET.get("page"))
    query = {name: request.GET[name] for name in ("question",) if name in request.GET}
    context = {
        "study": study,
        "rater": rater.removeprefix("judge:"),
        "judge": judge,
        "kind": kind,
        "kinds": [
            (name, label, urlencode({"rater": rater, "kind": name, **query})) for name, label in KIND_NAMES.items()
        ],
        "page": page,
        "rows": opened(study, judge, presentations, kind, list(page), question=question),
        "query": urlencode({"rater": rater, "kind": kind, **query}),
        "of_question": urlencode(query),
    }
    return TemplateResponse(request, "reporting/logic/contradictions.html", context)


def _asked(request: HttpRequest, study: Study) -> int:
    """Return the number of the question that the address names.

    Raises: UnknownName
    """
    question = question_named(study, request.GET.get("question", ""))
    return MAIN if question is None else question.number


def _audit(request: HttpRequest, study: Study) -> dict[str, Any]:
    return {**kept_audit(study, question=_asked(request, study)), "everyone": everyone_of(study)}


def _page(
    request: HttpRequest, study: Study, *, form: LogicAuditForm, estimate: Any = None, status: int = 200
) -> HttpResponse:
    question = question_named(study, request.GET.get("question", ""))
    audit = _audit(request, study)
    query = {} if question is None else {"question": question.key}
    names = list(dict.fromkeys(name for rater in audit["raters"] for name in rater["datasets"]))
    measured = [name for name in MEASURES if any(_shown(rater, name)["value"] is not None for rater in audit["raters"])]
    context = {
        "study": study,
        "found": audit,
        "form": form,
        "estimate": estimate,
        "not_measured": [
            (MEASURES[name], _shown(rater, name)["why"])
            for rater in audit["raters"][:1]
            for name in MEASURES
            if name not in measured
        ],
        "files": ("csv", "json"),
        "tables": [
            _table(audit, name, measured, number)
            for number, name in enumerate(["", *(names if len(names) > 1 else [])])
        ]
        if audit["raters"]
        else [],
        "wordings": [
            {**wording, "spreads": [(MEASURES[name], wording[name]) for name in OVER_WORDINGS]}
            for wording in audit["wordings"]
        ],
        "pictures": [_picture(study, audit, name, query) for name in CHARTS] if audit["raters"] else [],
        "query": urlencode(query),
        "question": question_choice(study, question, lambda item: urlencode({"question": item.key})),
    }
    return TemplateResponse(request, PAGE, context, status=status)


def _shown(rater: dict[str, Any], name: str, measures: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return a rater's estimate, over all data sets by default. Different people are no rater who agrees, or not, with itself."""
    if name in OF_ONE_RATER and rater["kind"] == "person":
        return {"value": None, "why": "answers are of different people"}
    return estimate_of(rater if measures is None else measures, name)


def _table(audit: dict[str, Any], dataset: str, measured: list[str], number: int) -> dict[str, Any]:
    """Return the rows of a data set, or over all of them, by judging method. People come first.

    measured : names of the measures that a rater has a value of
    number   : of the table on the page
    """
    rows = [
        {
            "rater": rater,
            "density": measures["density"],
            "cells": [(MEASURES[name], _shown(rater, name, measures)) for name in measured],
            "sizes": [(f"s_tran({k})", measures["transitivity"][str(k)]) for k in SIZES],
        }
        for rater in audit["raters"]
        if (measures := rater["datasets"].get(dataset) if dataset else rater)
    ]
    by_method = grouped((row["rater"].get("method", ""), row) for row in rows)
    return {
        "name": f"measures-{number}",
        "sizes": f"sizes-{number}",
        "caption": f"Each rater on the instances of {dataset}" if dataset else "Each rater on all instances",
        "dataset": dataset,
        "has_sizes": any(found["value"] is not None for row in rows for _label, found in row["sizes"]),
        "rows": [row for rows_of_method in by_method.values() for row in rows_of_method],
    }


def _picture(study: Study, audit: dict[str, Any], name: str, query: dict[str, str]) -> dict[str, Any]:
    """Return a picture with the addresses of its files, or its title with the reason why it is empty."""
    spec = CHARTS[name](audit, "light")
    if why := why_empty(spec):
        return {"caption": " ".join(spec["title"]["text"]), "why": why}

    def address(form: str, **more: str) -> str:
        path = reverse("reporting:logic-chart", kwargs={"slug": study.slug, "name": name, "form": form})
        return f"{path}?{urlencode({**query, **more})}" if query or more else path

    return picture(ALTS[name], address, spec=spec)
