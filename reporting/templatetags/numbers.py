"""Template filters and tags that format numbers of findings."""

from html import escape
from typing import Any

from django import template
from django.utils.safestring import SafeString

from reporting.core.text import UNDEFINED, fixed, level_text
from reporting.core.units import counted
from reporting.core.words import rater_name
from reporting.findings.sections.data_table import DataTable

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


@register.inclusion_tag("reporting/core/_estimate.html")
def estimate(found: dict[str, Any]) -> dict[str, Any]:
    """Show an estimate with its interval and n; an undefined one as a dash with the reason."""
    return {"found": found}


@register.simple_tag
def table_rows(table: DataTable) -> SafeString:
    """Show the rows of a table: a page has thousands of cells, for which templates take four times as long."""
    rows = (
        "".join(
            [
                "<tr>",
                *(f'<th scope="row">{cell(value)}</th>' for value in heads),
                *(f"<td>{cell(value, table.digits)}</td>" for value in cells),
                "</tr>",
            ]
        )
        for heads, cells in table.shown
    )
    return SafeString("\n".join(rows))


@register.simple_tag
def cell(value: Any, digits: int = 3) -> SafeString:
    """Show what a table's cell holds: an estimate with its interval and n below, a number, or text, which is isolated."""
    if value is None:
        return SafeString(UNDEFINED)
    if isinstance(value, dict):
        return SafeString(_estimate_cell(value, value.get("digits", digits)))
    if isinstance(value, float):
        return SafeString(decimals(value, digits))
    return SafeString(value if isinstance(value, int) else f"<bdi>{escape(str(value))}</bdi>")


def _estimate_cell(found: dict[str, Any], digits: int) -> str:
    if found["value"] is None:
        return f"{UNDEFINED} <small>{escape(found['why'])}</small>"
    shown = decimals(found["value"], digits)
    about = [found["about"] if "about" in found else f"n = {counted(found['n'], found['of'])}"]
    if "about" not in found and found.get("n_instances") is not None and found["of"] != "instances":
        about.append(counted(found["n_instances"], "instances"))
    if "effective_n" in found and "about" not in found:
        about.append(f"as good as {fixed(found['effective_n'], 1)} of equal size")
    if found["low"] is None:
        about.append(found["why"])
    else:
        low, high = decimals(found["low"], digits), decimals(found["high"], digits)
        shown = f'<span class="nowrap">{shown} <small>[{low}, {high}]</small></span>'
    return f"{shown} <small>{escape('; '.join(filter(None, about)))}</small>"
