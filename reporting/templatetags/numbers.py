"""Template filters and tags that format numbers of findings."""

from typing import Any

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import ngettext

from reporting.core.words import rater_name, said

register = template.Library()
register.filter("said", said)
register.filter("rater_name", rater_name)
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


@register.simple_tag
def cell(value: Any, digits: int = 3) -> SafeString:
    """Show what a table's cell holds: an estimate with its interval and n below, a number, or text, which is isolated."""
    if isinstance(value, dict):
        return _estimate_cell(value, value.get("digits", digits))
    if isinstance(value, float):
        return format_html("{}", decimals(value, digits))
    return format_html(
        "{}" if value is None or isinstance(value, int) else "<bdi>{}</bdi>", UNDEFINED if value is None else value
    )


def _estimate_cell(found: dict[str, Any], digits: int) -> SafeString:
    if found["value"] is None:
        return format_html("{} <small>{}</small>", UNDEFINED, said(found["why"]))
    value = decimals(found["value"], digits)
    about = [f"n = {found['n']} {said(found['of'])}"]
    if found.get("n_instances") is not None and found["of"] != "instances":
        number = found["n_instances"]
        about.append(ngettext("{number} instance", "{number} instances", number).format(number=number))
    if found["low"] is None:
        about.append(said(found["why"]))
        shown = format_html("{}", value)
    else:
        low, high = decimals(found["low"], digits), decimals(found["high"], digits)
        shown = format_html('<span class="nowrap">{} <small>[{}, {}]</small></span>', value, low, high)
    return format_html("{} <small>{}</small>", shown, format_html_join("; ", "{}", ((one,) for one in about)))
