"""Nodes that stand in for Django's in a folded template: they say the same, and ask for less.

What stays the same while a page is rendered (its language, its CSRF token) is asked for once, what stays the same for
ever (the words of a translation, the template that another one includes) is kept on the node. All of Django's rules
hold: escaping, localised values, errors. Whatever is out of the ordinary is left to Django's own code.
"""

import html
from typing import Any, ClassVar

from django.conf import settings
from django.template import Context, Template
from django.template.base import Node, TokenType, VariableNode, render_value_in_context
from django.template.defaulttags import CsrfTokenNode
from django.template.loader_tags import BLOCK_CONTEXT_KEY, BlockContext, BlockNode, ExtendsNode, IncludeNode
from django.templatetags.i18n import BlockTranslateNode, LanguageNode
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext

_LANGUAGE, _CSRF = object(), object()


def language_of(context: Context) -> str | None:
    """Return the language that a page is rendered in; Django looks for it in the thread each time."""
    kept = _kept_for_page(context)
    if _LANGUAGE not in kept:
        kept[_LANGUAGE] = get_language()
    language: str | None = kept[_LANGUAGE]
    return language


def _kept_for_page(context: Context) -> dict[Any, Any]:
    """Return what is kept while a whole page is rendered; Django's nodes keep things of one template elsewhere."""
    state: Any = context.render_context
    kept: dict[Any, Any] = state.dicts[0]
    return kept


def is_literal(expression: Any) -> bool:
    """Tell whether a filter expression is a quoted text and nothing more."""
    return isinstance(expression.var, str) and not expression.filters


def rendered(value: Any, context: Context) -> str:
    """Return what a value is on a page, as Django's `render_value_in_context` does, sooner for words and whole numbers."""
    kind = type(value)
    if kind is SafeString:
        return value
    if kind is str:
        return SafeString(html.escape(value)) if context.autoescape else str(value)
    if kind is int and not settings.USE_THOUSAND_SEPARATOR:
        return str(value)
    return str(render_value_in_context(value, context))


class ConstantNode(Node):
    """Nodes that depend on the language alone."""

    def __init__(self, nodes: list[Node]) -> None:
        self.nodes = nodes
        self.origin, self.token = nodes[0].origin, nodes[0].token
        self.rendered: dict[str | None, SafeString] = {}

    def render(self, context: Context) -> SafeString:
        """Return what these nodes render to in the active language."""
        language = language_of(context)
        try:
            return self.rendered[language]
        except KeyError:
            words = "".join(str(node.render_annotated(context)) for node in self.nodes)
            return self.rendered.setdefault(language, SafeString(words))

    render_annotated = render  # what these nodes hold can't fail in one page and not in another


class FoldedNode(Node):
    """A node in place of one of Django's, whose attributes it has."""

    takes: ClassVar[type[Node]]

    @classmethod
    def in_place_of(cls, node: Node) -> Node:
        """Return such a node, or the given one where it holds what only Django's own code knows."""
        if not cls.can_replace(node):
            return node
        folded = cls.__new__(cls)
        vars(folded).update(vars(node))
        folded.prepare()
        return folded

    @classmethod
    def can_replace(cls, node: Any) -> bool:
        """Tell whether a node is one of the ordinary ones."""
        return True

    def prepare(self) -> None:
        """Work out what never changes."""


class FoldedVariableNode(FoldedNode, VariableNode):
    """`{{ card.key }}`."""

    takes = VariableNode

    def render(self, context: Context) -> str:
        """Return the escaped value."""
        try:
            return rendered(self.filter_expression.resolve(context), context)
        except UnicodeDecodeError:  # Django's own node says nothing, too
            return ""


class FoldedCsrfTokenNode(FoldedNode, CsrfTokenNode):
    """`{% csrf_token %}`: a page has one token, and as many fields with it as forms."""

    takes = CsrfTokenNode

    def render(self, context: Context) -> SafeString:
        """Return the field."""
        token, kept = context.get("csrf_token"), _kept_for_page(context)
        if _CSRF not in kept or kept[_CSRF][0] is not token:  # a part that is included `only` with others has none
            kept[_CSRF] = (token, super().render(context))
        field: SafeString = kept[_CSRF][1]
        return field


