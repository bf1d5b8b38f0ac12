"""Words for how far raters agree."""

# The greatest kappa or alpha that each word is for.
DEGREES = {
    0.0: "poor",
    0.2: "slight",
    0.4: "fair",
    0.6: "moderate",
    0.8: "substantial",
    1.0: "almost perfect",
}


def degree(value: float) -> str:
    """Return the word for a kappa or alpha.

    Source: Landis and Koch 1977, The Measurement of Observer Agreement for Categorical Data, §4. They name no value between
    two of their ranges, such as .205; it has the word of the higher one.
    """
    return next(word for most, word in DEGREES.items() if value <= most or most == 1)
