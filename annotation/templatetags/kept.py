"""Parts of a page that are the same for many raters, and are rendered for the first of them only."""

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Any

from django import template
from django.template.base import FilterExpression, NodeList, Parser, Token, token_kwargs
from django.template.context import Context
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

register = template.Library()
MOST_KEPT = 128  # versions of one part: studies and languages that raters are in at the same time


class KeptNode(template.Node):
    """Renders its part once for each language and each set of the values that it is given, and sees nothing else."""

    def __init__(self, part: NodeList, given: dict[str, FilterExpression]) -> None:
        self.part, self.given = part, given
        self.kept: OrderedDict[Hashable, SafeString] = OrderedDict()
        self.lock = Lock()

    def render(self, context: Context) -> SafeString:
        """Return the part as it was kept, or else render and keep it."""
        values: dict[str, Any] = {name: value.resolve(context) for name, value in self.given.items()}
        # The type, too: "1" that is safe is written otherwise than "1" that isn't, and True otherwise than 1.
        key = (get_language(), *((type(value), value) for value in values.values()))
        with self.lock:
            if key in self.kept:
                self.kept.move_to_end(key)
                return self.kept[key]
        rendered = mark_safe(self.part.render(context.new(values)))
        with self.lock:
            self.kept[key] = rendered
            if len(self.kept) > MOST_KEPT:
                self.kept.popitem(last=False)
        return rendered


@register.tag
def kept(parser: Parser, token: Token) -> KeptNode:
    """Mark a part that depends on the language and on the named values alone: `{% kept label=study.label %}…{% endkept %}`.

    Inside there are no other variables than these, neither a request nor a user nor a token against forgery.
    """
    tag, *rest = token.split_contents()
    given = token_kwargs(rest, parser)
    if rest:
        raise template.TemplateSyntaxError(f"{tag} takes named values only, not {' '.join(rest)}")
    part = parser.parse((f"end{tag}",))
    parser.delete_first_token()
    return KeptNode(part, given)
