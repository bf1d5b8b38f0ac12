"""Errors of the measures. Every message carries the values that were wrong."""


class AnalysisError(ValueError):
    """Base class: the input has no answer under the measure's definition."""


class ShapeError(AnalysisError):
    """Arrays whose shapes do not fit the measure or one another."""


class UnknownValue(AnalysisError):
    """A value outside the set that the measure is defined on."""


class ConstantGroup(AnalysisError):
    """A normalisation group whose smallest and largest alignment are the same."""


class DuplicateRating(AnalysisError):
    """One rater has two verdicts on the same pair."""


class NotEnough(AnalysisError):
    """More was asked for than there is."""
