"""A template loader that renders what never changes only once: words, translations, plain addresses of pages and files.

Django walks through every node of a template for every page. Most nodes of ours are always the same in one language:
`{% translate "Submit" %}`, `{% url 'annotation:progress' %}`, `{% static 'icon.svg' %}` and the text between them. As a
template is loaded, each run of such nodes becomes one, which keeps what it rendered, by language. Most others are
replaced by nodes that say the same with less work (`config.folded_nodes`).
"""

from django.template import Origin
from django.template.base import Node, NodeList, Template, TextNode, Variable
from django.template.defaulttags import IfNode, LoadNode, URLNode
from django.template.loaders.cached import Loader as CachedLoader
from django.templatetags.i18n import BlockTranslateNode, TranslateNode
from django.templatetags.static import StaticNode

from config.folded_nodes import ConstantNode, FoldedBlockTranslateNode, folded, is_literal


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
    kept: list[Node] = []
    run: list[Node] = []
    for node in nodes:
        if is_constant(node):
            run.append(node)
            continue
        kept += joined(run)
        run = []
        for name in node.child_nodelists:
            fold_within(node, name)
        kept.append(folded(node))
    nodes[:] = kept + joined(run)


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
    if isinstance(node, BlockTranslateNode):
        return FoldedBlockTranslateNode.is_constant(node)
    if isinstance(node, URLNode):
        return is_literal(node.view_name) and not (node.args or node.kwargs or node.asvar)
    return isinstance(node, StaticNode) and is_literal(node.path) and node.varname is None
