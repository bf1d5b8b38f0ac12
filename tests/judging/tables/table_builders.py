"""Comparison tables, and how judges made them, as if it had been done."""

from typing import Any

from annotation.core.reasons import reason
from annotation.models import Assignment, ComparisonTable, Display, Flag, Pair
from judging.models import Judgment, TableMaking
from tests.factories import NOON


def row(aspect: str = "Content", only_a: str = "at length", both: str = "talk", only_b: str = "wren") -> dict[str, str]:
    return {"aspect": aspect, "only_a": only_a, "both": both, "only_b": only_b}


def make_table(pair: Pair, rows: list[dict[str, Any]] | None = None, **more: Any) -> ComparisonTable:
    found = [row()] if rows is None else rows
    given = {"table_id": f"t{pair.pk}", "variant": "c8", "aspects": [one["aspect"] for one in found], **more}
    return ComparisonTable.objects.create(study=pair.matchup.instance.study, pair=pair, rows=found, **given)


def record(**changes: Any) -> dict[str, Any]:
    """Write a making: three tables that could be read and a lost one; the third won."""
    found = {
        "scheme": "tournament",
        "aspects": {
            "how": "online",
            "chosen": ["Content", "Length"],
            "lists": [["Tone"], None, ["Content", "Length"]],
            "picked": 2,
        },
        "samples": [
            {"rows": [row(only_a="first sample says")]},
            {"rows": [row(only_a="second sample says")]},
            {"lost": reason("no_table_in", text="<b>sorry</b>").stored()},
            {"rows": [row(only_a="winning sample says"), row("Length", "", "<script>alert(1)</script>", "")]},
        ],
        "budget": 9,
        "left_over": 1,
        "schema": True,
        "asked_first": "b",
        "bracket": [
            {"round": 1, "first": 1, "second": 0, "winner": 1, "how": "coin"},
            {"round": 1, "first": 3, "winner": 3, "how": "bye"},
            {
                "round": 2,
                "first": 1,
                "second": 3,
                "winner": 3,
                "how": "comparator",
                "reason": "It <i>holds</i> together.",
            },
        ],
        "wins": [0, 1, None, 1],
        "coins": 1,
        "winner": 3,
        "calls": {"aspects": 3, "table": 4, "comparator": 2, "verdict": 1},
    }
    return {**found, **changes}


def exact_record() -> dict[str, Any]:
    """Write a making in which every two of three tables met both ways."""
    ways = [(first, second) for first in range(3) for second in range(3) if first != second]
    met = [
        {"round": 1, "first": first, "second": second, "winner": max(first, second), "how": "comparator"}
        for first, second in ways
    ]
    samples = [{"rows": [row(only_a=f"sample {number}")]} for number in range(3)]
    return record(scheme="exact", samples=samples, bracket=met, wins=[0, 2, 4], winner=2, coins=0)


def make_making(judgment: Judgment, table: ComparisonTable | None = None, **changes: Any) -> TableMaking:
    return TableMaking.objects.create(judgment=judgment, table=table, record=record(**changes))


def show(
    assignment: Assignment, table: ComparisonTable, pair: Pair | None = None, *, flag: int | None = None
) -> Display:
    """Show a table in the second stage beside a pair, its own unless another is named, and have one of its rows flagged."""
    place = assignment.displays.count()
    display = Display.objects.create(
        assignment=assignment,
        pair=pair or table.pair,
        position=place,
        a_is_left=True,
        table=table,
        second_shown_at=NOON,
    )
    if flag is not None:
        Flag.objects.create(display=display, kind="unsupported-row", table=table, row=flag, flagged_at=NOON)
    return display
