"""Lengths of texts in words."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Lengths:
    """Lengths of some texts by `analysis.similarity.content_words.length_in_words`. `None` without texts.

    counts : words of each text, 0 of an empty one
    source : the average lengths of data sets in Predicting Text Preference Via Structured Comparative Reasoning, table 6
    """

    counts: tuple[int, ...] = ()

    @property
    def n(self) -> int:
        """Number of texts."""
        return len(self.counts)

    @property
    def mean(self) -> float | None:
        """Mean length."""
        return float(np.mean(self.counts)) if self.counts else None

    @property
    def median(self) -> float | None:
        """Median length."""
        return float(np.median(self.counts)) if self.counts else None

    @property
    def shortest(self) -> int | None:
        """Length of the shortest text."""
        return min(self.counts, default=None)

    @property
    def longest(self) -> int | None:
        """Length of the longest text."""
        return max(self.counts, default=None)

    def __add__(self, other: "Lengths") -> "Lengths":
        return Lengths(self.counts + other.counts)
