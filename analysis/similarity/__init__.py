"""Text similarities: functions from two lists of texts to the matrix of their similarities."""

from analysis.similarity.length import length_penalty
from analysis.similarity.registry import Similarity, get, names
from analysis.similarity.rouge import pairwise_rouge1

__all__ = ["Similarity", "get", "length_penalty", "names", "pairwise_rouge1"]
