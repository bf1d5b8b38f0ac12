"""Judges' accuracies as CSV rows, and as tables for a paper and for a terminal."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from annotation.core.counting import counted, printable
from annotation.core.tables import PERCENT, Column, DataTable, latex_text, percents, table_latex, table_text
from reporting.accuracy.accuracies import MEASURE_NAMES

COUNTS = ("asked", "a", "tie", "b", "unparsed", "refused", "errors")
PARTS = ("low", "high", "n")
COLUMNS = (
    *("study", "judge", "method", "model", "kind", "subset", "instances", "pairs", *COUNTS),
    *(column for name in MEASURE_NAMES for column in (name, *(f"{name}_{part}" for part in PARTS))),
)
WORDING_COLUMNS = (
    *("study", "method", "model", "wordings", "judges", "kind", "subset", "pairs_least", "pairs_most", "accuracy"),
    *("accuracy_sd", "accuracy_low", "accuracy_high", "accuracy_n", "why"),
)
# Columns of the tables; all are shares.
SHARES = {
    "accuracy": "Accuracy",
    "accuracy_ab": "A first",
    "accuracy_ba": "B first",
    "accuracy_both_orders_right": "Both right",
    "accuracy_when_orders_agree": "If agreeing",
    "positional_agreement": "Agreement",
    "first_position_rate": "First text",
}
USAGE = {"calls_per_verdict": "Calls", "tokens_per_verdict": "Tokens"}


def csv_rows(accuracy: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield one row per judge and subset, with every number's interval and n. An undefined number is empty."""
    for judge in accuracy["judges"]:
        for row in judge["subsets"]:
            yield {
                "study": accuracy["study"],
                **{key: judge[key] for key in ("judge", "method", "model")},
                **{key: row[key] for key in ("kind", "subset", "instances", "pairs", *COUNTS)},
                **{name: row[name]["value"] for name in MEASURE_NAMES},
                **{f"{name}_{part}": row[name][part] for name in MEASURE_NAMES for part in PARTS},
            }


def wording_rows(accuracy: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield one row per judge in several wordings and subset: the table over wordings. An undefined number is empty."""
    for wording in accuracy["wordings"]:
        for row in wording["subsets"]:
            spread = row["accuracy"]
            yield {
                "study": accuracy["study"],
                **{key: wording[key] for key in ("method", "model")},
                "wordings": "; ".join(judge["wording"] for judge in wording["judges"]),
                "judges": "; ".join(judge["judge"] for judge in wording["judges"]),
                **{key: row[key] for key in ("kind", "subset")},
                **dict(zip(("pairs_least", "pairs_most"), row["pairs"], strict=True)),
                "accuracy": spread["value"],
                **{f"accuracy_{part}": spread.get(part) for part in ("sd", "low", "high", "n")},
                "why": spread.get("why"),
            }


def latex(accuracy: dict[str, Any]) -> str:
    """Return the tables for a paper."""
    filters = accuracy["filters"]
    head = (
        f"% {latex_text(accuracy['study'])}, Tandem {latex_text(accuracy['version'])}; needs \\usepackage{{booktabs}}\n"
        f"% intervals: {filters['level']:.0%} bootstrap over instances, {filters['rounds']} rounds, "
        f"seed {filters['seed']}\n"
    )
    if not accuracy["judges"]:
        return head + f"% {latex_text(accuracy['why'])}\n"
    return head + "\n".join(map(table_latex, _tables(accuracy)))


def text(accuracy: dict[str, Any]) -> str:
    """Return the tables for a terminal."""
    if not accuracy["judges"]:
        return f"{printable(accuracy['study'])}: {accuracy['why']}\n"
    return "\n\n".join(map(table_text, _tables(accuracy))) + "\n"


def _tables(accuracy: dict[str, Any]) -> Iterator[DataTable]:
    """Yield accuracy by judge and subset, then over wordings, then every share on each subset."""
    subsets = accuracy["subsets"]
    labels = Counter(judge["label"] for judge in accuracy["judges"])  # judges made elsewhere may share one
    names = {
        judge["judge"]: judge["label"] if labels[judge["label"]] == 1 else judge["judge"]
        for judge in accuracy["judges"]
    }
    headings = [Column(f"{subset['subset']} ({subset['pairs']})", unit=PERCENT) for subset in subsets]
    caption = (
        "Accuracy (%), each pair counted once over its orders. Unparsed and refused answers are "
        "not right. In brackets: pairs, where a judge answered on fewer than the column has."
    )
    rows = [
        (
            (names[judge["judge"]],),
            [
                of and _without_interval(of["accuracy"], subset["pairs"])
                for of, subset in zip(_on_each(judge, subsets), subsets, strict=True)
            ],
        )
        for judge in accuracy["judges"]
    ]
    yield DataTable("judges", caption, ["Judge", *headings], rows)
    if accuracy["wordings"]:
        caption = (
            "Accuracy (%) over wordings of the same judge (their number in brackets): mean, standard deviation, "
            "lowest and highest."
        )
        rows = [
            (
                (f"{wording['method']}, {wording['model']} ({len(wording['judges'])})",),
                [of and of["accuracy"] | {"about": _spread_text(of)} for of in _on_each(wording, subsets)],
            )
            for wording in accuracy["wordings"]
        ]
        headings = [Column(subset["subset"], unit=PERCENT) for subset in subsets]
        yield DataTable("judges-wordings", caption, ["Judge", *headings], rows)
    for at, subset in enumerate(subsets):
        caption = (
            f"Judges on {subset['subset']} ({counted(subset['pairs'], 'pairs')} of {counted(subset['instances'], 'instances')}): accuracy over both orders and in "
            "each, share right in both, accuracy where both agree, agreement of the orders, share of verdicts for the text "
            "shown first (all in %, with intervals over instances), unparsed answers, calls and tokens per verdict."
        )
        rows = [
            (
                (names[judge["judge"]],),
                [*(of[name] for name in SHARES), of["unparsed"], *(of[name]["value"] for name in USAGE)],
            )
            for judge in accuracy["judges"]
            if (of := _on_each(judge, subsets)[at])
        ]
        headings = [*percents(*SHARES.values()), Column("Unparsed"), *map(Column, USAGE.values())]
        label = "".join(c if c.isascii() and c.isalnum() else "-" for c in subset["subset"].lower())
        yield DataTable(f"judges-{subset['kind']}-{label}", caption, ["Judge", *headings], rows, digits=1)


def _on_each(judge: dict[str, Any], subsets: Sequence[dict[str, Any]]) -> list[dict[str, Any] | None]:
    """Return a judge's row on each subset, or None where it has none."""
    of = {(row["kind"], row["subset"]): row for row in judge["subsets"]}
    return [of.get((subset["kind"], subset["subset"])) for subset in subsets]


def _without_interval(accuracy: dict[str, Any], pairs: int) -> dict[str, Any]:
    fewer = f"({accuracy['n']})" if accuracy["n"] != pairs else ""
    return {
        **accuracy,
        "low": None,
        "high": None,
        "why": accuracy.get("why", "") if accuracy["value"] is None else "",
        "about": fewer,
    }


def _spread_text(row: dict[str, Any]) -> str:
    spread = "" if row["accuracy"]["value"] is None else f"sd {100 * row['accuracy']['sd']:.1f}; "
    return f"{spread}{row['pairs'][0]} to {row['pairs'][1]} pairs"
