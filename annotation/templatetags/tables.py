"""`{% table one in rows %}{% column "Label" %}…{% endcolumn %}{% endtable %}`, and tables that views made."""

from dataclasses import dataclass
from html import escape, unescape
from typing import Any

from django import template
from django.forms.utils import flatatt
from django.template.base import FilterExpression, Node, NodeList, Parser, Token, token_kwargs
from django.template.context import Context
from django.template.loader import render_to_string
from django.utils.html import conditional_escape, strip_tags
from django.utils.safestring import SafeString

from annotation.core.counting import UNDEFINED, estimate_basis, fixed
from annotation.core.tables import Cell, Column, DataTable, StyledRow

register = template.Library()
CELLS = "cells_of_row"  # in the context of a row
DEFAULTS = {"name": "", "caption": "", "css": "wide stack lines"}


@dataclass(eq=False)
class TableNode(Node):
    """A table with a row for each value. The columns are what its content declares."""

    names: list[str]
    values: FilterExpression
    options: dict[str, FilterExpression]
    nodelist: NodeList
    empty: NodeList | None
    child_nodelists = ("nodelist", "empty")

    def render(self, context: Context) -> SafeString:
        """Render the rows, then the table around them. Without rows, what stands after `empty`, or “None.”"""
        columns: list[Column] = []
        rows: list[StyledRow] = []
        for value in self.values.resolve(context) or ():
            with context.push(**self._variables(value), **{CELLS: []}):
                self.nodelist.render(context)
                declared: list[tuple[Column, Cell]] = context[CELLS]
                css = self.options["row_class"].resolve(context) if "row_class" in self.options else ""
            columns = [column for column, _cell in declared]
            heads = [cell for _column, cell in declared if "scope" in cell.attributes]
            rows.append(StyledRow(heads, [cell for _column, cell in declared if "scope" not in cell.attributes], css))
        if not rows:
            return self.empty.render(context) if self.empty else render_to_string("annotation/core/_empty.html")
        options = {key: value.resolve(context) for key, value in self.options.items() if key != "row_class"}
        table = DataTable(columns=columns, rows=rows, most=len(rows), **{**DEFAULTS, **options})
        return render_to_string("annotation/core/_table.html", {"table": table})

    def _variables(self, value: Any) -> dict[str, Any]:
        return {self.names[0]: value} if len(self.names) == 1 else dict(zip(self.names, value, strict=True))


@register.tag("table")
def do_table(parser: Parser, token: Token) -> TableNode:
    """Parse `{% table one, other in rows class="…" %}` up to its end. `{% empty %}` stands for missing rows."""
    bits = token.split_contents()[1:]
    at = bits.index("in")
    names = "".join(bits[:at]).split(",")
    values = parser.compile_filter(bits[at + 1])
    options = token_kwargs(bits[at + 2 :], parser)
    nodelist, empty = parser.parse(("empty", "endtable")), None
    if parser.next_token().contents == "empty":
        empty = parser.parse(("endtable",))
        parser.delete_first_token()
    return TableNode(names, values, options, nodelist, empty)


@register.simple_block_tag(takes_context=True, name="column")
def add_column(context: Context, content: str, label: Any, **attributes: Any) -> str:
    """Add a column's heading and its cell to the row of the context. `scope="row"` heads rows, `data_x` is `data-x`."""
    attributes = {key.replace("_", "-"): value for key, value in attributes.items()}
    column = Column(conditional_escape(label), "num" in attributes.get("class", "").split())
    context[CELLS].append((column, Cell(SafeString(content.strip()), attributes)))
    return ""


@register.simple_tag
def table_head(table: DataTable) -> SafeString:
    """Show the headings of a table's columns."""
    return SafeString(
        "\n".join(
            f"<th{flatatt({'scope': 'col', 'class': 'num' if column.is_numeric else None})}>{cell(column.label)}</th>"
            for column in _columns(table)
        )
    )


