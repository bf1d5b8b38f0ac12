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
    """Fewer items than requested."""


class NeedsModel(AnalysisError):
    """A similarity of what texts mean, without the model that it takes."""


class NotFinite(AnalysisError):
    """A model that gave NaN or infinity for a text."""

    def __init__(self, message: str, *, text: str) -> None:
        super().__init__(message)
        self.text = text  # so that a caller can say whose it is
