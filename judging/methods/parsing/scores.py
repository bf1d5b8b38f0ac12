"""Reading replies other than verdicts: scores, and texts for later prompts."""

from dataclasses import dataclass

from annotation.core.reasons import reason
from judging.core.errors import UnparsedVerdict
from judging.methods.base import Reply
from judging.methods.parsing.answers import FoundVerdict, is_refusal
from judging.methods.parsing.logprobs import Shares, bare, shares_at, tokens_in
from judging.methods.parsing.response_parts import split_response
from judging.methods.parsing.verdict_forms import VerdictForm

SCORES = ("1", "2", "3", "4", "5")
FORM = VerdictForm(
    ("score", "rating", "overall score", "overall rating"), letters=SCORES, scale=r"(?:/|out\s++of)\s*+5(?!\d|[.,]\d)"
)


def read_text(reply: Reply) -> str:
    """Return the answer within a reply.

    Raises: UnparsedVerdict if it is empty.
    """
    parts = split_response(reply.text)
    text = parts.answer.strip()
    if not text:
        raise UnparsedVerdict(reason("thoughts_alone" if parts.is_thinking else "answer_empty"))
    return text


def read_critique(reply: Reply) -> str:
    """Return an assessment, or `None` for a refusal.

    Raises: UnparsedVerdict
    """
    text = read_text(reply)
    if is_refusal(text):
        raise UnparsedVerdict(reason("declined", text=text[:200]))
    return text


def read_score(text: str) -> FoundVerdict:
    """Read a number on the last line, else the last line `Score: 4`, else a number on the first line.

    Raises: UnparsedVerdict if there is none from 1 to 5.
    """
    return FORM.read(text, letter_first=True)


@dataclass(frozen=True)
class Score:
    """The score of a text. `token_mass`: the part of its token's probability on the scores, where it is known."""

    value: float
    token_mass: float | None = None

    def __str__(self) -> str:
        return f"{self.value:g}"


def weighted_score(reply: Reply, scored: FoundVerdict) -> Score:
    """Return the mean of the scores 1 to 5, weighted by their probabilities at the score's token.

    The probabilities are normalised over the five scores. The plain score counts without them, and where the five
    have less than half of the probability.
    source : Liu et al. 2023, G-Eval, eq. 1
    """
    value = float(scored.letter)
    if (shares := _shares_of_score(reply, scored)) is None:
        return Score(value)
    mean = sum(int(score) * share for score, share in shares.of.items())
    return Score(value if shares.is_noise else mean, shares.mass)


def _shares_of_score(reply: Reply, scored: FoundVerdict) -> Shares | None:
    tokens = tokens_in(reply.response)
    starts, text = [], ""
    for token in tokens:
        starts.append(len(text))
        text += str(token.get("token", ""))
    line = text.rfind(scored.line.strip())
    for token, start in zip(tokens, starts, strict=True):
        if 0 <= line < start + len(str(token.get("token", ""))) and bare(token.get("token")) == scored.letter:
            return shares_at(token, SCORES)
    return None
