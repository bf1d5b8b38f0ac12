"""Separability of all configurations on one scale: alignments normalised over the whole study, as pooled numbers need."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from analysis.errors import AnalysisError
from analysis.similarity.separability import normalise, separability
from analysis.types import FloatArray
from annotation.core.reasons import Reason
from reporting.findings.data.inputs import StudyData
from reporting.findings.reasons import NO_CONFIGURATION, NO_SCALE, NO_SHARED_MEASURE


@dataclass(frozen=True, eq=False)
class StudyScale:
    """The study-wide separability of each configuration's matchups, in the order of its selection.

    values    : one array per configuration, NaN where a matchup has none; empty without a scale, for the reason in `why`
    described : similarity, settings and normalisation, as the findings say them
    """

    values: tuple[FloatArray, ...] = ()
    described: dict[str, Any] = field(default_factory=dict)
    why: Reason | None = None


def study_scale(data: StudyData) -> StudyScale:
    """Return the scale of a study; it covers all configurations, so that no filter of batches moves it."""
    if not data.configurations:
        return StudyScale(why=NO_CONFIGURATION)
    if data.alignments is None:
        return StudyScale(why=NO_SHARED_MEASURE)
    measured = data.alignments.measured
    try:
        group = normalise(*data.alignments.raw.T)
    except AnalysisError as undefined:  # a constant group, or no alignment at all
        return StudyScale(why=NO_SCALE.with_values(error=undefined))
    values = np.append(separability(group.self_a, group.self_b, group.cross), np.nan)  # the last one for rows of -1
    return StudyScale(
        values=tuple(values[rows] for rows in data.alignments.rows),
        described={
            "similarity": measured.similarity,
            **measured.settings,
            "normalisation": {"group": "study", "min": group.low, "max": group.high},
        },
    )
