"""Template filters shared by all pages."""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from annotation import markdown
from annotation.models.study import DEFAULT_CONSENT

register = template.Library()


@register.filter
def as_markdown(text: str) -> SafeString:
    """Show Markdown as sanitised HTML."""
    return markdown.render(text)


@register.filter
def isolated(text: str) -> SafeString:
    """Keep a study's own words, which may run from right to left, apart from the words around them."""
    return format_html("<bdi>{}</bdi>", text)


@register.filter
def is_default_consent(text: str) -> bool:
    """Tell whether a consent text is the one that every study begins with; it is in English."""
    return text == DEFAULT_CONSENT


@register.filter
def number(value: float | None, places: int = 3) -> str:
    """Show a number, or a dash where there is none: missing is never 0."""
    return "–" if value is None else f"{value:.{places}f}"
