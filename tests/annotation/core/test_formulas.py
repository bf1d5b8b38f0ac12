"""LaTeX in texts: shown as formulas where a study says so, and harmless whatever is in it."""

import re

import pytest
from django.utils.html import conditional_escape
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.formulas import LONGEST, to_mathml
from annotation.core.markdown import shown_text


def formulas(html: str) -> list[str]:
    """Return the LaTeX of the formulas in a page's text."""
    return re.findall(r'<math alttext="([^"]*)"', html)


@pytest.mark.parametrize("rendered", [False, True], ids=["plain", "Markdown"])
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The area is $\\pi r^2$.", ["\\pi r^2"]),
        ("\\(a\\) and \\[b\\]", ["a", "b"]),
        ("$$\\sum_{i=1}^n i$$", ["\\sum_{i=1}^n i"]),
        ("$$\na\n$$", ["a"]),
        ("\\[\\begin{matrix}a\\\\[2pt]b\\end{matrix}\\]", ["\\begin{matrix}a\\\\[2pt]b\\end{matrix}"]),
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


def test_without_the_setting_a_text_is_shown_as_typed() -> None:
    assert shown_text("$x$") == "$x$"
    assert "<math" not in shown_text("$x$", rendered=True)


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
@pytest.mark.parametrize("opening", ["\\(", "\\[", "$a ", "$$ ", "`", "```a", "\\\\["])
def test_a_long_text_of_openings_takes_no_longer_than_another(opening: str) -> None:
    """Looking for the end of each to the end of the text would take hours."""
    text = opening * 500_001
    assert shown_text(text, math=True) == text


@given(st.text(alphabet="ab12\\{}^_$<>&\" '()[]frac", max_size=60))
def test_whatever_is_typed_gives_mathml_or_the_text(latex: str) -> None:
    found = to_mathml(latex)
    assert found is None or re.sub(r"</?m[a-z]+[^<>]*>", "", found).count("<") == 0
