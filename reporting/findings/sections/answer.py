"""The sentences of the answer with links to the sections that hold their evidence."""

from typing import Any

from reporting.findings.answer.answer_text import on_page

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


def answer_section(sentences: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return each sentence with links to the sections that hold its evidence."""
    return [
        {"text": on_page(one["rule"], one["values"]), "links": dict(map(_section, one["evidence"]))}
        for one in sentences
    ]


def _section(named: str) -> tuple[str, Any]:
    return SECTIONS[max((key for key in SECTIONS if f"{named}.".startswith(f"{key}.")), key=len)]
