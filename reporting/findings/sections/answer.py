"""The sentences of the answer with links to the sections that hold their evidence."""

from typing import Any

from django.utils.translation import gettext_lazy

from reporting.findings.answer.answer_text import on_page

# The section of the page that shows what a key of the findings holds; the longest key that fits counts.
RANKINGS = ("rankings", gettext_lazy("Rankings"))
JUDGES = ("judges", gettext_lazy("Judges and people"))
SEPARABILITY = ("separability", gettext_lazy("Consistency by separability"))
RATERS = ("raters", gettext_lazy("Raters one by one"))
DATA = ("data", gettext_lazy("What data are in"))
AGREEMENT = ("agreement", gettext_lazy("Agreement between people"))
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
    "pooled.preferred_first": ("position", gettext_lazy("Position")),
    "raters": RATERS,
    "dawid_skene": RATERS,
    "configurations.raters": DATA,
    "configurations.raters.consistency_distribution": SEPARABILITY,
    "configurations.separability": ("configurations", gettext_lazy("Each configuration")),
}


def answer_section(sentences: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return each sentence in the reader's language with links to the sections that hold its evidence."""
    return [
        {"text": on_page(one["rule"], one["values"]), "links": dict(map(_section, one["evidence"]))}
        for one in sentences
    ]


def _section(named: str) -> tuple[str, Any]:
    return SECTIONS[max((key for key in SECTIONS if f"{named}.".startswith(f"{key}.")), key=len)]
