"""LaTeX tables with `booktabs` rules. Names from uploaded files are escaped."""

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
