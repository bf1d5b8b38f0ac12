"""Markdown from studies and from language models → HTML that is safe to show."""

from collections.abc import Sequence

import nh3
from django.utils.html import escape, format_html
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


def _nothing(renderer: RendererHTML, tokens: Sequence[Token], place: int, options: OptionsDict, env: EnvType) -> str:
    return ""


_RENDER = MarkdownIt("commonmark", {"html": False}).enable("table")
_RENDER_GENERATION = MarkdownIt("commonmark", {"html": False}).enable("table")
_RENDER_GENERATION.add_render_rule("image", _alternative_text)
# Taken out below in any case; an address that is named once and used a thousand times would be written a thousand times.
_RENDER_GENERATION.add_render_rule("link_open", _nothing)
_RENDER_GENERATION.add_render_rule("link_close", _nothing)
_DEEPEST = _RENDER_GENERATION.options["maxNesting"] - 1  # what is nested deeper is left out without a word
_DELIMITER = frozenset(" \t>+*.)0123456789|:-")  # of a line of dashes below a table's head, also in a quote or a list


def render(text: str) -> SafeString:
    """Render Markdown; whatever could run or load something is taken out."""
    html = nh3.clean(
        _RENDER.render(text), tags=_TAGS, attributes={"a": {"href"}}, url_schemes={"http", "https", "mailto"}
    )
    return mark_safe(html)


def render_generation(text: str) -> SafeString:
    """Render the Markdown of a generation for a card.

    Links and pictures leave only their words, since an address may tell who wrote the text, and loading one would
    tell its owner who reads. Headings come below those of the card. What would come out much larger than the text, or
    in part only, is shown as it was written: a few kB of Markdown can make seconds of work and a page of megabytes.
    """
    if _cells(text) > _fitting(text) / 2:
        return _as_written(text)
    env: EnvType = {}
    tokens = _RENDER_GENERATION.parse(text, env)
    if any(token.nesting == 1 and token.level >= _DEEPEST for token in tokens):
        return _as_written(text)
    if sum(1 + len(token.children or ()) for token in tokens) > _fitting(text):
        return _as_written(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1:]) + _HEADINGS_ABOVE, 6)}"
    html = _RENDER_GENERATION.renderer.render(tokens, _RENDER_GENERATION.options, env)
    return mark_safe(nh3.clean(html, tags=_GENERATION_TAGS, attributes={"ol": {"start"}}))


def _fitting(text: str) -> int:
    """Return how many elements and pieces of text a rendering may be made of; a usual one takes a third of it."""
    return 2000 + len(text)


def _cells(text: str) -> int:
    """Count the cells that tables of this text could have at most, in a moment: rows are filled up with empty ones.

    A table ends at an empty line, and has as many columns as the line of dashes below its head.
    """
    cells = rows = columns = 0
    for line in [*text.replace("\r", "\n").split("\n"), ""]:
        if line.strip(" \t"):
            rows += 1
            if "-" in line and _DELIMITER.issuperset(line):
                columns = max(columns, line.count("|") + 1)
        else:
            cells += rows * columns
            rows = columns = 0
    return cells


def _as_written(text: str) -> SafeString:
    return format_html('<div class="preserve">{}</div>', text)
