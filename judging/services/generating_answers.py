"""What an answer is as a system's text: the text, or the reason why it is none."""

import re
from dataclasses import dataclass

from annotation.formats.lines import text_problem
from judging.errors import UnparsedVerdict
from judging.judges import Reply
from judging.judges.answers import THINKING

SHOWN = 200  # characters of an answer that a reason quotes
# Narrower than what tells a judge's refusal: "I can't stand it" may well be somebody's text in simpler words. What is
# declined has to be something that models are asked to do.
DECLINES = re.compile(
    r"\A\W*(?:(?:(?:i['’]?m|i am)\s+(?:very\s+|so\s+)?sorry|sorry|i apologi[sz]e|unfortunately|as an ai\b[^.!?\n]{0,60})"
    r"[\W]*(?:but\W+)?)?"
    r"i(?:['’]m (?:unable|not able) to| am (?:unable|not able) to| must decline to| (?:can['’]?t|cannot|can not|won['’]?t|will not))"
    r"\s+(?:help|assist|comply|fulfil+|answer|respond|provide|generate|create|write|produce|summari[sz]e|translate|simplify"
    r"|continue|engage|discuss|complete|do (?:that|this))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Drawn:
    """One text of a system; `cut`: it ended at the limit of its length."""

    text: str
    cut: bool


def read_text(reply: Reply, *, keep_refusals: bool = False) -> Drawn:
    """Read an answer as a text: without what a model thought aloud first, and without blanks at its ends.

    Raises: UnparsedVerdict saying why it is none.
    """
    text = THINKING.sub("", reply.text).strip()
    if not text:
        cut = " (cut off at the length limit)" if reply.finish_reason == "length" else ""
        raise UnparsedVerdict(f"{'nothing but thoughts' if reply.text.strip() else 'empty'}{cut}")
    if not keep_refusals and DECLINES.match(text):
        raise UnparsedVerdict(f"refused: {text[:SHOWN]}")
    if problem := text_problem(text):
        raise UnparsedVerdict(f"a text that {problem}")
    return Drawn(text, reply.finish_reason == "length")
