"""Transformer encoders: token ids in, one vector per token out. The caller supplies the weights."""
