"""Who prefers the text shown first, over all configurations."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from reporting.core.estimates import IntervalSettings
from reporting.core.raters import PEOPLE, Positions, Rater
from reporting.findings.configurations.rater_findings import is_without_order, preferred_first
from reporting.findings.data.inputs import ConfigurationData
from reporting.findings.pooled.vote_table import instance_codes, raters_by_name


def pooled_positions(everything: Sequence[ConfigurationData], settings: IntervalSettings) -> list[dict[str, Any]]:
    """Return each rater's share of verdicts for the text shown first, ties left out; an instance counts once."""
    codes = instance_codes(everything)
    found = []
    for name, parts in raters_by_name(everything).items():
        raters = [rater for _, rater in parts]
        positions = Positions(
            np.concatenate([codes[place][rater.positions.instance] for place, rater in parts]),
            np.concatenate([rater.positions.preferred for rater in raters]),
            _persons(raters) if name == PEOPLE else None,
        )
        share = preferred_first(positions, settings, without_order=any(map(is_without_order, raters)))
        found.append({"rater": name, "kind": raters[0].kind, **share})
    return found


def _persons(raters: Sequence[Rater]) -> np.ndarray:
    """Return one code for a person in all configurations, for each presentation."""
    names = sorted({name for rater in raters for name in rater.rated.raters})
    return np.concatenate([np.searchsorted(names, rater.rated.raters)[rater.positions.rater] for rater in raters])
