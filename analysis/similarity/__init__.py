"""Text similarities: functions from two lists of texts to the matrix of their similarities."""

from analysis.similarity.bleu import pairwise_bleu
from analysis.similarity.chargrams import pairwise_chargrams
from analysis.similarity.chrf import pairwise_chrf
from analysis.similarity.exact import pairwise_exact
from analysis.similarity.length import length_penalty
from analysis.similarity.registry import Similarity, get, names, needs, with_model
from analysis.similarity.rouge import pairwise_rouge1
from analysis.similarity.semantic import (
    Encoder,
    Extractor,
    TokenEncoder,
    pairwise_bertscore,
    pairwise_cosine,
    pairwise_entities,
)

__all__ = [
    "Encoder",
    "Extractor",
    "Similarity",
    "TokenEncoder",
    "get",
    "length_penalty",
    "names",
    "needs",
    "pairwise_bertscore",
    "pairwise_bleu",
    "pairwise_chargrams",
    "pairwise_chrf",
    "pairwise_cosine",
    "pairwise_entities",
    "pairwise_exact",
    "pairwise_rouge1",
    "with_model",
]
