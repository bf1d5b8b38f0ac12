"""People's votes on pairs, in columns. No models."""

from collections.abc import Sequence

import numpy as np

from analysis.types import FloatArray


def vote_table(votes: Sequence[Sequence[int]]) -> FloatArray:
    """Votes in columns, as wide as the most voted-on pair."""
    table = np.full((len(votes), max(map(len, votes), default=0)), np.nan)
    for row, found in enumerate(votes):
        table[row, : len(found)] = found
    return table
