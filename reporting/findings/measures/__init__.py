"""The findings on one configuration, and the measures that they show of each rater beside consistency and preference strength.

Importing this package registers measures. To add one, see docs/howto/add_a_measure.md. May use data.
"""

from reporting.findings.measures import (
    agreement,  # noqa: F401  (each registers its measures)
)
from reporting.findings.measures.registry import Measure, MeasureInput, compute_measures, measures

__all__ = ["Measure", "MeasureInput", "compute_measures", "measures"]
