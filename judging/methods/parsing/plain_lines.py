"""Texts without markup: characters, HTML, LaTeX, JSON fragments and emoji → plain lines."""

import re
import unicodedata
from collections import Counter

PIECE = 500
# The patterns are compiled by `re` when the first answer is read: web processes import this module and read none.
# Characters without a shape, controls and sequences of terminals. Line ends stay.
_UNSEEN = (
    r"\x1b\[[0-9;]{0,20}m|[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    r"\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_HALF_MARK = r"<[|｜][A-Za-z_▁]{0,40}[|｜]?\Z"
# A role whose special tokens are missing, right behind an answer.
_GLUED_ROLE = r"(?m)(?<=[A-Z.!?*)\]])(?=(?:assistant|user)[ \t]{0,3}$)"
_SQUARED = {
    **{0x1F170 + number: chr(0x41 + number) for number in range(26)},  # 🅰
    **{0x1F1E6 + number: chr(0x41 + number) for number in range(26)},  # regional indicators
    **dict.fromkeys((0x2192, 0x21D2, 0x27A1, 0x2794, 0x279C), "->"),
    0x227B: ">",
    0x227A: "<",
    0x2581: " ",  # of SentencePiece
}
_NO = frozenset("❌✗✘✖✕❎🚫⛔👎🙅⊗☒")  # what they stand beside is not chosen
_SYMBOL = r"[^\x00-\u02ff]"
_STRUCK = r"(?i)~~[^~\n]+~~|<(del|strike)>[^<\n]*</\1>"
_STRUCK_S = r"<s>[^<\n]*</s>"
_CITED_TAG = r"(?i)<(blockquote|q|cite)>[^<]*</\1>"
_COMMENT = r"(?s)<!--.*?(?:-->|\Z)"
_ESCAPED_LINE = r"(?:\\r)?\\n(?![a-z])"
_ATTRIBUTES = r"(?:\s[^<>\n=]{1,40}=[^<>\n]{0,200})?"
_INLINE = (
    rf"(?i)</?(?:strong|em|i|u|span|code|font|mark|small|big|sub|sup|tt|kbd|label|center){_ATTRIBUTES}\s?/?>"
    r"|<a\s[^<>\n=]{1,40}=[^<>\n]{0,200}>|</a>"
)
_BOLD = r"(?i)</?b>"
_CHOICE = r"(?:final_)?(?:answer|verdict|choice|decision|result|output|selection|judge?ment|conclusion|solution)|final"
_MARKED = rf"(?i)<({_CHOICE})>\s{{0,3}}([^<>:\n]{{1,40}}?)\s{{0,3}}</\1>"
_NEXT_TAG = r"(?i)(?<=>)[ \t]{0,20}(?=<[a-z])"
_LABELLED = r"(?im)^[ \t]*+<([a-z][a-z_ -]{2,30})>\s{0,3}([^<>:\n]{1,80}?)\s{0,3}</\1>"
_BLOCK = rf"(?i)</?(?:p|h[1-6]|[a-z][a-z_-]{{1,30}}){_ATTRIBUTES}\s?/?>"
_ELEMENT = r"(?i)<(?P<closing>/?)(?P<name>[a-z][a-z_-]{2,30})>"
_HTML = frozenset({"div", "pre", "table", "tbody", "thead", "section", "body", "html", "article"})
_ENTITY = r"(?i)&(nbsp|lt|gt|amp|quot|apos|#0?39|#34|#160|#x27);"
_ENTITIES = {"nbsp": " ", "#160": " ", "lt": "<", "gt": ">", "amp": "&", "quot": '"', "#34": '"'}
_LATEX_STYLE = (
    r"(?i)\\(?:text(?:bf|it|rm|tt|sf|sc|normal)?|math(?:bf|rm|it|sf|tt|bb|cal)|bf|emph|underline|uline|bm|boldsymbol|mbox"
    r"|large|huge|operatorname\*?|displaystyle|left|right|color\{\w{1,20}\}|textcolor\{\w{1,20}\})(?![a-z])\s?"
)
_LATEX_BOX = r"\\(?:fbox|framebox|boxed)\s?(?=\{)"
_LABEL_IN_BOX = r"\\boxed(?=\{{1,2}[^{}\n]{1,60}:)"
_LATEX_SPACE = r"\\(?:q?quad|hspace\{[^{}\n]{0,20}\}|hfill|newline|par|[,;!:])(?![a-z])"
_LATEX_RELATIONS = (
    (r"\\(?:succ|gt|gg)(?![a-z])", ">"),
    (r"\\(?:prec|lt|ll)(?![a-z])", "<"),
    (r"(?i)\\(?:to|(?:long)?rightarrow|implies)(?![a-z])", "->"),
    (r"\\(?:begin|end)\{\w{1,20}\*?\}", "\n"),
)
_FRAGMENT = (
    r"^[\s{,]*+([\"'“])(?P<name>[^\"'“”:\n]{1,40})[\"'”]\s?[:=]\s?([\"'“])(?P<value>[^\"'“”\n]{1,80})[\"'”][\s},]*+$"
)


def normalized(text: str) -> str:
    """Return a text in NFKC without invisible characters.

    It is normalised in pieces, since runs of combining marks take quadratic time.
    """
    lines = text.splitlines(keepends=True)
    pieces = [line[start : start + PIECE] for line in lines for start in range(0, len(line), PIECE)]
    visible = re.sub(_UNSEEN, "", "".join(unicodedata.normalize("NFKC", piece) for piece in pieces))
    visible = visible.replace("&lt;", "<").replace("&gt;", ">")
    return visible.replace("<0x0A>", "\n")


def without_struck(text: str) -> str:
    """Return a text without what is struck out by `<s>`, which is also the token that starts a text."""
    first = len(text) - len(text.lstrip())
    return re.sub(_STRUCK_S, lambda struck: struck[0] if struck.start() == first else "", text)


def plain_lines(answer: str) -> str:
    """Return an answer without HTML, LaTeX styles and emoji. Answers in tags become marks or labelled lines."""
    if "\\n" in answer and "\n" not in answer.strip():
        answer = re.sub(_ESCAPED_LINE, "\n", answer)
    answer = re.sub(_GLUED_ROLE, "\n", answer)
    answer = re.sub(_STRUCK, "", re.sub(_COMMENT, "", re.sub(_HALF_MARK, "", answer)))
    if "<" in answer:
        lines = re.sub(_CITED_TAG, "", answer).split("\n")
        answer = "\n".join(re.sub(_BOLD, "", line) if "</b>" in line.lower() else line for line in lines)
        answer = re.sub(_MARKED, r"[[\2]]", re.sub(_NEXT_TAG, "\n", re.sub(_INLINE, "", answer)))
        answer = re.sub(_LABELLED, lambda tag: f"{tag[1].replace('_', ' ').replace('-', ' ')}: {tag[2]}\n", answer)
        answer = re.sub(_BLOCK, "\n", answer)
    if "&" in answer:
        answer = re.sub(_ENTITY, lambda entity: _ENTITIES.get(entity[1].lower(), "'"), answer)
    if "\\" in answer:
        answer = re.sub(_LATEX_BOX, r"\\boxed", re.sub(_LATEX_STYLE, "", answer))
        answer = re.sub(_LATEX_SPACE, " ", re.sub(_LABEL_IN_BOX, "", answer))
        for relation, plain in _LATEX_RELATIONS:
            answer = re.sub(relation, plain, answer)
    answer = re.sub(_SYMBOL, lambda match: _symbol(match[0]), answer)
    text = "\n".join(map(_without_fragment, answer.splitlines()))
    return f"{text}\n" if answer.endswith(("\n", "\r")) else text


def has_open_element(answer: str) -> bool:
    """Tell whether an answer ends within an element whose name is not of HTML: `<evaluation>…`."""
    names = [
        tag
        for tag in re.finditer(_ELEMENT, answer)
        if not re.fullmatch(_INLINE, tag[0]) and tag["name"].lower() not in _HTML
    ]
    opened = Counter(tag["name"].lower() for tag in names if not tag["closing"])
    opened.subtract(tag["name"].lower() for tag in names if tag["closing"])
    return any(count > 0 for count in opened.values())


def _symbol(character: str) -> str:
    if (plain := _SQUARED.get(ord(character))) is not None:
        return plain
    is_emoji = unicodedata.category(character) in ("So", "Sk") and character not in _NO
    return " " if is_emoji else character


def _without_fragment(line: str) -> str:
    """Return `"Preferred": "A",` as `Preferred: A`."""
    fragment = re.match(_FRAGMENT, line)
    return f"{fragment['name'].replace('_', ' ')}: {fragment['value']}" if fragment else line
