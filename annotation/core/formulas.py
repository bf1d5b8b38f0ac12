"""LaTeX formulas in texts → MathML, which browsers show without a script."""

import re
import secrets
from collections.abc import Callable

import nh3
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe

# Characters of one formula, and of all of a text that are converted: a hundred thousand take more than a second.
LONGEST, MOST = 2000, 20_000
# Environments that are mathematics without any delimiter around them, and which of those that the converter knows they
# are laid out as. It writes the rows of others in one line, and numbers those of `align`, which the text does not.
_ALIGNED = ("align", "aligned", "alignat", "alignedat", "flalign", "eqnarray", "split")
_LAYOUTS = {
    **dict.fromkeys(_ALIGNED, "align*"),
    **dict.fromkeys(("gather", "gathered", "multline"), "matrix"),
    **dict.fromkeys(("equation", "displaymath"), ""),
    "dcases": "cases",
}
_UNCHANGED = ("cases", "array", "matrix", "bmatrix", "pmatrix", "vmatrix", "Bmatrix", "Vmatrix")
_BEGINS = re.compile(rf"\\begin\{{({'|'.join(_LAYOUTS)})\*?\}}(?:\[[tbc]\]|\{{\d+\}})?")
_ENDS = re.compile(rf"\\end\{{({'|'.join(_LAYOUTS)})\*?\}}")
_LABEL = re.compile(r"\\label\{[^{}]*\}")
_WORDS_WITH_MARKUP = re.compile(r"\\(?:text[a-z]*|[fhm]box)\s*\{(?:[^{}]|\{[^{}]*\})*[<&]")
# Code keeps its dollars. As in Pandoc, an opening $ has no space after it, a closing one none before it and no digit
# after it, so that “$5 and $6” stays money. No formula reaches beyond the next opening delimiter of its kind: where none
# is closed, each would be looked for to the end of the text. Two backslashes are a line break, also before a delimiter:
# \\[2pt]. Those in environments of other names, nested or never closed, are found by counting what begins and ends.
_FORMULA = re.compile(
    r"(?P<code>```.*?```|`[^`\n]*`)"
    rf"|(?P<environment>\\begin(?P<name>\{{(?:{'|'.join((*_LAYOUTS, *_UNCHANGED))})\*?\}})"
    r"(?:(?!\\begin(?P=name)).)+?\\end(?P=name))"
    r"|\$\$(?P<display>[^$]+)\$\$"
    r"|\\\[(?P<bracketed>(?:[^\\]|\\[^\[\]])+)\\\]"
    r"|\\\((?P<parenthesized>(?:[^\\]|\\[^()])+)\\\)"
    r"|(?<![\\$])\$(?P<inline>[^\s$](?:[^$\n]*[^\s$\\])?)\$(?![\d$])"
    r"|(?P<row>\\\\)|(?P<begin>\\begin\{)|(?P<end>\\end\{)",
    re.DOTALL,
)
_ON_LINES_OF_THEIR_OWN = ("environment", "display", "bracketed")
_DEPTHS = {"code": 0, "begin": 1, "end": -1}
_COMMAND = re.compile(r"\\[A-Za-z\\]")  # money has none
_TAGS = {
    *("math", "mi", "mn", "mo", "ms", "mtext", "mspace", "mrow", "mfrac", "msqrt", "mroot", "mstyle", "merror"),
    *("mpadded", "mphantom", "menclose", "msub", "msup", "msubsup", "munder", "mover", "munderover", "mmultiscripts"),
    *("mprescripts", "none", "mtable", "mtr", "mtd"),
}
_ATTRIBUTES = {
    "math": {"display"},
    "mo": {"fence", "form", "stretchy", "separator", "accent", "largeop", "movablelimits", "minsize", "maxsize"},
    "mi": {"mathvariant"},
    "mfrac": {"linethickness"},
    "menclose": {"notation"},
    "mspace": {"width"},
    "mstyle": {"displaystyle", "scriptlevel"},
    "mtable": {"columnalign", "rowspacing", "columnspacing"},
    **{name: {"accent", "accentunder"} for name in ("mover", "munder", "munderover")},
}


def with_formulas(text: str, render: Callable[[str], str], *, math: bool = True) -> str:
    """Render a text by `render`, with its formulas as MathML. What is not LaTeX, or too long, stays as typed.

    Formulas are `$…$` and `\\(…\\)` within a line of text, `$$…$$`, `\\[…\\]` and environments such as `align` on a line of
    their own. A text without any is rendered as it is. Without `math`, formulas with commands stay as typed.
    """
    mark = secrets.token_hex(8)  # letters and digits alone, which no renderer changes and no text can foresee
    formulas: list[SafeString] = []
    left, depth = MOST, 0

    def keep(match: re.Match[str]) -> str:
        nonlocal left, depth
        kind = str(match.lastgroup)
        if kind in _DEPTHS:
            depth = max(depth + _DEPTHS[kind], 0)
            return match[0]
        formula = None
        if math and kind != "row" and len(match[0]) <= left:
            left -= len(match[0])
            formula = to_mathml(match[kind], is_display=kind in _ON_LINES_OF_THEIR_OWN)
        is_latex = depth if kind == "row" else _COMMAND.search(match[kind])
        if formula is None and not is_latex:
            return match[0]
        # Markdown would take one of two backslashes away.
        formulas.append(formula or format_html('<span class="preserve">{}</span>', match[0]))
        return f"{mark}x{len(formulas) - 1}x"

    marked = _FORMULA.sub(keep, text)
    if not formulas:
        return render(text)
    html = render(marked)
    # SafeString is what `render` has cleaned; each formula is cleaned below.
    html = conditional_escape(html)
    return mark_safe(re.sub(f"{mark}x(\\d+)x", lambda item: formulas[int(item[1])], html))  # noqa: S308  # see above


def to_mathml(latex: str, *, is_display: bool = False) -> SafeString | None:
    """Convert one formula, or None when it is too long or no LaTeX."""
    from latex2mathml.converter import convert  # most studies have no formulas, and it takes a tenth of a second

    # The converter writes the words of \text as they are, tags included.
    if len(latex) > LONGEST or _WORDS_WITH_MARKUP.search(latex):
        return None
    try:
        html = convert(_in_known_layouts(latex), display="block" if is_display else "inline")
    except Exception:  # of many kinds, for what is no LaTeX or nested too deeply
        return None
    cleaned = nh3.clean(html, tags=_TAGS, attributes=_ATTRIBUTES)
    if not cleaned.startswith("<math"):
        return None
    return format_html('<math alttext="{}"', latex.strip()) + mark_safe(cleaned.removeprefix("<math"))  # noqa: S308  # nh3 has cleaned it


def _in_known_layouts(latex: str) -> str:
    """Replace environments by those that the converter lays out in the same way, and drop labels."""

    def change(match: re.Match[str], mark: str, group: str) -> str:
        layout = _LAYOUTS[match[1]]
        return f"\\{mark}{{{layout}}}" if layout else group

    begun = _BEGINS.sub(lambda result: change(result, "begin", "{"), _LABEL.sub("", latex))
    return _ENDS.sub(lambda result: change(result, "end", "}"), begun)
