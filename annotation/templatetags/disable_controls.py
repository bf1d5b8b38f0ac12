"""`{% disable_controls %} … {% enddisable_controls %}`: render a part of a page with its controls disabled."""

from django import template
from django.template.base import NodeList, Parser, Token
from django.template.context import Context
from django.utils.safestring import SafeString, mark_safe

from annotation.rating.preview_html import disable_controls

register = template.Library()
# These change the look of the page only.
USABLE = frozenset({"tool-differences", "tool-size"})


class DisableControlsNode(template.Node):
    """The nodes between the tags."""

    def __init__(self, nodelist: NodeList) -> None:
        self.nodelist = nodelist

    def render(self, context: Context) -> SafeString:
        """Render the nodes, then disable their controls."""
        return mark_safe(disable_controls(self.nodelist.render(context), usable=USABLE))  # noqa: S308  # rendered and escaped before


@register.tag("disable_controls")
def do_disable_controls(parser: Parser, token: Token) -> DisableControlsNode:
    """Parse up to the end tag."""
    nodelist = parser.parse(("enddisable_controls",))
    parser.delete_first_token()
    return DisableControlsNode(nodelist)
