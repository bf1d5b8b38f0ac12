"""The Jinja environment of the parts of a rater's page that each HIT or vote renders (docs/decisions/0017)."""

from collections.abc import Callable
from datetime import datetime
from functools import cache
from typing import Any

from django.http import HttpRequest
from django.template.backends.utils import csrf_input
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.timezone import localtime
from django.utils.translation import get_language, gettext
from jinja2 import Environment
from markupsafe import Markup

from annotation.questions.labels import isolated, stacked_label
from annotation.rating.card_questions import change_hint, key_rows, reason_hint


def environment(**options: Any) -> Environment:
    """Return Django's environment with the functions and filters that the templates use."""
    made = Environment(**options, trim_blocks=True, lstrip_blocks=True)  # noqa: S701  # Django switches autoescape on
    functions = (change_hint, from_django, key_rows, reason_hint, static)
    made.globals.update({function.__name__: function for function in functions}, url=reverse)
    made.filters.update(clock=clock, isolated=isolated, stacked=stacked_label)
    return made


def of_request(request: HttpRequest) -> dict[str, object]:
    """Return `_`, which translates a text of a template, and the CSRF token's field, made once for all forms."""
    return {"_": _translator(get_language()), "csrf_input": csrf_input(request)}


@cache
def _translator(_language: str | None) -> Callable[[str], Markup]:
    @cache
    def translated(text: str) -> Markup:
        """Translate into HTML, as Django's `{% translate %}` does; values that it is formatted with are escaped."""
        return Markup(gettext(text))  # noqa: S704  # written in a template, not by a rater or a researcher

    return translated


def from_django(name: str, **context: Any) -> SafeString:
    """Render a part that pages of Django's templates include too."""
    return render_to_string(name, context)


def clock(moment: datetime, *, seconds: bool = True) -> str:
    """Show the time of day in UTC, which a script replaces by the browser's time zone."""
    return localtime(moment).strftime("%H:%M:%S" if seconds else "%H:%M")
