"""Template filters and tags that format numbers of findings."""

from typing import Any

from django import template
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from annotation.core.tables import UNDEFINED, fixed
from reporting.core.text import counted, level_text, rater_name

register = template.Library()
register.filter("counted", counted)
register.filter("rater_name", rater_name)
register.filter("level_text", level_text)


@register.filter
def decimals(value: float | None, digits: int = 3) -> str:
    """Format a number with a fixed number of decimals; an undefined one as a dash."""
    return UNDEFINED if value is None else fixed(value, digits)


@register.filter
def with_interval(found: dict[str, Any], digits: int = 3) -> str:
    """Format an estimate as `0.49 [0.42, 0.54]`, or with the reason why it has no interval."""
    if found["low"] is None:
        return f"{decimals(found['value'], digits)} ({found['why']})"
    return f"{decimals(found['value'], digits)} [{decimals(found['low'], digits)}, {decimals(found['high'], digits)}]"


@register.filter
def signed(value: float | None, digits: int = 3) -> str:
    """Format a change with its sign; an undefined one as a dash."""
    return UNDEFINED if value is None else fixed(value, digits, signed=True)


@register.filter
def words(name: str) -> str:
    """Convert a key such as `win_loss_rate` to words."""
    return name.replace("_", " ")


@register.filter
def estimate(found: dict[str, Any]) -> SafeString:
    """Show an estimate with its interval and n; an undefined one as a dash with the reason."""
    return render_to_string("reporting/core/_estimate.html", {"found": found})
