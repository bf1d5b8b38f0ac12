"""A template loader that renders what never changes only once: words, translations, plain addresses of pages and files.

Django walks through every node of a template for every page. Most nodes of ours are always the same in one language:
`{% translate "Submit" %}`, `{% url 'annotation:progress' %}`, `{% static 'icon.svg' %}` and the text between them. As a
template is loaded, each run of such nodes becomes one, which keeps what it rendered, by language.
"""

from typing import Any

from django.template import Context, Origin
from django.template.base import Node, NodeList, Template, TextNode, Variable
from django.template.defaulttags import IfNode, LoadNode, URLNode
from django.template.loaders.cached import Loader as CachedLoader
from django.templatetags.i18n import TranslateNode
from django.templatetags.static import StaticNode
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language


class ConstantNode(Node):
    """Nodes that depend on the language alone."""

    def __init__(self, nodes: list[Node]) -> None:
        self.nodes = nodes
        self.origin, self.token = nodes[0].origin, nodes[0].token
        self.rendered: dict[str | None, SafeString] = {}

    def render(self, context: Context) -> SafeString:
        """Return what these nodes render to in the active language."""
        language = get_language()
        if language not in self.rendered:
            self.rendered[language] = mark_safe("".join(str(node.render_annotated(context)) for node in self.nodes))
        return self.rendered[language]

    def render_annotated(self, context: Context) -> SafeString:
        """Do the same; what these nodes hold can't fail in one page and not in another."""
        return self.render(context)


class Loader(CachedLoader):
    """Loads templates as Django's cached loader does, and folds each once."""

    def get_template(self, template_name: str, skip: list[Origin] | None = None) -> Template:
        """Return a template, folded."""
        template = super().get_template(template_name, skip)
        if not getattr(template, "is_folded", False):
            fold(template.nodelist)
            template.is_folded = True  # type: ignore[attr-defined]
        return template


def fold(nodes: NodeList) -> None:
    """Replace each run of constant nodes, here and in everything within, by one node."""
    folded: list[Node] = []
    run: list[Node] = []
    for node in nodes:
        if is_constant(node):
            run.append(node)
            continue
        folded += joined(run)
        run = []
        for name in node.child_nodelists:
            fold_within(node, name)
        folded.append(node)
    nodes[:] = folded + joined(run)


def fold_within(node: Node, name: str) -> None:
    """Fold one of a node's own lists; an `if` keeps a list for each of its conditions."""
    if isinstance(node, IfNode):  # its `nodelist` is made anew each time it is asked for
        for _condition, branch in node.conditions_nodelists:
            fold(branch)
    elif isinstance(within := getattr(node, name, None), NodeList):
        fold(within)


def joined(run: list[Node]) -> list[Node]:
    """Return the node or nodes that stand for a run."""
    return run if len(run) < 2 and all(isinstance(node, TextNode) for node in run) else [ConstantNode(run)]


def is_constant(node: Node) -> bool:
    """Tell whether a node renders to the same in every context of one language."""
    if isinstance(node, TextNode | LoadNode):
        return True
    if isinstance(node, TranslateNode):
        words = node.filter_expression
        fixed = isinstance(words.var, str) or (isinstance(words.var, Variable) and words.var.literal is not None)
        return fixed and not (words.filters or node.asvar or node.message_context or node.noop)
    if isinstance(node, URLNode):
        return is_literal(node.view_name) and not (node.args or node.kwargs or node.asvar)
    return isinstance(node, StaticNode) and is_literal(node.path) and node.varname is None


def is_literal(expression: Any) -> bool:
    """Tell whether a filter expression is a quoted text and nothing more."""
    return isinstance(expression.var, str) and not expression.filters
