"""Sections of the findings page, made from the findings' JSON.

May use answer and the rooms below it.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from annotation.models import Event
from reporting.findings.answer.answer_text import on_page
from reporting.findings.answer.planned import plan_facts, plan_notes, status_of
from reporting.findings.answer.statements import leading_system
from reporting.findings.sections.judges import judges_section
from reporting.findings.sections.lengths import lengths_section
from reporting.findings.sections.people import agreement_section, position_section, separability_section
from reporting.findings.sections.rankings import rankings_section
from reporting.findings.sections.titles import CLAIM_OF_TITLE

# The section of the page that shows what a key of the findings holds; the longest key that fits counts.
RANKINGS = ("rankings", "Rankings")
JUDGES = ("judges", "Judges and raters")
SEPARABILITY = ("separability", "Consistency by separability")
RATERS = ("raters", "Raters")
DATA = ("data", "Data")
AGREEMENT = ("agreement", "Agreement of raters")
SECTIONS = {
    "rankings": RANKINGS,
    "system_tests": RANKINGS,
    "length_adjusted": ("lengths", "Length"),
    "replacement": JUDGES,
    "judge_tests": JUDGES,
    "pooled": SEPARABILITY,
    "pooled.people_agreement": AGREEMENT,
    "judge_agreement": JUDGES,
    "pooled.preferred_first": ("position", "Position"),
    "raters": RATERS,
    "dawid_skene": RATERS,
    "horizon": DATA,
    "configurations.raters": DATA,
    "configurations.raters.consistency_distribution": SEPARABILITY,
    "configurations.separability": ("configurations", "Each configuration"),
}


def page_sections(numbers: Mapping[str, Any], figures: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Return the sections over all configurations, of which there is one at least.

    figures : of each section; the first one that is drawn is what the section shows, the others are among its details
    """
    raters = [rater for configuration in numbers["configurations"] for rater in configuration["raters"]]
    rated = any(rater["ratings"] for rater in raters)
    of_people = any(rater["ratings"] for rater in raters if rater["kind"] == "person")
    rankings, judges = rankings_section(numbers), judges_section(numbers)
    sections = {
        "rankings": rankings if rated and rankings["raters"] else None,
        "lengths": lengths_section(numbers["length_adjusted"], leading_system(numbers)) if rated else None,
        "judges": judges if (judges["has_people"] and numbers["replacement"]) or judges["agreement"] else None,
        "agreement": agreement_section(numbers) if of_people and numbers["pooled"]["people_agreement"] else None,
        "separability": separability_section(numbers) if rated else None,
        "position": position_section(numbers) if rated else None,
    }
    results = {name: section for name, section in sections.items() if section}
    for name, section in results.items():
        section["plan"] = status_of(CLAIM_OF_TITLE.get(section["title"].code), numbers)
        section["details"] = f"reporting/findings/sections/_{name}.html"
        drawn = [figure for figure in figures.get(name, ()) if not figure.get("why")]
        section["figure"] = drawn[0] if drawn and name != "rankings" else None
        section["figures"] = [figure for figure in figures.get(name, ()) if figure is not section["figure"]]
    # Those that only say why there is no number come last.
    ordered = sorted(results.items(), key=lambda item: not any(map(item[1].get, ("figure", "table", "main"))))
    return {"results": dict(ordered), **results}


def answer_section(sentences: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the headline and the statements below it, each with links to the sections that hold its evidence."""
    return [
        {
            "text": _text(sentence),
            "links": dict(map(_section, sentence["evidence"])),
            "plan": sentence.get("plan", ""),
        }
        for sentence in sentences
    ]


def _text(sentence: Mapping[str, Any]) -> str:
    """Return a sentence in HTML, or as it was stored where an earlier version computed other values."""
    try:
        return on_page(sentence["rule"], sentence["values"])
    except KeyError:
        return str(sentence["text"])


def _section(named: str) -> tuple[str, Any]:
    return SECTIONS[max((key for key in SECTIONS if f"{named}.".startswith(f"{key}.")), key=len)]


def amendments_shown(amendments: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the findings' amendments with the name of each decision."""
    return [{**amendment, "label": Event.Kind(amendment["kind"]).label} for amendment in amendments]


def plan_section(numbers: Mapping[str, Any]) -> dict[str, Any]:
    """Return sentences on the frozen plan, and what it states."""
    plan, notes = numbers.get("plan"), plan_notes(numbers)
    return {
        "notes": notes,
        "reasons": notes[1:] if plan else notes,
        "facts": plan_facts(plan["content"]) if plan else [],
    }
