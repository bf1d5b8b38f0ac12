"""Tables of coloured cells: shares in percent, with their n where there is room."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reporting.core.charts import COLUMN_WIDTH, Spec
from reporting.core.themes import between, ink_on

LARGE, SMALL = (44, 34), (23, 20)  # greatest width and height of a cell, with its n and without
LETTER = 0.6  # of the size of letters
MANY = 8  # columns, of which a cell has no room for n
SPACING = 12  # between panels beside each other


@dataclass(frozen=True)
class ShadedCell:
    """A share in its place.

    colours : from that of 0 to that of 1
    data    : further columns of the picture's data, with its `n`
    """

    panel: str
    row: str
    column: str
    share: float
    colours: Sequence[str]
    data: dict[str, Any]


def cells_body(
    cells: Sequence[ShadedCell],
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    titles: tuple[str, str],
    panels: Sequence[str],
    side_by_side: bool = False,
    two: bool = False,
    count: str = "n",
) -> Spec:
    """Return the body of a picture of cells in panels: one below the other, all `side_by_side`, or `two` in a row.

    titles : what rows are, and what columns are
    count  : the number that stands in a cell below the share, where there is room
    """
    across = len(columns) * (len(panels) if side_by_side else 1)
    counted = across <= MANY
    labelled = 2 if two else 1  # panels in a row that have names of rows
    letters = 11 if side_by_side and not counted else 12
    room = (
        COLUMN_WIDTH / labelled
        - (70 if two else 50)
        - max(map(len, rows)) * LETTER * letters
        - (SPACING * (len(panels) - 1) if side_by_side else 0)
    )
    width, height = (
        min(maximum, size) for maximum, size in zip(LARGE if counted else SMALL, (room / across, 99), strict=True)
    )
    size = {"width": {"step": round(width)}, "height": {"step": height}}
    x, y = (
        {
            "field": "column",
            "type": "nominal",
            "sort": list(columns),
            "title": titles[1],
            "axis": {
                "orient": "top",
                "labelAngle": -35 if max(map(len, columns)) > 6 else 0,
                "labelFontSize": 12 if counted else 11,
                "domain": False,
                "ticks": False,
            },
            "scale": {"domain": list(columns)},
        },
        {
            "field": "row",
            "type": "nominal",
            "sort": list(rows),
            "title": titles[0],
            "axis": {
                "labelLimit": COLUMN_WIDTH,
                "labelFontSize": letters,
                "labelPadding": 5,
                "domain": False,
                "ticks": False,
            },
            "scale": {"domain": list(rows)},
        },
    )
    unnamed = {**y, "title": None, "axis": None}
    drawn = [
        {
            "title": {"text": panel, "anchor": "start", "frame": "group", "fontSize": 11, "fontWeight": "normal"},
            "transform": [{"filter": {"field": "panel", "equal": panel}}],
            **size,
            "layer": _layers({"x": x, "y": unnamed if side_by_side and number else y}, count if counted else None),
        }
        for number, panel in enumerate(panels)
    ]
    data = {"data": {"values": [_row(cell) for cell in cells]}}
    in_row = len(panels) if side_by_side else 2 if two else 1
    return {**data, "concat": drawn, "columns": in_row, **({"spacing": SPACING} if side_by_side else {})}


def _layers(position: Spec, count: str | None) -> list[Spec]:
    """Return what is drawn in each cell: its colour, the share, and below it the number `count`, if it has room."""
    colour = {"type": "nominal", "scale": None, "legend": None}
    ink = {"field": "_ink", **colour}
    share = {"mark": {"type": "text", "fontSize": 11, "dy": -6 if count else 0}}
    layers: list[Spec] = [
        {"mark": {"type": "rect"}, "encoding": {**position, "color": {"field": "_fill", **colour}}},
        {**share, "encoding": {**position, "text": {"field": "_percent", "type": "nominal"}, "color": ink}},
    ]
    if count:
        number = {"mark": {"type": "text", "fontSize": 11, "dy": 7}}
        text = {"field": count, "type": "quantitative"}
        layers.append({**number, "encoding": {**position, "text": text, "color": ink}})
    return layers


def _row(cell: ShadedCell) -> dict[str, Any]:
    fill = between(cell.colours, cell.share)
    return {
        "panel": cell.panel,
        "row": cell.row,
        "column": cell.column,
        **cell.data,
        "share": cell.share,
        "_percent": f"{100 * cell.share:.0f}",
        "_fill": fill,
        "_ink": ink_on(fill),
    }
