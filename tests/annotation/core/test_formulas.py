"""LaTeX in texts: shown as formulas where a study says so, and harmless whatever is in it."""

import re
from html import unescape
from time import process_time

import pytest
from django.utils.html import conditional_escape
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.formulas import LONGEST, to_mathml
from annotation.core.markdown import shown_text


def formulas(html: str) -> list[str]:
    """Return the LaTeX of the formulas in a page's text."""
    return re.findall(r'<math alttext="([^"]*)"', html)


def words(html: str) -> str:
    """Return the text that a page shows."""
    return unescape(re.sub("<[^>]*>", "", html)).strip()


@pytest.mark.parametrize("rendered", [False, True], ids=["plain", "Markdown"])
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The area is $\\pi r^2$.", ["\\pi r^2"]),
        ("\\(a\\) and \\[b\\]", ["a", "b"]),
        ("$$\\sum_{i=1}^n i$$", ["\\sum_{i=1}^n i"]),
        ("$$\na\n$$", ["a"]),
        ("\\[\\begin{matrix}a\\\\[2pt]b\\end{matrix}\\]", ["\\begin{matrix}a\\\\[2pt]b\\end{matrix}"]),
        ("so\n\\begin{align*}\na &= b\n\\end{align*}\n", ["\\begin{align*}\na &amp;= b\n\\end{align*}"]),
        ("\\begin{gather}a\\end{gather} \\begin{gather}b", ["\\begin{gather}a\\end{gather}"]),
        ("\\begin{align}a \\begin{align}b\\end{align}", ["\\begin{align}b\\end{align}"]),
        ("`\\begin{align}a\\end{align}` \\begin{itemize}b\\end{itemize}", []),
        ("an open \\( and \\(x\\)", ["x"]),
        ("$x$, $y$ and $z$", ["x", "y", "z"]),
        ("It costs $5 and $6.", []),
        ("$ 5 $ or US$7, A$8", []),
        ("`$x$` and\n```\n$y$\n```\nbut $z$", ["z"]),
        ("an open $x", []),
        ("broken: $\\frac$", []),
        ("two\n$lines\nlater$", []),
    ],
)
def test_formulas_are_told_from_money_and_code(text: str, found: list[str], rendered: bool) -> None:
    assert formulas(shown_text(text, rendered=rendered, math=True)) == found


def test_a_formula_is_mathml_within_the_escaped_text() -> None:
    html = shown_text("a < b, $\\frac{1}{2}$ & c", math=True)
    assert html.startswith("a &lt; b, <math")
    assert html.endswith("</math> &amp; c")
    assert "<mfrac>" in html
    assert 'display="inline"' in html
    assert 'display="block"' in shown_text("$$x$$", math=True)


ROWS = "a &= b \\\\ c &= d"


@pytest.mark.parametrize(
    ("latex", "cells"),
    [
        *(
            (f"\\begin{{{name}}}{ROWS}\\end{{{name}}}", 4)
            for name in ("align", "align*", "aligned", "flalign", "eqnarray*")
        ),
        (f"\\begin{{alignat}}{{2}}{ROWS}\\end{{alignat}}", 4),
        (f"$$\\begin{{aligned}}[t]{ROWS}\\end{{aligned}}$$", 4),
        (f"\\begin{{equation}}\\label{{eq}}\\begin{{split}}{ROWS}\\end{{split}}\\end{{equation}}", 4),
        ("\\begin{align}a &= b && \\text{as said} \\\\ c &= d\\end{align}", 6),
        *((f"\\begin{{{name}}}a \\\\ b\\end{{{name}}}", 2) for name in ("gather", "gathered", "multline*")),
    ],
)
def test_an_environment_is_laid_out_in_its_rows_without_numbers_of_its_own(latex: str, cells: int) -> None:
    html = shown_text(latex, rendered=True, math=True)
    assert (html.count("<mtr>"), html.count("<mtd>")) == (2, cells)
    assert not set(unescape(re.sub("<[^>]*>", " ", html))) & set("&\\(")


@pytest.mark.parametrize(
    "latex",
    [
        "\\begin{align}\\text{a {b} < b} \\\\ c\\end{align}",
        f"\\begin{{align}}{'x' * LONGEST} \\\\ c\\end{{align}}",
        "$$\\left( a \\\\ b$$",
        "\\[\\left( a \\\\ b\\]",
    ],
    ids=["markup", "long", "dollars", "brackets"],
)
def test_a_block_that_cannot_be_shown_keeps_its_line_breaks_in_markdown(latex: str) -> None:
    html = shown_text(f"*so*: {latex}", rendered=True, math=True)
    assert "<em>so</em>" in html
    assert words(html) == f"so: {latex}"


