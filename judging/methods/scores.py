"""Reading replies other than verdicts: scores, and texts for later prompts."""

import re
from dataclasses import dataclass

from judging.core.errors import UnparsedVerdict
from judging.methods.answers import (
    MARKUP,
    QUOTES,
    REASON_MARKS,
    THINKING,
    answer_lines,
    has_words,
    is_quotation,
    is_refusal,
)
from judging.methods.base import Reply
from judging.methods.logprobs import bare, shares_at, tokens_in

SCORES = ("1", "2", "3", "4", "5")
EDGE = rf"[\s{re.escape(QUOTES + MARKUP)}]*+"
LABEL = re.compile(rf"^\s*+[-•]?{EDGE}(?:(?:final|overall)\s++)?(?:score|rating){EDGE}[:=]", re.IGNORECASE)
SCORE = re.compile(
    rf"^{EDGE}(?P<score>[1-5])(?!\d|[.,]\d){EDGE}(?:(?:/|out\s++of)\s*+5(?!\d|[.,]\d){EDGE})?(?P<rest>.*)$",
    re.IGNORECASE,
)
ANOTHER = re.compile(r"\b[1-5]\b")


@dataclass(frozen=True)
class Scored:
    """A score, its rationale, and the line that contains it."""

    score: str
    rationale: str
    line: str


def read_text(reply: Reply) -> str:
    """Return a reply's text without reasoning at its start.

    Raises: UnparsedVerdict if it is empty.
    """
    text = THINKING.sub("", reply.text).strip()
    if not text:
        raise UnparsedVerdict("an empty answer")
    return text


def read_critique(reply: Reply) -> str:
    """Return an assessment; a refusal is none.

    Raises: UnparsedVerdict
    """
    text = read_text(reply)
    if is_refusal(text):
        raise UnparsedVerdict(f"declined: {text[:200]}")
    return text


def read_score(text: str) -> Scored:
    """Read a number on the last line, else the last line `Score: 4`, else a number on the first line.

    Raises: UnparsedVerdict if there is none from 1 to 5.
    """
    lines = answer_lines(text)
    if lines and (score := score_in(lines[-1], alone=True)):
        return Scored(score, "\n".join(lines[:-1]), lines[-1])
    for place in range(len(lines) - 1, -1, -1):
        if not is_quotation(lines[place]) and (label := LABEL.match(lines[place])):
            if score := score_in(lines[place][label.end() :]):
                return Scored(score, "\n".join(lines[:place]), lines[place])
            break
    else:
        if lines and (score := score_in(lines[0], alone=True)):
            return Scored(score, "\n".join(lines[1:]), lines[0])
    raise UnparsedVerdict(f"no score in: …{text[-200:]}" if text.strip() else "an empty answer")


def score_in(answer: str, *, alone: bool = False) -> str:
    """Return the single score that an answer names, or an empty text; `alone`: no reason may follow."""
    matched = SCORE.match(answer)
    if matched is None:
        return ""
    rest = matched["rest"]
    opened = not has_words(rest) or (
        not alone and (rest.startswith((*REASON_MARKS, "-")) or answer.rstrip().endswith(")"))
    )
    return "" if not opened or ANOTHER.search(rest) else matched["score"]


def weighted_score(reply: Reply, scored: Scored) -> float:
    """Return the mean of the scores 1 to 5, weighted by their probabilities at the score's token; else the score.

    The probabilities are normalised over the five scores.
    source : Liu et al. 2023, G-Eval, eq. 1
    """
    tokens = tokens_in(reply.response)
    starts, said = [], ""
    for token in tokens:
        starts.append(len(said))
        said += str(token.get("token", ""))
    line = said.rfind(scored.line.strip())
    for token, start in zip(tokens, starts, strict=True):
        if 0 <= line < start + len(str(token.get("token", ""))) and bare(token.get("token")) == scored.score:
            shares = shares_at(token, SCORES)
            return sum(int(score) * share for score, share in shares.items()) if shares else float(scored.score)
    return float(scored.score)
