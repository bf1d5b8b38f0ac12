"""Measures of one rater that findings show beside consistency and preference strength.

Importing this package registers them. To add one, see docs/howto/add_a_measure.md. May use reporting's core.
"""

from reporting.findings.measures import (
    agreement,  # noqa: F401  (each registers its measures)
)
from reporting.findings.measures.registry import Measure, MeasureInput, compute_measures, measures

__all__ = ["Measure", "MeasureInput", "compute_measures", "measures"]
