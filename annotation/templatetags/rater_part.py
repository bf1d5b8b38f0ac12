"""`{% rater_part NAME %}`: a part of a rater's page, whose template is Jinja's."""

from typing import Any

from django import template
from django.template.context import Context
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

register = template.Library()


@register.simple_tag(takes_context=True)
def rater_part(context: Context, name: str, **more: Any) -> SafeString:
    """Render a Jinja template with the page's context and `more`."""
    of_page: dict[Any, Any] = context.flatten()
    part = render_to_string(name, {**of_page, **more}, context.get("request"), using="jinja2")
    return mark_safe(part)  # noqa: S308  # Jinja has escaped it
