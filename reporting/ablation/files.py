"""An ablation as text for a terminal, and as rows for CSV."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from judging.methods.sc2.record import KINDS
from reporting.core.text import UNDEFINED, printable
from reporting.core.units import counted_in_english as count

TITLES = {
    "methods": "methods",
    "schemes": "schemes of inference",
    "aspects": "models of aspects",
    "budgets": "numbers of calls",
    "shots": "numbers of calls, with examples",
    "samples": "numbers of tables, |C|",
    "grid": "numbers of tables × schemes × aspects",
}
ABOUT = (
    *("judge", "endpoint", "model", "table_endpoint", "table_model", "method", "samples", "scheme", "aspects"),
    *("aspects_name", "aspects_hash"),
    *("budget", "shots", "example_tables", "table_variant", "planned_calls"),
)
COUNTS = (
    "rounds",
    "rounds_done",
    "rounds_begun",
    "pairs",
    "pairs_hash",
    "pairs_with_gold",
    "asked",
    "a",
    "tie",
    "b",
    "unparsed",
    "refused",
    "errors",
)
ESTIMATES = (
    *("accuracy", "accuracy_of_verdicts", "difference_to_direct", "agreement_with_majority"),
    *("support", "coverage", "cost_per_verdict"),
)
PER_VERDICT = {
    "calls_per_verdict": ("total", *KINDS),
    "tokens_per_verdict": ("total", "prompt", "completion"),
}
COLUMNS = (
    *("study", "part", *ABOUT, *COUNTS, "pending"),
    *(column for name in ESTIMATES for column in (name, f"{name}_low", f"{name}_high", f"{name}_n")),
    "accuracy_sd_over_rounds",
    *(f"{name}_{kind}" for name, kinds in PER_VERDICT.items() for kind in kinds),
    "comparator_calls",
    "currency",
)


def csv_rows(found: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the rows of every part, with the intervals and n of their numbers; an undefined number is empty."""
    for part, rows in found["parts"].items():
        for row in rows:
            status = row["status"]
            estimates = {name: row[name] for name in ESTIMATES}
            yield {
                "study": found["study"],
                "part": part,
                **{name: row[name] for name in ABOUT},
                **{name: row[name] if name in row else status[name] for name in COUNTS},
                "pending": status["pending"],
                **{name: one["value"] for name, one in estimates.items()},
                **{f"{name}_{key}": one[key] for name, one in estimates.items() for key in ("low", "high", "n")},
                "accuracy_sd_over_rounds": row["accuracy"]["sd_over_rounds"],
                **{
                    f"{name}_{kind}": row[name][kind]["value"] if kind in row[name] else None
                    for name, kinds in PER_VERDICT.items()
                    for kind in kinds
                },
                "comparator_calls": row["comparator_calls"],
                "currency": row["cost_per_verdict"]["currency"],
            }


HEADERS = (
    *("way of judging", "aspects", "accuracy", "sd", "rounds", "pairs", "n", "to direct", "people", "unparsed"),
    *("calls", "compared", "tokens", "cost", "support", "coverage"),
)


def text(found: Mapping[str, Any]) -> str:
    """Return a table for each part, for a terminal."""
    gold = found["gold"]
    lines = [
        f"{printable(found['study'])} (version {found['version']}): gold on {count(gold['pairs'], 'pairs')} of "
        f"{count(gold['instances'], 'instances')}",
    ]
    if "why" in found:
        lines.append(f"  {found['why']}")
    for part, rows in found["parts"].items():
        if rows and (part != "grid" or grid_has_own_rows(found)):
            lines += ["", TITLES[part], *_table([HEADERS, *map(_cells, rows)])]
            if unlike := found["differing"].get(part):
                lines.append(f"  careful: these rows also differ in their {', '.join(unlike)}")
    if any(found["parts"].values()):
        lines += [
            "",
            "accuracy, people: mean over rounds [interval over instances]; unparsed answers are wrong, a tie is right where "
            "the gold is a tie. to direct: difference on the same pairs. Calls, tokens and cost are per verdict.",
        ]
    return "\n".join(lines) + "\n"


def grid_has_own_rows(found: Mapping[str, Any]) -> bool:
    """Tell whether the grid has rows that no other part has."""
    others = {row["judge"] for part, rows in found["parts"].items() if part != "grid" for row in rows}
    return not others.issuperset(row["judge"] for row in found["parts"].get("grid", []))


def row_name(row: Mapping[str, Any]) -> str:
    """Return a short name of a row."""
    parts = [row["method"]]
    if row["table_variant"]:
        parts.append(f"tables {row['table_variant']}")
    elif row["method"] == "sc2":
        parts += [f"|C|={row['samples']}", row["scheme"]]
    if row["budget"] is not None:
        parts.append(count(row["budget"], "calls"))
    if row["aspects"]:
        parts.append(row["aspects"])
    if row["shots"]:
        parts.append(f"{row['shots']} examples{' with tables' if row['example_tables'] else ''}")
    return ", ".join(parts)


def asked_at(row: Mapping[str, Any]) -> str:
    """Name the endpoint of a row, with that of its tables where it is another one."""
    return f"{row['endpoint']}, tables by {row['table_endpoint']}" if row["table_endpoint"] else str(row["endpoint"])


def _cells(row: Mapping[str, Any]) -> list[str]:
    calls, tokens = row["calls_per_verdict"], row["tokens_per_verdict"]
    status = row["status"]
    pending = f" ({status['pending']} open)" if status["pending"] else ""
    begun = f" ({row['rounds_begun']} begun)" if row["rounds_begun"] else ""
    compared = calls.get("comparator")
    return [
        printable(f"{row_name(row)} @ {asked_at(row)}"),
        printable(row["aspects_name"]) if row["aspects_name"] else UNDEFINED,
        _share(row["accuracy"]),
        _plain(row["accuracy"]["sd_over_rounds"], 3),
        f"{row['rounds_done']}/{row['rounds']}{begun}",
        str(row["pairs"]),
        str(row["accuracy"]["n"]),
        _share(row["difference_to_direct"], sign="+"),
        _share(row["agreement_with_majority"]),
        f"{status['unparsed']}{pending}",
        _plain(calls["total"]["value"], 1),
        _plain(compared["value"] if compared else None, 1),
        _plain(tokens["total"]["value"], 0),
        _money(row["cost_per_verdict"]),
        _plain(row["support"]["value"], 3),
        _plain(row["coverage"]["value"], 3),
    ]


def _share(estimate: Mapping[str, Any], sign: str = "") -> str:
    if estimate["value"] is None:
        return UNDEFINED
    value = f"{estimate['value']:{sign}.3f}"
    if estimate["low"] is None:
        return value
    return f"{value} [{estimate['low']:{sign}.3f}, {estimate['high']:{sign}.3f}]"


def _plain(value: float | None, digits: int) -> str:
    return UNDEFINED if value is None else f"{value:.{digits}f}"


def _money(estimate: Mapping[str, Any]) -> str:
    return UNDEFINED if estimate["value"] is None else f"{estimate['value']:.2g} {estimate['currency']}"


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
