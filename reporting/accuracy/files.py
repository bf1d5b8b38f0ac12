"""Judges' accuracies as CSV rows, LaTeX tables and plain text."""

from collections.abc import Iterator, Sequence
from typing import Any

from annotation.core.counting import counted as count
from annotation.core.tables import printable
from reporting.accuracy.accuracies import MEASURE_NAMES

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


def latex_text(text: str) -> str:
    """Escape a text for LaTeX. Line ends become spaces."""
    return "".join(_SPECIAL.get(char, char) for char in " ".join(text.split()) if char.isprintable())


def _guard_option(row: str) -> str:
    r"""Protect a row that begins with a bracket or a star, which LaTeX would read as an option of the preceding \\."""
    return "{}" + row if row.startswith(("[", "*")) else row


def latex_table(*, header: Sequence[str], rows: Sequence[Sequence[str]], caption: str, label: str) -> str:
    """Return a table whose first column is text and whose other columns are numbers. Cells are LaTeX already."""
    lines = [
        r"\begin{table}[t]",
        r"\centering",
        rf"\begin{{tabular}}{{l{'r' * (len(header) - 1)}}}",
        r"\toprule",
        " & ".join(header) + r" \\",
        r"\midrule",
        *(_guard_option(" & ".join(row)) + r" \\" for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
        rf"\caption{{{caption}}}",
        rf"\label{{{label}}}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


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
# Columns of the LaTeX tables; all are shares.
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
UNDEFINED = "--"


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
    """Return the tables: accuracy by judge and subset, then every measure on each subset."""
    filters = accuracy["filters"]
    head = (
        f"% {latex_text(accuracy['study'])}, Tandem {latex_text(accuracy['version'])}; needs \\usepackage{{booktabs}}\n"
        f"% intervals: {filters['level']:.0%} bootstrap over instances, {filters['rounds']} rounds, "
        f"seed {filters['seed']}\n"
    )
    if not accuracy["judges"]:
        return head + f"% {latex_text(accuracy['why'])}\n"
    return "\n".join(
        [
            head + _overview(accuracy),
            *_wordings(accuracy),
            *(_subset_table(accuracy, subset) for subset in accuracy["subsets"]),
        ]
    )


def _overview(accuracy: dict[str, Any]) -> str:
    subsets = accuracy["subsets"]
    header = ["Judge", *(f"{latex_text(subset['subset'])} ({subset['pairs']})" for subset in subsets)]
    rows = []
    for judge in accuracy["judges"]:
        of = {(row["kind"], row["subset"]): row for row in judge["subsets"]}
        cells = [_overview_cell(of.get((subset["kind"], subset["subset"])), subset["pairs"]) for subset in subsets]
        rows.append([latex_text(judge["label"]), *cells])
    caption = (
        "Accuracy (\\%), each pair counted once over its orders. Unparsed and refused answers are "
        "not right. In brackets: pairs, where a judge answered on fewer than the column has."
    )
    return latex_table(header=header, rows=rows, caption=caption, label="tab:judges")


def _wordings(accuracy: dict[str, Any]) -> list[str]:
    """Return the table over wordings, if a judge has several."""
    if not accuracy["wordings"]:
        return []
    subsets = [(subset["kind"], subset["subset"]) for subset in accuracy["subsets"]]
    rows = []
    for wording in accuracy["wordings"]:
        of = {(row["kind"], row["subset"]): row["accuracy"] for row in wording["subsets"]}
        cells = [
            _spread(of.get(subset), "{:.2f} $\\pm$ {:.2f} {{\\scriptsize [{:.1f}, {:.1f}]}}") for subset in subsets
        ]
        rows.append([latex_text(f"{wording['method']}, {wording['model']} ({len(wording['judges'])})"), *cells])
    caption = (
        "Accuracy (\\%) over wordings of the same judge (their number in brackets): mean, standard deviation, "
        "lowest and highest."
    )
    header = ["Judge", *(latex_text(name) for _kind, name in subsets)]
    return [latex_table(header=header, rows=rows, caption=caption, label="tab:judges-wordings")]


def _spread(spread: dict[str, Any] | None, form: str) -> str:
    if spread is None or spread["value"] is None:
        return UNDEFINED
    return form.format(*(100 * spread[name] for name in ("value", "sd", "low", "high")))


def _overview_cell(row: dict[str, Any] | None, pairs: int) -> str:
    if row is None or row["accuracy"]["value"] is None:
        return UNDEFINED
    fewer = f" ({row['accuracy']['n']})" if row["accuracy"]["n"] != pairs else ""
    return f"{100 * row['accuracy']['value']:.2f}{fewer}"


def _subset_table(accuracy: dict[str, Any], subset: dict[str, Any]) -> str:
    rows = []
    for judge in accuracy["judges"]:
        for row in judge["subsets"]:
            if (row["kind"], row["subset"]) == (subset["kind"], subset["subset"]):
                shares = [_share(row[name]) for name in SHARES]
                rows.append(
                    [latex_text(judge["label"]), *shares, str(row["unparsed"]), *(_plain(row[k], 1) for k in USAGE)]
                )
    name = latex_text(subset["subset"])
    caption = (
        f"Judges on {name} ({count(subset['pairs'], 'pairs')} of {count(subset['instances'], 'instances')}): accuracy over both orders and in "
        "each, share right in both, accuracy where both agree, agreement of the orders, share of verdicts for the text "
        "shown first (all in \\%, with intervals over instances), unparsed answers, calls and tokens per verdict."
    )
    header = ["Judge", *SHARES.values(), "Unparsed", *USAGE.values()]
    label = "".join(c if c.isascii() and c.isalnum() else "-" for c in subset["subset"].lower())
    return latex_table(header=header, rows=rows, caption=caption, label=f"tab:judges-{subset['kind']}-{label}")


def _share(estimate: dict[str, Any]) -> str:
    if estimate["value"] is None:
        return UNDEFINED
    value = f"{100 * estimate['value']:.2f}"
    if estimate["low"] is None:
        return value
    return f"{value} {{\\scriptsize [{100 * estimate['low']:.1f}, {100 * estimate['high']:.1f}]}}"


def text(accuracy: dict[str, Any]) -> str:
    """Return a table for each subset, for a terminal."""
    if not accuracy["judges"]:
        return f"{printable(accuracy['study'])}: {accuracy['why']}\n"
    width = max(len(printable(judge["judge"])) for judge in accuracy["judges"])
    parts = []
    for subset in accuracy["subsets"]:
        parts.append(
            f"{printable(subset['subset'])} ({subset['kind']}), {count(subset['pairs'], 'pairs')} with a gold label"
        )
        parts.append("  " + "".join([" " * width, *(f"{title:>13}" for title in SHARES.values()), f"{'unparsed':>13}"]))
        for judge in accuracy["judges"]:
            for row in judge["subsets"]:
                if (row["kind"], row["subset"]) == (subset["kind"], subset["subset"]):
                    numbers = "".join(f"{_plain(row[name]):>13}" for name in SHARES)
                    parts.append(f"  {printable(judge['judge']):<{width}}{numbers}{row['unparsed']:>13}")
        parts.append("")
    for wording in accuracy["wordings"]:
        names = ", ".join(printable(f"{judge['judge']} ({judge['wording']})") for judge in wording["judges"])
        parts.append(f"accuracy over wordings in %: mean, standard deviation, lowest to highest: {names}")
        for row in wording["subsets"]:
            spread = _spread(row["accuracy"], "{:.2f} ± {:.2f}, {:.2f} to {:.2f}")
            parts.append(f"  {printable(row['subset'])}: {spread}; {row['pairs'][0]} to {row['pairs'][1]} pairs")
        parts.append("")
    return "\n".join(parts)


def _plain(estimate: dict[str, Any], digits: int = 3) -> str:
    return UNDEFINED if estimate["value"] is None else f"{estimate['value']:.{digits}f}"
