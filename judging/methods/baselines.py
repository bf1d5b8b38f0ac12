"""Baselines: controls without an endpoint. A judge that is no better makes no use of the texts."""

import hashlib

from analysis.similarity import pairwise_rouge1
from analysis.types import Verdict
from judging.methods.base import Baseline, Presentation, register


@register
class Longer(Baseline):
    """Prefers the text with more characters (Unicode code points, as stored). Equal lengths are a tie."""

    name = "longer"
    parser_version = "1"

    def decide(self, presentation: Presentation, *, seed: int) -> Verdict:
        """Compare the lengths. The seed plays no part."""
        if len(presentation.first) == len(presentation.second):
            return Verdict.TIE
        return Verdict.A if len(presentation.first) > len(presentation.second) else Verdict.B


@register
class Overlap(Baseline):
    """Prefers the text with more words in common with the source. Equal overlap is a tie.

    Overlap is ROUGE-1 F1 between the source and the text, with Porter stems: twice the number of common words over the
    number of words of both. Only Latin letters and digits make words, so texts in other scripts, and an empty source,
    are ties. Of two texts that take all their words from the source, the one nearer to its length wins.
    """

    name = "overlap"
    parser_version = "1"

    def decide(self, presentation: Presentation, *, seed: int) -> Verdict:
        """Compare the overlaps. The seed plays no part."""
        [[first, second]] = pairwise_rouge1([presentation.source], [presentation.first, presentation.second])
        return Verdict(int(second > first) - int(second < first))


@register
class Coin(Baseline):
    """Tosses a fair coin for each presentation. The same seed tosses the same."""

    name = "coin"
    parser_version = "1"

    def decide(self, presentation: Presentation, *, seed: int) -> Verdict:
        """Take one bit of a hash over the seed, the pair and the order. The texts play no part."""
        digest = hashlib.sha256(f"coin\x00{seed}\x00{presentation.identity}".encode()).digest()
        return Verdict.A if digest[0] & 1 else Verdict.B
