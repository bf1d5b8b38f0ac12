"""Tables as LaTeX, for papers: `booktabs` rules, every name from outside defused."""

from collections.abc import Sequence

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
    """Write a text so that LaTeX prints it and runs none of it; what would end a line is a space."""
    return "".join(_SPECIAL.get(char, char) for char in " ".join(text.split()) if char.isprintable())


def _unlike_option(row: str) -> str:
    """Keep a row that begins with a bracket or a star from being read as an option of the line break before it."""
    return "{}" + row if row.startswith(("[", "*")) else row


def latex_table(*, header: Sequence[str], rows: Sequence[Sequence[str]], caption: str, label: str) -> str:
    """Return a table: the first column is text, all others are numbers. Cells are LaTeX already."""
    lines = [
        r"\begin{table}[t]",
        r"\centering",
        rf"\begin{{tabular}}{{l{'r' * (len(header) - 1)}}}",
        r"\toprule",
        " & ".join(header) + r" \\",
        r"\midrule",
        *(_unlike_option(" & ".join(row)) + r" \\" for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
        rf"\caption{{{caption}}}",
        rf"\label{{{label}}}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"
