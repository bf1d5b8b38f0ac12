"""Texts of studies and of generations → what pages show: sanitised HTML of Markdown, the text as written, “(no text)”."""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from html import unescape
from typing import TYPE_CHECKING

import nh3
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext

from annotation.core.conversations import Message, Transcript, as_messages, content_of, role_of
from annotation.core.formulas import with_formulas

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML
    from markdown_it.token import Token
    from markdown_it.utils import EnvType, OptionsDict

_BLOCKS = {
    *("p", "br", "hr", "ul", "ol", "li", "strong", "em", "code", "pre", "blockquote"),
    *("div", "table", "thead", "tbody", "tr", "th", "td"),
}
_TAGS = {*_BLOCKS, "h1", "h2", "h3", "h4", "a"}
_GENERATION_TAGS = {*_BLOCKS, "h4", "h5", "h6"}
_BOX = {"div": {"class", "role", "tabindex", "aria-label"}}  # from the rules below: HTML in a text is escaped
_HEADINGS_ABOVE = 3  # levels used by a card: the page's, the pair's, the side's


_TAG = re.compile(r"<[^>]*>")  # in sanitised HTML, where "<" always starts a tag
# Hangul fillers, the empty Braille cell, joiners and variation selectors: printable, but invisible.
_UNSEEN = re.compile(
    "[\\u034f\\u115f\\u1160\\u180b-\\u180d\\u2800\\u3164\\ufe00-\\ufe0f\\uffa0\\U000e0100-\\U000e01ef]"
)


def _rule(show: Callable[["Token"], str]) -> Callable[..., str]:
    """Return a render rule that shows one token."""

    def rule(
        renderer: "RendererHTML", tokens: Sequence["Token"], index: int, options: "OptionsDict", env: "EnvType"
    ) -> str:
        return show(tokens[index])

    return rule


def _box(name: str) -> str:
    """Open a box that scrolls sideways, also by keys, since tables and code are not wrapped."""
    return f'<div class="scroll" role="group" tabindex="0" aria-label="{escape(name)}">'


def _new_renderer() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # 60 modules, which only pages with a Markdown text need

    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    code = _rule(lambda token: f"{_box(gettext('Code'))}<pre><code>{escape(token.content)}</code></pre></div>")
    markdown.add_render_rule("table_open", _rule(lambda _token: _box(gettext("Table")) + "<table>"))
    markdown.add_render_rule("table_close", _rule(lambda _token: "</table></div>"))
    markdown.add_render_rule("fence", code)
    markdown.add_render_rule("code_block", code)
    return markdown


@cache
def _renderer() -> "MarkdownIt":
    return _new_renderer()


@cache
def _generation_renderer() -> "MarkdownIt":
    markdown = _new_renderer()
    markdown.add_render_rule("image", _rule(lambda token: str(escape(token.content))))
    # nh3 removes links anyway; a reference used a thousand times would first be written out a thousand times.
    markdown.add_render_rule("link_open", _rule(lambda _token: ""))
    markdown.add_render_rule("link_close", _rule(lambda _token: ""))
    return markdown


# A box takes much markup for a few characters of code, and is a tab stop.
_WEIGHTS = {"fence": 20, "code_block": 20, "table_open": 20}
_DELIMITER = frozenset(" \t>+*.)0123456789|:-")  # characters of a table's delimiter row, also in a quote or a list


def render(text: str) -> SafeString:
    """Render Markdown without anything that runs or loads."""
    return _rendered(text, get_language())


@lru_cache(maxsize=64)  # a study's guidelines are on every page of its raters
def _rendered(text: str, _language: str | None) -> SafeString:
    html = nh3.clean(
        _renderer().render(text),
        tags=_TAGS,
        attributes={"a": {"href"}, **_BOX},
        url_schemes={"http", "https", "mailto"},
    )
    return mark_safe(html)  # noqa: S308  # nh3 has cleaned it


def heading_anchors(headings: Iterable[str]) -> list[str]:
    """Return the anchors of a page's headings, as GitHub forms them. A repeated one gets a number."""
    anchors: list[str] = []
    for heading in headings:
        anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        repeated = sum(re.fullmatch(rf"{re.escape(anchor)}(-\d+)?", other) is not None for other in anchors)
        anchors.append(f"{anchor}-{repeated}" if repeated else anchor)
    return anchors


