"""Judges against gold labels: the page, and the same numbers as JSON, CSV and LaTeX."""

import json
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.html import format_html

from annotation.core.counting import counted
from annotation.core.files.spreadsheet import csv_lines
from annotation.core.http import as_download
from annotation.members.permissions import READERS, study_view
from annotation.models import Study
from reporting.accuracy.accuracies import judge_accuracy
from reporting.accuracy.files import COLUMNS, WORDING_COLUMNS, csv_rows, latex, wording_rows

CONTENT_TYPES = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "tex": "application/x-tex; charset=utf-8",
}
KINDS = {"dataset": "data set", "tag": "tag", "all": "all pairs"}


@study_view(*READERS)
def show(request: HttpRequest, study: Study) -> HttpResponse:
    """Show every judge's accuracy on each subset of the pairs that have a gold label."""
    numbers = judge_accuracy(study)
    numbers = {**numbers, "subsets": _without_copies(numbers), "judges": sorted(numbers["judges"], key=_by_accuracy)}
    rows = [
        {"judge": judge["judge"], "accuracy": judge["subsets"][-1]["accuracy"]}
        for judge in numbers["judges"]
        if judge["subsets"]
    ]
    context = {
        "study": study,
        "found": numbers,
        "leading": [row for row in rows if row["accuracy"]["value"] is not None][:2],
        "overview": _overview(numbers),
        "wordings": [(wording, row) for wording in numbers["wordings"] for row in wording["subsets"]],
        "sections": _sections(numbers),
        "rationales": _rationales(numbers),
        "forms": list(CONTENT_TYPES),
    }
    return TemplateResponse(request, "reporting/accuracy/judge_accuracy.html", context)


@study_view(*READERS)
def download(request: HttpRequest, study: Study, *, form: str) -> HttpResponse:
    """Return the numbers of the page as JSON, CSV or LaTeX."""
    numbers = judge_accuracy(study)
    if form == "json":
        content = json.dumps(numbers, ensure_ascii=False, allow_nan=False)
    elif form == "csv":
        content = "".join(csv_lines(csv_rows(numbers), COLUMNS))
    else:
        content = latex(numbers)
    response = HttpResponse(content, content_type=CONTENT_TYPES[form])
    return as_download(response, f"{study.slug}-judge-accuracy.{form}")


@study_view(*READERS)
def download_wordings(request: HttpRequest, study: Study) -> HttpResponse:
    """Return the table over wordings as CSV."""
    content = "".join(csv_lines(wording_rows(judge_accuracy(study)), WORDING_COLUMNS))
    response = HttpResponse(content, content_type=CONTENT_TYPES["csv"])
    return as_download(response, f"{study.slug}-judge-accuracy-wordings.csv")


def _by_accuracy(judge: dict[str, Any]) -> float:
    """Return a key that sorts judges by their accuracy on all pairs that they answered, the best first."""
    return -((judge["subsets"][-1]["accuracy"]["value"] if judge["subsets"] else None) or 0)


def _without_copies(numbers: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the subsets without tags that have the pairs of a data set: every number of the two is the same."""
    rows: dict[tuple[str, str], Any] = {}
    for judge in numbers["judges"]:
        for row in judge["subsets"]:
            values = {name: value for name, value in row.items() if name not in ("kind", "subset")}
            rows.setdefault((row["kind"], row["subset"]), []).append((judge["judge"], values))
    datasets = [rows.get(("dataset", subset["subset"])) for subset in numbers["subsets"] if subset["kind"] == "dataset"]
    return [
        subset
        for subset in numbers["subsets"]
        if subset["kind"] != "tag" or rows.get(("tag", subset["subset"])) not in datasets
    ]


def _overview(numbers: dict[str, Any]) -> list[dict[str, Any]]:
    """Return each judge with its accuracy on every subset, `None` where it gave no answer. The heading says n of all pairs.

    All pairs come first, since narrow screens show the first columns.
    """
    rows = []
    subsets = [*numbers["subsets"][-1:], *numbers["subsets"][:-1]]
    headings = [
        format_html(
            "{} <small>{}</small>",
            subset["subset"] if subset["kind"] != "all" else "All",
            counted(subset["pairs"], "pairs"),
        )
        for subset in subsets
    ]
    for judge in numbers["judges"]:
        of = {(row["kind"], row["subset"]): row["accuracy"] for row in judge["subsets"]}
        cells = [
            {**cell, "about": ""} if cell and cell["n"] == subset["pairs"] and "effective_n" not in cell else cell
            for subset in subsets
            for cell in [of.get((subset["kind"], subset["subset"]))]
        ]
        rows.append({"judge": judge, "cells": list(zip(headings, cells, strict=True))})
    return rows


def _sections(numbers: dict[str, Any]) -> list[dict[str, Any]]:
    """Return each subset with the judges' rows on it."""
    sections = []
    for subset in numbers["subsets"]:
        key = (subset["kind"], subset["subset"])
        rows = [
            {"judge": judge, "row": row}
            for judge in numbers["judges"]
            for row in judge["subsets"]
            if (row["kind"], row["subset"]) == key
        ]
        sections.append({"subset": subset, "kind": KINDS[subset["kind"]], "rows": rows})
    return [section for section in sections if section["rows"]]


def _rationales(numbers: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the judges with marked rationales, with their rows over all pairs."""
    rows = [{"judge": judge, "row": judge["subsets"][-1]} for judge in numbers["judges"] if judge["subsets"]]
    return [row for row in rows if any(row["row"][name]["n"] for name in ("wrong_when_sound", "sound_when_wrong"))]
