"""Texts without markup: characters, HTML, LaTeX, JSON fragments and emoji → plain lines."""

import re
import unicodedata
from collections import Counter

PIECE = 500
# Characters without a shape, controls and sequences of terminals. Line ends stay.
_UNSEEN = re.compile(
    r"\x1b\[[0-9;]{0,20}m|[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    r"\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_HALF_TOKEN = re.compile(r"<[|｜][A-Za-z_▁]{0,40}[|｜]?\Z")
# A role whose special tokens are missing, right behind an answer.
_GLUED_ROLE = re.compile(r"(?<=[A-Z.!?*)\]])(?=(?:assistant|user)[ \t]{0,3}$)", re.MULTILINE)
_BYTE_LINE_END = re.compile(r"<0x0A>")
_SQUARED = {
    **{0x1F170 + number: chr(0x41 + number) for number in range(26)},  # 🅰
    **{0x1F1E6 + number: chr(0x41 + number) for number in range(26)},  # regional indicators
    **dict.fromkeys((0x2192, 0x21D2, 0x27A1, 0x2794, 0x279C), "->"),
    0x227B: ">",
    0x227A: "<",
    0x2581: " ",  # of SentencePiece
}
_NO = frozenset("❌✗✘✖✕❎🚫⛔👎🙅⊗☒")  # what they stand beside is not chosen
_SYMBOL = re.compile(r"[^\x00-\u02ff]")
_STRUCK = re.compile(r"~~[^~\n]+~~|<(del|strike)>[^<\n]*</\1>", re.IGNORECASE)
_STRUCK_S = re.compile(r"<s>[^<\n]*</s>")
_CITED_TAG = re.compile(r"<(blockquote|q|cite)>[^<]*</\1>", re.IGNORECASE)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_ESCAPED_LINE = re.compile(r"(?:\\r)?\\n(?![a-z])")
_ATTRIBUTES = r"(?:\s[^<>\n=]{1,40}=[^<>\n]{0,200})?"
_INLINE = re.compile(
    rf"</?(?:strong|em|i|u|span|code|font|mark|small|big|sub|sup|tt|kbd|label|center){_ATTRIBUTES}\s?/?>"
    r"|<a\s[^<>\n=]{1,40}=[^<>\n]{0,200}>|</a>",
    re.IGNORECASE,
)
_BOLD = re.compile(r"</?b>", re.IGNORECASE)
_CHOICE = r"(?:final_)?(?:answer|verdict|choice|decision|result|output|selection|judge?ment|conclusion|solution)|final"
_MARKED = re.compile(rf"<({_CHOICE})>\s{{0,3}}([^<>:\n]{{1,40}}?)\s{{0,3}}</\1>", re.IGNORECASE)
_NEXT_TAG = re.compile(r"(?<=>)[ \t]{0,20}(?=<[a-z])", re.IGNORECASE)
_LABELLED = re.compile(
    r"^[ \t]*+<([a-z][a-z_ -]{2,30})>\s{0,3}([^<>:\n]{1,80}?)\s{0,3}</\1>", re.IGNORECASE | re.MULTILINE
)
_BLOCK = re.compile(rf"</?(?:p|h[1-6]|[a-z][a-z_-]{{1,30}}){_ATTRIBUTES}\s?/?>", re.IGNORECASE)
_ELEMENT = re.compile(r"<(?P<closing>/?)(?P<name>[a-z][a-z_-]{2,30})>", re.IGNORECASE)
_HTML = frozenset({"div", "pre", "table", "tbody", "thead", "section", "body", "html", "article"})
_ENTITY = re.compile(r"&(nbsp|lt|gt|amp|quot|apos|#0?39|#34|#160|#x27);", re.IGNORECASE)
_ENTITIES = {"nbsp": " ", "#160": " ", "lt": "<", "gt": ">", "amp": "&", "quot": '"', "#34": '"'}
_LATEX_STYLE = re.compile(
    r"\\(?:text(?:bf|it|rm|tt|sf|sc|normal)?|math(?:bf|rm|it|sf|tt|bb|cal)|bf|emph|underline|uline|bm|boldsymbol|mbox"
    r"|large|huge|operatorname\*?|displaystyle|left|right|color\{\w{1,20}\}|textcolor\{\w{1,20}\})(?![a-z])\s?",
    re.IGNORECASE,
)
_LATEX_BOX = re.compile(r"\\(?:fbox|framebox|boxed)\s?(?=\{)")
_LABEL_IN_BOX = re.compile(r"\\boxed(?=\{{1,2}[^{}\n]{1,60}:)")
_LATEX_SPACE = re.compile(r"\\(?:q?quad|hspace\{[^{}\n]{0,20}\}|hfill|newline|par|[,;!:])(?![a-z])")
_LATEX_RELATIONS = (
    (re.compile(r"\\(?:succ|gt|gg)(?![a-z])"), ">"),
    (re.compile(r"\\(?:prec|lt|ll)(?![a-z])"), "<"),
    (re.compile(r"\\(?:to|(?:long)?rightarrow|implies)(?![a-z])", re.IGNORECASE), "->"),
    (re.compile(r"\\(?:begin|end)\{\w{1,20}\*?\}"), "\n"),
)
_FRAGMENT = re.compile(
    r"^[\s{,]*+([\"'“])(?P<name>[^\"'“”:\n]{1,40})[\"'”]\s?[:=]\s?([\"'“])(?P<value>[^\"'“”\n]{1,80})[\"'”][\s},]*+$"
)


def normalized(text: str) -> str:
    """Return a text in NFKC without invisible characters.

    It is normalised in pieces, since runs of combining marks take quadratic time.
    """
    lines = text.splitlines(keepends=True)
    pieces = [line[start : start + PIECE] for line in lines for start in range(0, len(line), PIECE)]
    visible = _UNSEEN.sub("", "".join(unicodedata.normalize("NFKC", piece) for piece in pieces))
    visible = visible.replace("&lt;", "<").replace("&gt;", ">")
    return _BYTE_LINE_END.sub("\n", visible)


def without_struck(text: str) -> str:
    """Return a text without what is struck out by `<s>`, which is also the token that starts a text."""
    first = len(text) - len(text.lstrip())
    return _STRUCK_S.sub(lambda struck: struck[0] if struck.start() == first else "", text)


def plain_lines(answer: str) -> str:
    """Return an answer without HTML, LaTeX styles and emoji. Answers in tags become marks or labelled lines."""
    if "\\n" in answer and "\n" not in answer.strip():
        answer = _ESCAPED_LINE.sub("\n", answer)
    answer = _GLUED_ROLE.sub("\n", answer)
    answer = _STRUCK.sub("", _COMMENT.sub("", _HALF_TOKEN.sub("", answer)))
    if "<" in answer:
        lines = _CITED_TAG.sub("", answer).split("\n")
        answer = "\n".join(_BOLD.sub("", line) if "</b>" in line.lower() else line for line in lines)
        answer = _MARKED.sub(r"[[\2]]", _NEXT_TAG.sub("\n", _INLINE.sub("", answer)))
        answer = _LABELLED.sub(lambda tag: f"{tag[1].replace('_', ' ').replace('-', ' ')}: {tag[2]}\n", answer)
        answer = _BLOCK.sub("\n", answer)
    if "&" in answer:
        answer = _ENTITY.sub(lambda entity: _ENTITIES.get(entity[1].lower(), "'"), answer)
    if "\\" in answer:
        answer = _LATEX_BOX.sub(r"\\boxed", _LATEX_STYLE.sub("", answer))
        answer = _LATEX_SPACE.sub(" ", _LABEL_IN_BOX.sub("", answer))
        for relation, plain in _LATEX_RELATIONS:
            answer = relation.sub(plain, answer)
    answer = _SYMBOL.sub(lambda match: _symbol(match[0]), answer)
    text = "\n".join(map(_without_fragment, answer.splitlines()))
    return f"{text}\n" if answer.endswith(("\n", "\r")) else text


def has_open_element(answer: str) -> bool:
    """Tell whether an answer ends within an element whose name is not of HTML: `<evaluation>…`."""
    names = [
        tag for tag in _ELEMENT.finditer(answer) if not _INLINE.fullmatch(tag[0]) and tag["name"].lower() not in _HTML
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
    fragment = _FRAGMENT.match(line)
    return f"{fragment['name'].replace('_', ' ')}: {fragment['value']}" if fragment else line
