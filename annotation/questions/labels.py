"""A study's default labels. They are translated, unlike the researcher's own."""

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_noop

from annotation.questions.questions import Question, choice_label

DEFAULT_QUESTION = gettext_noop("Which one is better?")
DEFAULT_SOURCE_LABEL = gettext_noop("Source text")
DEFAULT_LEFT = gettext_noop("Left")
DEFAULT_RIGHT = gettext_noop("Right")

_DEFAULTS = frozenset({DEFAULT_QUESTION, DEFAULT_SOURCE_LABEL, DEFAULT_LEFT, DEFAULT_RIGHT})


# The sides' names on a narrow screen, where one text stands above the other.
_STACKED = {DEFAULT_LEFT: gettext_noop("Top"), DEFAULT_RIGHT: gettext_noop("Bottom")}


def stacked_label(label: str) -> str:
    """Return a side's name on a narrow screen: a default one changes, the researcher's own stays."""
    names = {gettext(inline): gettext(stacked) for inline, stacked in _STACKED.items()}
    return names.get(label, label)


def side_name(label: str) -> SafeString:
    """Render a label with both of its names, of which the style sheet shows the one for the screen's width.

    <bdi> isolates it, since a study's own labels may run from right to left.
    """
    return _both_names(label, stacked_label(label))


def side_names(sides: tuple[str, str]) -> dict[str, SafeString]:
    """Render the names of the left and the right text, as `side_name` does."""
    return dict(zip(("left", "right"), map(side_name, sides), strict=True))


def choice_name(choice: str, sides: tuple[str, str]) -> SafeString:
    """Render the label of a choice with both names of the sides, as `side_name` does."""
    return _both_names(choice_label(choice, *sides), choice_label(choice, *map(stacked_label, sides)))


def choice_names(question: Question, sides: tuple[str, str]) -> dict[str, SafeString]:
    """Render the choices that a question offers, as `choice_name` does."""
    return {choice: choice_name(choice, sides) for choice in question.choices}


def _both_names(inline: str, stacked: str) -> SafeString:
    if inline == stacked:
        return isolated(inline)
    return format_html(
        '<bdi><span class="if-beside">{}</span><span class="if-stacked">{}</span></bdi>', inline, stacked
    )


def isolated(text: str) -> SafeString:
    """Isolate a study's own text, which may run from right to left, from the text around it."""
    return format_html("<bdi>{}</bdi>", text)


def translate_default(words: str) -> str:
    """Translate a label if it is a default one."""
    return gettext(words) if words in _DEFAULTS else words