@register.simple_tag
def table_rows(table: DataTable) -> SafeString:
    """Show the rows of a table: a page has thousands of cells, for which templates take four times as long."""
    labelled = "stack" in table.css.split()
    plain = [
        {
            "class": "num" if column.is_numeric else None,
            "data-label": unescape(strip_tags(column.label)) if labelled else None,
        }
        for column in _columns(table)
    ]
    tags = [f"<td{flatatt(attributes)}>" for attributes in plain]
    units = [column.unit for column in _columns(table)]
    return SafeString("\n".join(_row(StyledRow(*row), table.digits, plain, tags, units) for row in table.shown))


def _columns(table: DataTable) -> list[Column]:
    rows = [[*row[0], *row[1]] for row in table.shown]
    return [
        column._replace(is_numeric=column.is_numeric or _are_numbers([row[index] for row in rows if index < len(row)]))
        for index, column in enumerate(table.headings)
    ]


def _are_numbers(values: list[Any]) -> bool:
    numbers = [value for value in values if value is not None]
    return bool(numbers) and all(isinstance(value, int | float | dict) for value in numbers)


def _sort_value(value: Any) -> dict[str, str]:
    """Return the attribute by which scripts sort a cell whose text is rounded."""
    number = value["value"] if isinstance(value, dict) else value
    return {"data-value": f"{number:.6g}"} if isinstance(number, float) else {}


def _row(row: StyledRow, digits: int, plain: list[dict[str, Any]], tags: list[str], units: list[str]) -> str:
    first = len(row.heads)
    html = [f'<tr class="{escape(row.css)}">' if row.css else "<tr>"]
    for head, shared in zip(row.heads, plain, strict=False):
        value, attributes = head if isinstance(head, Cell) else (head, {})
        html.append(f"<th{flatatt({'scope': 'row', 'class': shared['class'], **attributes})}>{cell(value)}</th>")
    for value, attributes, tag, unit in zip(row.cells, plain[first:], tags[first:], units[first:], strict=False):
        if isinstance(value, Cell):
            attributes = {**attributes, **_sort_value(value.value), **value.attributes}
            html.append(f"<td{flatatt(attributes)}>{cell(value.value, digits, unit)}</td>")
        elif number := _sort_value(value):
            html.append(f"{tag[:-1]}{flatatt(number)}>{cell(value, digits, unit)}</td>")
        else:
            html.append(f"{tag}{cell(value, digits)}</td>")
    return "".join([*html, "</tr>"])


@register.simple_tag
def cell(value: Any, digits: int = 3, unit: str = "") -> SafeString:
    """Show what a table's cell holds: an estimate with its interval and n below, a number, or text, which is isolated."""
    if value is None:
        return SafeString(UNDEFINED)
    digits = 1 if unit else digits
    if isinstance(value, dict):
        return SafeString(_estimate_cell(value, value.get("digits", digits), unit))
    if isinstance(value, float):
        return SafeString(f"{fixed(100 * value, digits)}{unit}" if unit else fixed(value, digits))
    if isinstance(value, int | SafeString):
        return SafeString(value)
    return SafeString(f"<bdi>{escape(str(value))}</bdi>")


def _estimate_cell(estimate: dict[str, Any], digits: int, unit: str) -> str:
    if estimate["value"] is None:
        return f"{UNDEFINED} <small>{escape(estimate['why'])}</small>"
    times = 100 if unit else 1
    text = f"{fixed(times * estimate['value'], digits)}{unit}"
    note = estimate_basis(estimate)
    if estimate["low"] is None:
        note.append(estimate["why"])
    else:
        low, high = fixed(times * estimate["low"], digits), fixed(times * estimate["high"], digits)
        text = f'<span class="nowrap">{text} <small>[{low}, {high}]</small></span>'
    return f"{text} <small>{escape('; '.join(filter(None, note)))}</small>"
