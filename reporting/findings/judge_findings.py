"""What tells whether judges may be believed, over all configurations."""

from collections.abc import Sequence
from typing import Any

from reporting.findings.inputs import ConfigurationData, Filters
from reporting.findings.pooled import pooled_bins
from reporting.findings.replacement import replacement
from reporting.findings.study_scale import StudyScale
from reporting.findings.study_votes import study_votes


def judge_findings(everything: Sequence[ConfigurationData], scale: StudyScale, filters: Filters) -> dict[str, Any]:
    """Return the findings about judges, by their keys in the JSON."""
    bins = pooled_bins(scale)
    votes = study_votes(everything, bins)
    return {"replacement": replacement(everything, votes, bins, filters)}
