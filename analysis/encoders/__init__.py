"""Transformer encoders: token ids in, one vector per token out. The caller supplies the weights."""

from analysis.encoders.families import FAMILIES, weights_of
from analysis.encoders.pooling import POOLINGS, pooled
from analysis.encoders.transformer import Weights, token_vectors

__all__ = ["FAMILIES", "POOLINGS", "Weights", "pooled", "token_vectors", "weights_of"]
