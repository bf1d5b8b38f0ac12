"""Pooling: from token vectors to one vector per text."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]


POOLINGS: Mapping[str, Callable[[Floats], Floats]] = MappingProxyType(
    {
        "cls": lambda vectors: vectors[0],
        "max": lambda vectors: vectors.max(axis=0),
        "mean": lambda vectors: vectors.mean(axis=0),
        "mean_sqrt_len_tokens": lambda vectors: vectors.sum(axis=0) / np.sqrt(np.float32(len(vectors))),
    }
)


def pooled(vectors: Sequence[Floats], how: Sequence[str] = ("mean",), *, unit: bool = True) -> Floats:
    """One vector for each text. Special tokens count, as they do in training.

    vectors : of each text (tokens, width)
    how     : names of `POOLINGS`; the vectors of several are put end to end
    unit    : whether to divide each by its length; one of length 0 stays as it is
    returns : (texts, width times poolings)
    source  : Reimers and Gurevych 2019, Sentence-BERT, §3
    """
    if not vectors:
        return np.zeros((0, 0), np.float32)
    rows = np.stack([np.concatenate([POOLINGS[name](each) for name in how]) for each in vectors])
    if unit:
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, np.newaxis]
        rows = np.divide(rows, lengths, out=rows, where=lengths > 0)
    return rows