class FoldedBlockTranslateNode(FoldedNode, BlockTranslateNode):
    """`{% blocktranslate %}` without a plural: its words are put together once, and looked up once a language."""

    takes = BlockTranslateNode
    message: str
    names: list[str]
    translated: dict[str | None, str]

    @classmethod
    def can_replace(cls, node: BlockTranslateNode) -> bool:
        """Tell whether a text has neither plural nor context nor a name for what it says."""
        return not (node.plural or node.countervar or node.message_context or node.asvar)

    def prepare(self) -> None:
        """Put the words together."""
        self.message, self.names = self.render_token_list(self.singular)
        self.translated = {}

    def render(self, context: Context, nested: bool = False) -> str:
        """Return the translation, with its values put in."""
        language = language_of(context)
        if language not in self.translated:
            self.translated[language] = gettext(self.message)
        given = {name: value.resolve(context) for name, value in self.extra_context.items()}
        try:
            values = {name: rendered(given[name] if name in given else context[name], context) for name in self.names}
            return self.translated[language] % values
        except (KeyError, ValueError):  # a value that there is not, or a translation that names others
            return str(super().render(context, nested))

    @classmethod
    def is_constant(cls, node: BlockTranslateNode) -> bool:
        """Tell whether no value is put into a text."""
        has_values = any(token.token_type == TokenType.VAR for token in node.singular)
        return cls.can_replace(node) and not node.extra_context and not has_values


def _template(context: Context, name: Any) -> Template:
    """Return the template that a quoted text names."""
    engine: Any = context.template
    found: Template = engine.engine.get_template(name.var)
    return found


class FoldedIncludeNode(FoldedNode, IncludeNode):
    """`{% include "a_name.html" %}`: finds its template once."""

    takes = IncludeNode
    included: Template | None

    @classmethod
    def can_replace(cls, node: IncludeNode) -> bool:
        """Tell whether a node always includes the same template."""
        return is_literal(node.template) and not node.template.var.startswith(".") and not node.isolated_context

    def prepare(self) -> None:
        """Wait for the first time: a template may include itself."""
        self.included = None

    def render(self, context: Context) -> SafeString:
        """Render the other template."""
        if self.included is None:
            self.included = _template(context, self.template)
        with context.push(**{name: value.resolve(context) for name, value in self.extra_context.items()}):
            return self.included.render(context)


class FoldedExtendsNode(FoldedNode, ExtendsNode):
    """`{% extends "base.html" %}`, where that extends no other: finds it once, and its blocks, for all who extend it."""

    takes = ExtendsNode
    parent: Template | None
    its_blocks: dict[str, BlockNode]

    @classmethod
    def can_replace(cls, node: ExtendsNode) -> bool:
        """Tell whether a template always extends the same one: one of its own name is looked for in other folders."""
        name: Any = node.parent_name
        return (
            is_literal(name) and not name.var.startswith(".") and name.var != getattr(node.origin, "template_name", "")
        )

    def prepare(self) -> None:
        """Wait for the first time: the other one is loaded by then."""
        self.parent = None
        self.its_blocks = {}

    def render(self, context: Context) -> str:
        """Render the other template, with the blocks of this one in it."""
        if self.parent is None:
            parent = _template(context, self.parent_name)
            if parent.nodelist.get_nodes_by_type(ExtendsNode):
                return str(super().render(context))
            blocks: list[Any] = parent.nodelist.get_nodes_by_type(BlockNode)
            self.its_blocks = {block.name: block for block in blocks}
            self.parent = parent
        state: Any = context.render_context
        in_place = state.setdefault(BLOCK_CONTEXT_KEY, BlockContext())
        in_place.add_blocks(self.blocks)
        in_place.add_blocks(self.its_blocks)
        with state.push_state(self.parent, isolated_context=False):
            return str(self.parent._render(context))  # type: ignore[attr-defined]


class FoldedLanguageNode(FoldedNode, LanguageNode):
    """`{% language %}`: within it, and after it, the language is asked for anew."""

    takes = LanguageNode

    def render(self, context: Context) -> str:
        """Render what is within in its language."""
        kept = _kept_for_page(context)
        kept.pop(_LANGUAGE, None)
        try:
            return str(super().render(context))
        finally:
            kept.pop(_LANGUAGE, None)


_FOLDED: dict[type[Node], type[FoldedNode]] = {
    kind.takes: kind
    for kind in (
        FoldedVariableNode,
        FoldedCsrfTokenNode,
        FoldedBlockTranslateNode,
        FoldedIncludeNode,
        FoldedExtendsNode,
        FoldedLanguageNode,
    )
}


def folded(node: Node) -> Node:
    """Return the node that stands in for one of Django's, or that one itself."""
    kind = _FOLDED.get(type(node))
    return node if kind is None else kind.in_place_of(node)
