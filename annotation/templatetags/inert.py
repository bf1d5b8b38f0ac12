"""`{% inert %} … {% endinert %}`: shows a part of a page so that nothing of it can be used."""

from django import template
from django.template.base import NodeList, Parser, Token
from django.template.context import Context
from django.utils.safestring import SafeString, mark_safe

from annotation.inert import inert

register = template.Library()
# What changes but the look of the page, and sends nothing.
USABLE = frozenset({"tool-differences", "tool-size"})


class InertNode(template.Node):
    """The part between the tags."""

    def __init__(self, nodelist: NodeList) -> None:
        self.nodelist = nodelist

    def render(self, context: Context) -> SafeString:
        """Render it, then take out what could be used."""
        return mark_safe(inert(self.nodelist.render(context), usable=USABLE))


@register.tag("inert")
def do_inert(parser: Parser, token: Token) -> InertNode:
    """Read up to the end tag."""
    nodelist = parser.parse(("endinert",))
    parser.delete_first_token()
    return InertNode(nodelist)
