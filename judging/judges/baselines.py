"""Baselines: controls that need no endpoint. A judge that does no better has learnt nothing from the texts."""

import hashlib

from analysis.types import Verdict
from judging.judges.base import Baseline, Presentation, register


@register
class Longer(Baseline):
    """Prefers the text with more characters (Unicode code points, as stored); equal lengths are a tie."""

    name = "longer"
    parser_version = "1"

    def decide(self, shown: Presentation, *, seed: int) -> Verdict:
        """Compare the lengths; the seed plays no part."""
        if len(shown.first) == len(shown.second):
            return Verdict.TIE
        return Verdict.A if len(shown.first) > len(shown.second) else Verdict.B


@register
class Coin(Baseline):
    """Tosses a fair coin for each presentation; the same seed tosses the same."""

    name = "coin"
    parser_version = "1"

    def decide(self, shown: Presentation, *, seed: int) -> Verdict:
        """Take one bit of a hash over the seed, the pair and the order; the texts play no part."""
        digest = hashlib.sha256(f"coin\x00{seed}\x00{shown.identity}".encode()).digest()
        return Verdict.A if digest[0] & 1 else Verdict.B
