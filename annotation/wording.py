"""The words that a study uses unless its researcher chose others: those, and only those, are translated."""

from django.utils.translation import gettext, gettext_noop

DEFAULT_QUESTION = gettext_noop("Which one is better?")
DEFAULT_SOURCE_LABEL = gettext_noop("Source text")
DEFAULT_LEFT = gettext_noop("Left")
DEFAULT_RIGHT = gettext_noop("Right")

_DEFAULTS = frozenset({DEFAULT_QUESTION, DEFAULT_SOURCE_LABEL, DEFAULT_LEFT, DEFAULT_RIGHT})


def spoken(words: str) -> str:
    """Return a study's words, translated where they are the default ones."""
    return gettext(words) if words in _DEFAULTS else words
