"""What tells whether judges may be believed, over all configurations."""

from collections.abc import Sequence
from typing import Any

from reporting.findings.data.inputs import ConfigurationData, Filters
from reporting.findings.data.separability_bins import Bins
from reporting.findings.judges.judge_tests import judge_tests
from reporting.findings.judges.judges_against_people import judges_against_people
from reporting.findings.judges.lengths import length_adjusted
from reporting.findings.judges.replacement import replacement
from reporting.findings.judges.self_preference import self_preference
from reporting.findings.pooled.vote_table import VoteTable


def judge_findings(
    everything: Sequence[ConfigurationData], votes: VoteTable, bins: Bins | None, filters: Filters
) -> dict[str, Any]:
    """Return the findings about judges, by their keys in the JSON."""
    against = judges_against_people(votes, bins, filters)
    kappas = {one["rater"]: one["overall"]["kappa"] for one in against}
    return {
        "replacement": replacement(everything, votes, bins, filters, kappas),
        "judges_against_people": against,
        "judge_tests": judge_tests(votes, filters),
        "self_preference": self_preference(everything, votes, filters),
        "length_adjusted": length_adjusted(everything, filters),
    }
