"""What each section of the findings page shows, made of the findings' JSON alone: tables, sentences, captions.

May use answer and the rooms below it.
"""

from collections.abc import Mapping
from typing import Any

from reporting.findings.sections.answer import answer_section
from reporting.findings.sections.judges import judges_section
from reporting.findings.sections.people import agreement_section, position_section, separability_section
from reporting.findings.sections.rankings import rankings_section


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
