"""Template filters shared by all pages."""

from django import template
from django.utils.safestring import SafeString

from annotation import markdown

register = template.Library()


@register.filter
def as_markdown(text: str) -> SafeString:
    """Show Markdown as sanitised HTML."""
    return markdown.render(text)


@register.filter
def number(value: float | None, places: int = 3) -> str:
    """Show a number, or a dash where there is none: missing is never 0."""
    return "–" if value is None else f"{value:.{places}f}"