@pytest.mark.parametrize("rendered", [False, True], ids=["plain", "Markdown"])
@pytest.mark.parametrize(
    "latex",
    [
        "\\begin{align} a_1 &= \\{b\\} \\\\ c *d* &= e\\, f \\end{align}",
        "\\begin{align}\na &= b \\\\\nc &= d\n\\end{align}",
        "\\[ a \\\\[2pt] b \\]",
        "\\(\\binom{a}{b} \\\\ c\\)",
        "$$a \\\\ b$$",
        "$\\begin{matrix}a \\\\ b\\end{matrix}$",
    ],
)
def test_without_the_setting_formulas_are_shown_as_typed(latex: str, rendered: bool) -> None:
    html = shown_text(f"**so**: {latex} *then*", rendered=rendered)
    assert words(html) == (f"so: {latex} then" if rendered else f"**so**: {latex} *then*")


@pytest.mark.parametrize("math", [False, True])
@pytest.mark.parametrize(
    "latex",
    [
        "\\begin{tabular}{ll} a & b \\\\ c & d \\end{tabular}",
        "\\begin{block}{ll} \\begin{block} a \\\\ b \\end{block} \\\\ c \\end{block}",
        "\\begin{align} a \\\\\\begin{block} b \\\\ c \\end{block}",
        "\\begin{tabular} `a` \\\\",
    ],
    ids=["another name", "nested", "open within", "never closed"],
)
def test_line_breaks_stay_in_environments_that_are_no_formulas(latex: str, math: bool) -> None:
    html = shown_text(f"*so*\\\\ {latex}", rendered=True, math=math)
    assert words(html) == f"so\\ {latex.replace('`', '')}"


@pytest.mark.parametrize("math", [False, True])
@pytest.mark.parametrize("code", ["```\n{}\n```", "~~~\n{}\n~~~", "a\n\n    {}", "`{}`", "``{}``"])
def test_code_keeps_its_backslashes(code: str, math: bool) -> None:
    latex = "\\begin{tabular}a \\\\ \\{b\\}\\end{tabular}"
    assert latex in words(shown_text(code.format(latex), rendered=True, math=math))


def test_escaped_brackets_without_a_command_stay_brackets_in_markdown() -> None:
    assert words(shown_text("see \\[1\\], \\(x\\), $5\\_000 and $6$", rendered=True)) == "see [1], (x), $5_000 and $6$"


def test_environments_that_never_end_take_linear_time() -> None:
    def seconds(text: str) -> float:
        before = process_time()
        assert formulas(shown_text(text, math=True)) == []
        return process_time() - before

    unit = "\\begin{align} x \\begin{gather} y \\begin{matrix*} "
    assert seconds(unit * 4000) < 30 * max(
        seconds(unit * 400), 0.01
    )  # ten times as long; a hundred times were quadratic


@pytest.mark.parametrize(
    "latex",
    [
        "\\text{<script>alert(1)</script>}",
        "\\text{<img src=x onerror=alert(1)>}",
        "\\href{javascript:alert(1)}{x}",
        "\\class{card}{x}",
        "\\style{position:fixed}{x}",
        "<script>alert(1)</script>",
        '"><img src=x>',
        "\\unicode{60}script",
    ],
)
def test_a_hostile_formula_runs_and_styles_nothing(latex: str) -> None:
    html = conditional_escape(shown_text(f"${latex}$", math=True))
    html = re.sub('^<span class="preserve">(.*)</span>$', "\\1", html)  # stays as typed
    assert re.findall(r"<(?!/?(?:math|m[a-z]+)\b)", html) == []
    attributes = re.findall(r'<[a-z]+((?: [a-z]+="[^"]*")*)', html)
    names = set(re.findall(r' ([a-z]+)="', " ".join(attributes)))
    assert names <= {"alttext", "display", "stretchy", "fence", "form", "mathvariant", "linethickness"}


def test_a_formula_that_is_too_long_is_shown_as_typed() -> None:
    latex = "x" * (LONGEST + 1)
    assert shown_text(f"${latex}$", math=True) == f"${latex}$"
    assert "{{{" in shown_text("$" + "{" * 999 + "}" * 999 + "$", math=True)  # as typed or as the formula's words


def test_a_text_of_many_formulas_is_converted_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annotation.core.formulas.MOST", 500)
    shown = formulas(shown_text("$xyz$ " * 300, math=True))
    assert len(shown) == 500 // len("$xyz$")


@pytest.mark.slow
@pytest.mark.parametrize("opening", ["\\(", "\\[", "$a ", "$$ ", "`", "```a", "\\\\[", "\\\\\\[", "\\\\\\("])
def test_a_long_text_of_openings_takes_no_longer_than_another(opening: str) -> None:
    """Looking for the end of each to the end of the text would take hours."""
    text = opening * 500_001
    assert shown_text(text, math=True) == text


@pytest.mark.slow
@given(st.text(alphabet="ab12\\{}^_$<>&\" '()[]frac", max_size=60))
def test_whatever_is_typed_gives_mathml_or_the_text(latex: str) -> None:
    found = to_mathml(latex)
    assert found is None or re.sub(r"</?m[a-z]+[^<>]*>", "", found).count("<") == 0
