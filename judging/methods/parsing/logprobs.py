"""Probabilities of the letters or scores on offer, from the alternatives that an endpoint lists at the answer's token.

p(L) is the sum over the spellings of L (small, full-width, with a space or a mark, written as bytes). Where those on offer have less
than half together there is no probability. One that is not listed counts with as much as it can have, at least 1e-6, not with 0 as in
papers: the probability of the least likely alternative, and no more than its part of what the listed ones leave.
P(second) = p(second) / Σ p(L), a tie counting half for each side; a score is Σ p(s) s / Σ p(s) over 1 to 5 (Liu et al. 2023, G-Eval, eq. 1).
"""

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judging.methods.parsing.answers import MARKUP
from judging.methods.parsing.response_parts import QUOTES

LEAST_MASS = 0.5  # of a token's probability on the answers: below it, their shares are noise
ROUNDING = 1e-6  # of endpoints' probabilities; an answer that isn't listed may have as much
AROUND = f" \t\n\r.:{MARKUP}{QUOTES}▁ĠĊ"  # added by tokenizers before words, or by models around letters
BYTES = re.compile(r"(?:<0x[0-9A-Fa-f]{2}>)+|bytes:(?:\\x[0-9A-Fa-f]{2})+")
BYTE = re.compile(r"x([0-9A-Fa-f]{2})")


@dataclass(frozen=True)
class Shares:
    """Probabilities of the answers on offer at one token, as shares of their sum.

    mass : the part of the token's probability that they have in all
    """

    mass: float
    of: Mapping[str, float]

    @property
    def is_noise(self) -> bool:
        """Tell whether most of the probability is on something else."""
        return self.mass < LEAST_MASS


def tokens_in(response: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return an answer's tokens with log-probabilities and alternatives, or none where a part is malformed."""
    choice = (response.get("choices") or [{}])[0]
    content = (choice.get("logprobs") or {}).get("content") if isinstance(choice, dict) else None
    return [token for token in content if isinstance(token, dict)] if isinstance(content, list) else []


def bare(token: object) -> str:
    """Return a token's text without surrounding spaces and marks. A token that is written as bytes is decoded."""
    text = str(token)
    if BYTES.fullmatch(text):
        text = bytes(int(digits, 16) for digits in BYTE.findall(text)).decode("utf-8", "replace")
    return text.strip(AROUND)


def letter_of(token: object) -> str:
    """Return a token as a letter or digit on offer: full-width, bold and small ones are the plain capital."""
    return unicodedata.normalize("NFKC", bare(token)).upper()


def shares_of(response: Mapping[str, Any], letter: str, answers: Sequence[str]) -> Shares | None:
    """Return the answers' shares at the last token equal to `letter`, or `None` without probabilities or such a token."""
    for token in reversed(tokens_in(response)):
        if bare(token.get("token")) == letter:
            return shares_at(token, answers)
    return None


def shares_at(token: Mapping[str, Any], answers: Sequence[str]) -> Shares | None:
    """Return the answers' shares of their probability at one token, or `None` if it has no list of alternatives.

    Spellings of an answer count together. One that isn't listed has as much as it can have: no more than the least
    likely alternative, nor than the listed ones leave.
    """
    alternatives = token.get("top_logprobs")
    if not isinstance(alternatives, list) or all(_logprob_of(entry) is None for entry in alternatives):
        return None
    values = [(entry, _logprob_of(entry)) for entry in (token, *alternatives)]
    # Some round to a little above 0.
    listed = {str(entry.get("token")): math.exp(min(value, 0.0)) for entry, value in values if value is not None}
    shares = {answer: sum(p for name, p in listed.items() if letter_of(name) == answer) for answer in answers}
    mass = min(1.0, sum(shares.values()))
    missing = [answer for answer, p in shares.items() if not p]
    unlisted = max(ROUNDING, 1 - sum(listed.values()))
    shares |= dict.fromkeys(missing, min(unlisted / max(1, len(missing)), *listed.values()))
    total = sum(shares.values())
    return Shares(mass, {answer: p / total if total else 1 / len(answers) for answer, p in shares.items()})


def _logprob_of(entry: object) -> float | None:
    value = entry.get("logprob") if isinstance(entry, dict) else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
