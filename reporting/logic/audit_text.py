"""The audit of several raters as a table: plain text for a terminal, and CSV."""

from collections.abc import Iterator
from typing import Any

from reporting.core.text import UNDEFINED, estimate_text, printable
from reporting.logic.audit import SIZES

OF_RATER = ("kind", "method", "model", "wording")
COLUMNS = (
    *("rater", "dataset", "measure"),
    *("value", "low", "high", "level", "n", "of", "n_instances", "tie_rule", "excluded", "why"),
    *OF_RATER,
)
OF_INSTANCE = ("rater", "dataset", "instance_id", "measure", "value", "n", "of", "tie_rule", "why")
ALL = "all data sets"
WITHOUT_SIZE = ("human_agreement", "commutativity", "negation_invariance", "self_agreement", "preferred_first")


def as_rows(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield one row for each rater, data set and measure."""
    for rater in found["raters"]:
        about = {name: rater.get(name) for name in OF_RATER}
        for dataset, measures in [("", rater), *rater["datasets"].items()]:
            for name, estimate in _named(measures):
                row = {**about, "rater": rater["rater"], "dataset": dataset, "measure": name, **estimate}
                yield {column: row.get(column, "") if row.get(column) is not None else "" for column in COLUMNS}


def as_text(found: dict[str, Any]) -> str:
    """Return a table over raters and data sets, then every measure of each rater with its interval."""
    blocks = [f"study {printable(found['study'])}", "\n".join(_table(found["raters"]))]
    return "\n\n".join([*blocks, *("\n".join(_rater(rater)) for rater in found["raters"])])


def _table(raters: list[dict[str, Any]]) -> list[str]:
    """Return the paper's table: agreement with people, s_tran(5), s_comm and s_neg by data set, in percent."""
    rows = [
        (printable(f"{rater['rater']}, {dataset}"), one)
        for rater in raters
        for dataset, one in [(ALL, rater), *(rater["datasets"].items() if len(rater["datasets"]) > 1 else ())]
    ]
    width = max((len(name) for name, _ in rows), default=0)
    lines = [f"{'':<{width}}{'H':>8}{'s_tran(5)':>11}{'s_comm':>8}{'s_neg':>8}"]
    for name, one in rows:
        cells = [one["human_agreement"], one["transitivity"]["5"], one["commutativity"], one["negation_invariance"]]
        shown = [UNDEFINED if cell["value"] is None else f"{100 * cell['value']:.1f}" for cell in cells]
        lines.append(f"{name:<{width}}{shown[0]:>8}{shown[1]:>11}{shown[2]:>8}{shown[3]:>8}")
    return lines


def _rater(rater: dict[str, Any]) -> list[str]:
    contradictions = rater["contradictions"]
    return [
        f"{printable(rater['rater'])}: {rater['answers']} answers ({rater['unread']} unread) on {rater['texts']} texts of "
        f"{rater['instances']} instances",
        *(f"  {name.replace('_', ' '):<20} {estimate_text(estimate)}" for name, estimate in _named(rater)),
        f"  {contradictions['cycles']['count']} cycles of three, {contradictions['order_effects']['count']} pairs whose "
        "verdict changes with the order",
    ]


def _named(measures: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "human_agreement", measures["human_agreement"]
    yield from ((f"transitivity_{k}", measures["transitivity"][str(k)]) for k in SIZES)
    yield from ((name, measures[name]) for name in WITHOUT_SIZE[1:])
