"""Template filters and tags that format numbers of findings."""

from typing import Any

from django import template

register = template.Library()
UNDEFINED = "—"


@register.filter
def decimals(value: float | None, digits: int = 3) -> str:
    """Format a number with a fixed number of decimals; an undefined one as a dash."""
    return UNDEFINED if value is None else f"{value:z.{digits}f}"


@register.filter
def with_interval(found: dict[str, Any], digits: int = 3) -> str:
    """Format an estimate as `0.49 [0.42, 0.54]`, or with the reason why it has no interval."""
    if found["low"] is None:
        return f"{decimals(found['value'], digits)} ({found['why']})"
    return f"{decimals(found['value'], digits)} [{decimals(found['low'], digits)}, {decimals(found['high'], digits)}]"


@register.filter
def signed(value: float | None, digits: int = 3) -> str:
    """Format a change with its sign, by the typographic minus; an undefined one as a dash."""
    return UNDEFINED if value is None else f"{value:+z.{digits}f}".replace("-", "−")


@register.filter
def words(name: str) -> str:
    """Convert a key such as `win_loss_rate` to words."""
    return name.replace("_", " ")


@register.inclusion_tag("reporting/core/_estimate.html")
def estimate(found: dict[str, Any]) -> dict[str, Any]:
    """Show an estimate with its interval and n; an undefined one as a dash with the reason."""
    return {"found": found}
