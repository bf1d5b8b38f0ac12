"""Similarities by name, as commands and settings give them."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from analysis.errors import UnknownValue
from analysis.similarity.length import length_penalty
from analysis.similarity.rouge import pairwise_rouge1
from analysis.types import FloatArray

Similarity = Callable[[Sequence[str], Sequence[str]], FloatArray]


def length_adjusted(similarity: Similarity) -> Similarity:
    """The similarity times the length penalty of each pair of texts.

    source : Ghosh et al. 2024, Compare without Despair, §2.2 and note 5
    """

    def adjusted(texts_a: Sequence[str], texts_b: Sequence[str]) -> FloatArray:
        return similarity(texts_a, texts_b) * length_penalty(texts_a, texts_b)

    return adjusted


SIMILARITIES: Mapping[str, Similarity] = MappingProxyType(
    {
        "rouge1": pairwise_rouge1,
        "rouge1-length": length_adjusted(pairwise_rouge1),
    }
)


def names() -> tuple[str, ...]:
    """Every name that `get` knows, sorted."""
    return tuple(sorted(SIMILARITIES))


def get(name: str) -> Similarity:
    """The similarity of that name: (texts_a, texts_b) to an array (len(texts_a), len(texts_b)).

    raises : UnknownValue naming the known ones
    """
    if name not in SIMILARITIES:
        raise UnknownValue(f"unknown similarity {name!r}; known: {', '.join(names())}")
    return SIMILARITIES[name]
