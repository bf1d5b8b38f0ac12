"""Markdown from studies and from language models → HTML that is safe to show."""

from collections.abc import Sequence

import nh3
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

_BLOCKS = {
    *("p", "br", "hr", "ul", "ol", "li", "strong", "em", "code", "pre", "blockquote"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}
_TAGS = {*_BLOCKS, "h1", "h2", "h3", "h4", "a"}
_GENERATION_TAGS = {*_BLOCKS, "h4", "h5", "h6"}
_HEADINGS_ABOVE = 3  # on a card: the page's, the pair's, the side's


def _alternative_text(
    renderer: RendererHTML, tokens: Sequence[Token], place: int, options: OptionsDict, env: EnvType
) -> str:
    return str(escape(tokens[place].content))


_RENDER = MarkdownIt("commonmark", {"html": False}).enable("table")
_RENDER_GENERATION = MarkdownIt("commonmark", {"html": False}).enable("table")
_RENDER_GENERATION.add_render_rule("image", _alternative_text)


def render(text: str) -> SafeString:
    """Render Markdown; whatever could run or load something is taken out."""
    html = nh3.clean(
        _RENDER.render(text), tags=_TAGS, attributes={"a": {"href"}}, url_schemes={"http", "https", "mailto"}
    )
    return mark_safe(html)


def render_generation(text: str) -> SafeString:
    """Render the Markdown of a generation for a card.

    Links and pictures leave only their words, since an address may tell who wrote the text, and loading one would
    tell its owner who reads. Headings come below those of the card.
    """
    env: EnvType = {}
    tokens = _RENDER_GENERATION.parse(text, env)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1:]) + _HEADINGS_ABOVE, 6)}"
    html = _RENDER_GENERATION.renderer.render(tokens, _RENDER_GENERATION.options, env)
    return mark_safe(nh3.clean(html, tags=_GENERATION_TAGS, attributes={"ol": {"start"}}))
