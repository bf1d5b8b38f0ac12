"""The report of a study: its page with all pictures inside, the numbers and the references."""

import base64
import re
from collections import Counter
from pathlib import Path
from typing import Any

from django.contrib.staticfiles.finders import find
from django.template.loader import render_to_string
from django.utils import timezone

from annotation.core.database.snapshot import one_snapshot
from annotation.models import Study
from annotation.studies.sources import source_counts
from reporting.core.charts import to_svg
from reporting.exports.folders import new_folder
from reporting.exports.rows import rating_rows
from reporting.findings.data.inputs import Filters
from reporting.findings.pictures import OF_CONFIGURATION, OF_STUDY, by_section, draw, figure
from reporting.findings.sections import page_sections
from reporting.findings.sections.amendments import amendments_shown
from reporting.findings.sections.configurations import configuration_section
from reporting.findings.study_findings import findings_under
from reporting.report.limitations import limitations_of
from reporting.report.methods import methods_of
from reporting.report.references import ENTRIES, bibtex, cited

MOST_CONFIGURATIONS = 20  # shown one by one: each has pictures and tables
PAGE, BIBLIOGRAPHY, NUMBERS = "report.html", "references.bib", "numbers.json"


def write_report(study: Study, folder: Path) -> list[str]:
    """Write a report of the findings on the main question, as they are now, into a new folder; return its files.

    Raises: AnnotationError if the folder is there already or can't be written.
    """
    with new_folder(folder) as made:
        with one_snapshot():
            study.refresh_from_db()
            question = study.questions[0] if len(study.questions) > 1 else None
            found = findings_under(study, Filters(question=question))
            page = report_page(study, found)
        made.write_text(PAGE, page)
        made.write_text(BIBLIOGRAPHY, bibtex(cited(found), found["version"]))
        made.write_json(NUMBERS, found)
        return list(made.files)


def report_page(study: Study, found: dict[str, Any]) -> str:
    """Return the page, which needs nothing else: styles and pictures are inside, and there are no scripts."""
    configurations = found["configurations"]
    by_rater = Counter(
        row["rater"] for row in rating_rows(study) if not row["excluded"] and row["stage"] == found["filters"]["stage"]
    )
    context = {
        "study": study,
        "found": found,
        "made_at": timezone.now(),
        "style": report_style(),
        "figures": by_section(OF_STUDY, lambda name: _figure(name, found)),
        **(page_sections(found) if configurations else {}),
        "configurations": [
            configuration_section(
                one, at, lambda one: by_section(OF_CONFIGURATION, lambda name: _figure(name, found, one))
            )
            for at, one in enumerate(configurations[:MOST_CONFIGURATIONS], start=1)
        ],
        "further": len(configurations[MOST_CONFIGURATIONS:]),
        "all_chosen": [row for one in configurations for row in one["chosen"]],
        "methods": methods_of(study, found),
        "limitations": limitations_of(found, by_rater, source_counts(study)),
        "amendments": amendments_shown(found["amendments"]),
        "references": [ENTRIES[key] for key in cited(found)],
    }
    html = _without_dead_links(render_to_string("reporting/report/report.html", context))
    # On paper nothing can be opened.
    return re.sub(r"<details(?! open)", "<details open", html)


def _without_dead_links(html: str) -> str:
    """Leave out links to sections of the findings page that a report doesn't have."""
    there = set(re.findall(r'\bid="([^"]+)"', html))
    link = r'<small><a href="#([^"]+)">[^<]*</a></small>'
    return re.sub(link, lambda found: found[0] if found[1] in there else "", html)


def _figure(name: str, found: dict[str, Any], one: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return a picture with its caption, as data inside the page."""
    spec = draw(name, found, configuration=one)
    shown = figure(name, found, spec, found["configurations"] if one is None else [one], lambda _form, **_more: "")
    if "why" in shown:
        return shown
    drawn = base64.b64encode(to_svg(spec).encode()).decode()
    shown["alt"] = shown["alt"].replace(" The numbers are in the CSV.", "")  # which a report has none of
    return {**shown, "light": f"data:image/svg+xml;base64,{drawn}", "dark": "", "links": {}}


def report_style() -> str:
    """Return the style of a page that stands alone."""
    path = find("css/report.css")
    if not isinstance(path, str):
        raise FileNotFoundError("css/report.css")
    return Path(path).read_text(encoding="utf-8")
