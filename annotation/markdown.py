"""Markdown from studies → HTML that is safe to show."""

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt

_RENDER = MarkdownIt("commonmark", {"html": False}).enable("table")
_TAGS = {
    *("p", "br", "hr", "h1", "h2", "h3", "h4", "ul", "ol", "li", "strong", "em", "code", "pre", "blockquote"),
    *("table", "thead", "tbody", "tr", "th", "td", "a"),
}


def render(text: str) -> SafeString:
    """Render Markdown; whatever could run or load something is taken out."""
    html = nh3.clean(
        _RENDER.render(text), tags=_TAGS, attributes={"a": {"href"}}, url_schemes={"http", "https", "mailto"}
    )
    return mark_safe(html)
