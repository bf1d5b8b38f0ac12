"""The report of a study: its page with all pictures inside, the numbers and the references."""

import base64
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from django.contrib.staticfiles.finders import find
from django.template.loader import render_to_string
from django.utils import timezone

from annotation.core.database.snapshot import one_snapshot
from annotation.models import Study
from annotation.planning.frozen_plans import frozen_plan
from reporting.core.charts import size_of, to_svg
from reporting.core.raters import everyone_of
from reporting.exports.folders import new_folder
from reporting.exports.rows import rating_rows
from reporting.findings.charts.common import EVERYONE
from reporting.findings.computing import findings_under
from reporting.findings.data.inputs import Filters
from reporting.findings.pictures import OF_CONFIGURATION, OF_STUDY, by_section, draw, figure
from reporting.findings.sections import amendments_shown, answer_section, page_sections, plan_section
from reporting.findings.sections.configurations import configuration_section
from reporting.report.limitations import limitations_of
from reporting.report.methods import methods_of

MOST_CONFIGURATIONS = 20  # shown one by one: each has pictures and tables
PAGE, BIBLIOGRAPHY, NUMBERS = "report.html", "references.bib", "numbers.json"
# References by the reason for them, which is the comment above each.
ENTRIES: dict[str, str] = {
    reason: entry
    for block in Path(__file__).with_name(BIBLIOGRAPHY).read_text(encoding="utf-8").strip().split("\n\n")
    for reason, entry in [block.removeprefix("% ").split("\n", 1)]
}


def write_report(study: Study, folder: Path) -> list[str]:
    """Write a report of the present findings on the main question, or the planned one, into a new folder. Return its files.

    Raises: AnnotationError if the folder exists or can't be written.
    """
    with new_folder(folder) as part_folder:
        with one_snapshot():
            study.refresh_from_db()
            findings = findings_under(study, _filters(study))
            page = report_page(study, findings)
        part_folder.write_text(PAGE, page)
        part_folder.write_text(BIBLIOGRAPHY, bibtex(cited(findings), findings["version"]))
        part_folder.write_json(NUMBERS, findings)
        return list(part_folder.files)


def _filters(study: Study) -> Filters:
    """Return the filters of a report: the question and ε of the frozen plan, or else the main question."""
    plan = frozen_plan(study)
    several, main = len(study.questions) > 1, study.questions[0]
    if plan is None:
        return Filters(question=main if several else None)
    asked = next((question for question in study.questions if question.key == plan.content["question"]), main)
    return Filters(question=asked if several else None, epsilon=plan.content["epsilon"])


def report_page(study: Study, findings: dict[str, Any]) -> str:
    """Return the page, which needs nothing else: styles and pictures are inside, and there are no scripts."""
    findings = {**findings, EVERYONE: everyone_of(study)}
    configurations = findings["configurations"]
    by_rater = Counter(
        row["rater"]
        for row in rating_rows(study)
        if not row["excluded"] and row["stage"] == findings["filters"]["stage"]
    )
    figures = by_section(OF_STUDY, lambda name: _figure(name, findings))
    path = find("css/report.css")
    if not isinstance(path, str):
        raise FileNotFoundError("css/report.css")
    context = {
        "study": study,
        "found": findings,
        "made_at": timezone.now(),
        "style": Path(path).read_text(encoding="utf-8"),
        "answer": answer_section(findings["answer"]),
        "figures": figures,
        **(page_sections(findings, figures) if configurations else {}),
        "configurations": [
            configuration_section(
                configuration,
                at,
                lambda configuration: by_section(OF_CONFIGURATION, lambda name: _figure(name, findings, configuration)),
            )
            for at, configuration in enumerate(configurations[:MOST_CONFIGURATIONS], start=1)
        ],
        "further": len(configurations[MOST_CONFIGURATIONS:]),
        "all_chosen": [row for configuration in configurations for row in configuration["chosen"]],
        "methods": methods_of(study, findings),
        "limitations": limitations_of(findings, by_rater),
        "plan": plan_section(findings),
        "amendments": amendments_shown(findings["amendments"]),
        "references": [ENTRIES[key] for key in cited(findings)],
    }
    html: str = render_to_string("reporting/report/report.html", context)
    # A report lacks some sections of the findings page, to which there are links.
    ids = set(re.findall(r'\bid="([^"]+)"', html))
    link = r'<small><a href="#([^"]+)">[^<]*</a></small>'
    html = re.sub(link, lambda match: match[0] if match[1] in ids else "", html)
    # On paper nothing can be opened.
    return re.sub(r"<details(?! open)", "<details open", html)


def _figure(name: str, findings: dict[str, Any], configuration: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return a picture with its caption, as data inside the page."""
    spec = draw(name, findings, configuration=configuration)
    picture = figure(
        name,
        findings,
        spec,
        findings["configurations"] if configuration is None else [configuration],
        lambda _form, **_more: "",
    )
    if "why" in picture:
        return picture
    drawn = base64.b64encode(to_svg(spec).encode()).decode()
    picture["alt"] = picture["alt"].replace(" The numbers are in the CSV.", "")  # which a report has none of
    return {
        **picture,
        "light": f"data:image/svg+xml;base64,{drawn}",
        "dark": "",
        "wide": {},
        "size": size_of(spec),
        "links": {},
    }


def cited(findings: Mapping[str, Any]) -> list[str]:
    """Return the keys of ENTRIES that findings rest on."""
    return [key for key in ENTRIES if key in set(_reasons(findings))]


def _reasons(findings: Mapping[str, Any]) -> Iterator[str]:
    yield "krippendorff"
    for item in findings["configurations"]:
        if item["separability"] is not None:
            yield "separability"
            yield from (
                key for key in ("rouge", "bleu", "chrf", "bertscore") if key in item["separability"]["similarity"]
            )
    yield from (
        key for ranking in findings["rankings"] for key in ("bradley_terry", "elo") if ranking["measure"].endswith(key)
    )
    if findings["replacement"]:
        yield "alternative_annotator"
    if any(judge["alternative_annotator"]["tested"] for judge in findings["replacement"]):
        yield "benjamini_yekutieli"
    if any(item["n_judged"] for judge in findings["replacement"] for item in judge["prediction_powered"]):
        yield "prediction_powered"
    if any(item["weighted"] for judge in findings["replacement"] for item in judge["prediction_powered"]):
        yield "active"
    if any(item["of"] > 1 for item in (*findings["judge_tests"], *findings["system_tests"])):
        yield "holm"
    if findings["dawid_skene"].get("raters"):
        yield "dawid_skene"
    if findings["length_adjusted"]:
        yield "length"


def bibtex(keys: list[str], version: str) -> str:
    """Return the entries of these, and of this software in its version."""
    # BibTeX itself has no entry of software.
    software = (
        "@misc{tandem,\n  author = {{The Tandem contributors}},\n"
        f"  title = {{Tandem: human and judge preferences on the very same pairs}},\n  note = {{Software, version {version}}}\n}}"
    )
    return "\n\n".join([*(ENTRIES[key] for key in keys), software]) + "\n"
