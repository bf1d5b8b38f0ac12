"""Words for how far raters agree."""

from django.utils.translation import gettext_noop

# The greatest kappa or alpha that each word is for.
DEGREES = {
    0.0: gettext_noop("poor"),
    0.2: gettext_noop("slight"),
    0.4: gettext_noop("fair"),
    0.6: gettext_noop("moderate"),
    0.8: gettext_noop("substantial"),
    1.0: gettext_noop("almost perfect"),
}


def degree(value: float) -> str:
    """Return the word for a kappa or alpha.

    Source: Landis and Koch 1977, The Measurement of Observer Agreement for Categorical Data, §4. They name no value between
    two of their ranges, such as .205; it has the word of the higher one.
    """
    return next(word for most, word in DEGREES.items() if value <= most or most == 1)
