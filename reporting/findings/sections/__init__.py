"""Sections of the findings page, made from the findings' JSON.

May use answer and the rooms below it.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from annotation.models import Event
from reporting.findings.answer.answer_text import on_page
from reporting.findings.sections.judges import judges_section
from reporting.findings.sections.people import agreement_section, position_section, separability_section
from reporting.findings.sections.rankings import rankings_section

# The section of the page that shows what a key of the findings holds; the longest key that fits counts.
RANKINGS = ("rankings", "Rankings")
JUDGES = ("judges", "Judges and people")
SEPARABILITY = ("separability", "Consistency by separability")
RATERS = ("raters", "Raters one by one")
DATA = ("data", "What data are in")
AGREEMENT = ("agreement", "Agreement between people")
SECTIONS = {
    "rankings": RANKINGS,
    "system_tests": RANKINGS,
    "length_adjusted": RANKINGS,
    "replacement": JUDGES,
    "judge_tests": JUDGES,
    "pooled": SEPARABILITY,
    "pooled.people_agreement": AGREEMENT,
    "judge_agreement": JUDGES,
    "pooled.uninformative": DATA,
    "pooled.preferred_first": ("position", "Position"),
    "raters": RATERS,
    "dawid_skene": RATERS,
    "configurations.raters": DATA,
    "configurations.raters.consistency_distribution": SEPARABILITY,
    "configurations.separability": ("configurations", "Each configuration"),
}


def page_sections(numbers: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sections over all configurations, of which there is one at least."""
    return {
        "answer": answer_section(numbers["answer"]),
        "rankings": rankings_section(numbers),
        "judges": judges_section(numbers),
        "separability": separability_section(numbers),
        "agreement": agreement_section(numbers),
        "position": position_section(numbers),
    }


def answer_section(sentences: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return each sentence with links to the sections that hold its evidence."""
    return [
        {"text": on_page(sentence["rule"], sentence["values"]), "links": dict(map(_section, sentence["evidence"]))}
        for sentence in sentences
    ]


def _section(named: str) -> tuple[str, Any]:
    return SECTIONS[max((key for key in SECTIONS if f"{named}.".startswith(f"{key}.")), key=len)]


def amendments_shown(amendments: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the findings' amendments with the name of each decision."""
    return [{**amendment, "label": Event.Kind(amendment["kind"]).label} for amendment in amendments]
