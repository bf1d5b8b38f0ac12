"""A generation's text as pages show it: as it was written, with its Markdown rendered, or “(no text)”."""

import re
from html import unescape

from django.utils.html import format_html
from django.utils.translation import gettext

from annotation.core.markdown import render_generation

_TAG = re.compile(r"<[^>]*>")  # in sanitised HTML, where "<" always starts a tag
# Hangul fillers, the empty Braille cell, joiners and variation selectors: printable, but invisible.
_UNSEEN = re.compile(
    "[\\u034f\\u115f\\u1160\\u180b-\\u180d\\u2800\\u3164\\ufe00-\\ufe0f\\uffa0\\U000e0100-\\U000e01ef]"
)


def is_blank(text: str) -> bool:
    """Tell whether a text has only white space and invisible characters."""
    return not any(char.isprintable() and not char.isspace() and not _UNSEEN.match(char) for char in text)


def shown_text(text: str, *, rendered: bool = False) -> str:
    """Return a text for a template, which escapes it unless it is rendered.

    rendered : render its Markdown; if nothing visible results (an image without alternative text), “(no text)”
    """
    if is_blank(text):
        return _no_text()
    if not rendered:
        return text
    html = render_generation(text)
    return html if "<hr" in html or not is_blank(unescape(_TAG.sub("", html))) else _no_text()


def _no_text() -> str:
    # The class tells it from a generation that says the same: sanitised HTML has no classes but the box's.
    return format_html('<em class="no-text">{}</em>', gettext("(no text)"))