def render_documentation(text: str, *, is_target: Callable[[str], bool]) -> SafeString:
    """Render a page of the documentation, with anchors and pictures. Links to other files than pages become text."""
    markdown = _renderer()
    tokens = markdown.parse(text)
    headings = [index for index, token in enumerate(tokens) if token.type == "heading_open"]
    anchors = heading_anchors(tokens[index + 1].content for index in headings)
    for index, anchor in zip(headings, anchors, strict=True):
        tokens[index].attrSet("id", anchor)
    for link in (child for token in tokens for child in token.children or () if child.type == "link_open"):
        target = str(link.attrGet("href")).partition("#")[0]
        if target and "://" not in target and not is_target(target):
            link.attrs = {}
    html = nh3.clean(
        markdown.renderer.render(tokens, markdown.options, {}),
        tags={*_TAGS, "img"},
        attributes={"a": {"href"}, "img": {"src", "alt"}, **{f"h{level}": {"id"} for level in range(1, 5)}, **_BOX},
        url_schemes={"http", "https", "mailto"},
    )
    return mark_safe(html)  # noqa: S308  # nh3 has cleaned it


def render_generation(text: str) -> SafeString:
    """Render the Markdown of a generation for a card.

    Links and images are reduced to their text: a URL may tell which system wrote it, and loading it would tell its
    owner who reads. Headings are moved below those of the card. A text whose HTML would be incomplete or much larger
    than itself is shown unrendered: a few kB of Markdown can take seconds and make a page of megabytes.
    """
    if _cells(text) > _fitting(text) / 2:
        return _as_written(text)
    markdown = _generation_renderer()
    env: EnvType = {}
    tokens = markdown.parse(text, env)
    deepest = markdown.options["maxNesting"] - 1  # deeper nesting is dropped silently
    if any(token.nesting == 1 and token.level >= deepest for token in tokens):
        return _as_written(text)
    if sum(_WEIGHTS.get(token.type, 1) + len(token.children or ()) for token in tokens) > _fitting(text):
        return _as_written(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1:]) + _HEADINGS_ABOVE, 6)}"
    html = markdown.renderer.render(tokens, markdown.options, env)
    cleaned = nh3.clean(html, tags=_GENERATION_TAGS, attributes={"ol": {"start"}, **_BOX})
    return mark_safe(cleaned)  # noqa: S308  # nh3 has cleaned it


def _fitting(text: str) -> int:
    """Return how many tokens a rendering may have. Usual texts have a third of that."""
    return 2000 + len(text)


def _cells(text: str) -> int:
    """Return an upper bound of the cells in the text's tables, without parsing it: short rows are padded.

    A table ends at an empty line and has as many columns as its delimiter row.
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


def is_blank(text: str) -> bool:
    """Tell whether a text has only white space and invisible characters."""
    return not any(char.isprintable() and not char.isspace() and not _UNSEEN.match(char) for char in text)


def shown_text(text: str, *, rendered: bool = False, math: bool = False) -> str:
    """Return a text for a template, which escapes it unless it is rendered.

    A conversation is a list of its messages, whatever these say.

    rendered : render its Markdown; if nothing visible results (an image without alternative text), “(no text)”
    math     : show its LaTeX formulas; Markdown leaves them as typed otherwise
    """
    if isinstance(text, Transcript):
        return _chat(text.messages, rendered=rendered, math=math)
    if is_blank(text):
        return _no_text()
    render: Callable[[str], str] = render_generation if rendered else str
    html = with_formulas(text, render, math=math) if rendered or math else text
    if not rendered:
        return html
    return html if "<hr" in html or not is_blank(unescape(_TAG.sub("", html))) else _no_text()


def shown_texts(texts: Sequence[str], **options: bool) -> list[str]:
    """Return the texts of a pair as `shown_text`, all in one form: a text beside a conversation is a message of an assistant.

    Else the form of a text would tell raters which system wrote it.
    """
    if any(isinstance(text, Transcript) for text in texts):
        texts = [Transcript(as_messages(text, "assistant")) for text in texts]
    return [shown_text(text, **options) for text in texts]


def _chat(messages: Sequence[Message], *, rendered: bool, math: bool) -> SafeString:
    contents = "\n\n".join(map(content_of, messages))
    # The bound of one text, for all messages together.
    options = {"rendered": rendered and _cells(contents) <= _fitting(contents) / 2, "math": math}
    speakers = {
        "system": gettext("System"),
        "user": gettext("User"),
        "assistant": gettext("Assistant"),
        "tool": gettext("Tool"),
    }
    items = (
        (role, get_language(), speakers[role], shown_text(content_of(message), **options))
        for message in messages
        if (role := role_of(message))
    )
    # Safari takes a list without markers for none.
    message = '<li class="{}"><b lang="{}">{}</b><div dir="auto">{}</div></li>'
    return format_html('<ol class="chat" role="list">{}</ol>', format_html_join("", message, items))


def _no_text() -> str:
    # The class tells it from a generation that says the same: sanitised HTML has no classes but the box's.
    return format_html('<em class="no-text">{}</em>', gettext("(no text)"))
