"""Reading a reply as a system's text, or finding why it is none."""

import re
from dataclasses import dataclass

from annotation.core.files.lines import text_problem
from judging.core.errors import UnparsedVerdict
from judging.methods import Reply
from judging.methods.parsing.response_parts import split_response

SHOWN = 200  # characters of an answer that a reason quotes
# Narrower than a judge's refusals, since "I can't stand it" may be a system's text: it must decline a typical request.
DECLINES = re.compile(
    r"\A\W*(?:(?:(?:i['’]?m|i am)\s+(?:very\s+|so\s+)?sorry|sorry|i apologi[sz]e|unfortunately|as an ai\b[^.!?\n]{0,60})"
    r"[\W]*(?:but\W+)?)?"
    r"i(?:['’]m (?:unable|not able) to| am (?:unable|not able) to| must decline to| (?:can['’]?t|cannot|can not|won['’]?t|will not))"
    r"\s+(?:help|assist|comply|fulfil+|answer|respond|provide|generate|create|write|produce|summari[sz]e|translate|simplify"
    r"|continue|engage|discuss|complete|do (?:that|this))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class SampledText:
    """One sampled text. `cut`: it ended at the length limit."""

    text: str
    cut: bool


def read_text(reply: Reply, *, keep_refusals: bool = False) -> SampledText:
    """Read a reply as a text, stripped, without thoughts at its start and tokens at its end.

    Raises: UnparsedVerdict with the reason if it is none.
    """
    text = split_response(reply.text, leading_only=True).answer.strip()
    if not text:
        cut = " (cut off at the length limit)" if reply.is_cut_off else ""
        raise UnparsedVerdict(f"{'nothing but thoughts' if reply.text.strip() else 'empty'}{cut}")
    if not keep_refusals and DECLINES.match(text):
        raise UnparsedVerdict(f"refused: {text[:SHOWN]}")
    if problem := text_problem(text, "a text that"):
        raise UnparsedVerdict(problem.text)
    return SampledText(text, reply.is_cut_off)
