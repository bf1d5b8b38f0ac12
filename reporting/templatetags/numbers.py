"""Template filters and tags that format numbers of findings."""

from typing import Any

from django import template
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from annotation.core.counting import UNDEFINED, counted, fixed, interval_text
from reporting.core.text import level_text, rater_name

register = template.Library()
register.filter("counted", counted)
register.filter("rater_name", rater_name)
register.filter("level_text", level_text)


@register.filter
def decimals(value: float | None, digits: int = 3) -> str:
    """Format a number with a fixed number of decimals, or a dash for an undefined one."""
    return UNDEFINED if value is None else fixed(value, digits)


@register.filter
def with_interval(estimate: dict[str, Any], digits: int = 3) -> str:
    """Format an estimate as `0.49 [0.42, 0.54]`, or with the reason why it has no interval."""
    if estimate["low"] is None:
        return f"{decimals(estimate['value'], digits)} ({estimate['why']})"
    return interval_text(estimate, digits)


@register.filter
def signed(value: float | None, digits: int = 3) -> str:
    """Format a change with its sign, or a dash for an undefined one."""
    return UNDEFINED if value is None else fixed(value, digits, signed=True)


@register.filter
def words(name: str) -> str:
    """Convert a key such as `win_loss_rate` to words."""
    return name.replace("_", " ")


@register.filter
def estimate(value: dict[str, Any], unit: str = "") -> SafeString:
    """Show an estimate with its interval and n, or a dash with the reason. With a unit it is a share, or a difference of some."""
    times, digits = (100, 1) if unit else (1, 3)
    texts = {
        key: fixed(times * value[key], digits) for key in ("value", "low", "high", "coin") if value.get(key) is not None
    }
    return render_to_string("reporting/core/_estimate.html", {"found": value, "shown": texts, "unit": unit})
