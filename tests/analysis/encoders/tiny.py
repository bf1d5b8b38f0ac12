"""A tiny encoder of any family with random weights, under the names that its files have."""

from typing import Any

import numpy as np

from analysis.encoders.families import FAMILIES, LAYER

WIDTH, HEADS, COUNT, WIDE, TOKENS, POSITIONS = 8, 2, 2, 12, 40, 30
PADDING = 1


def tiny(family: str, seed: int = 1) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return settings and weights."""
    names, rng = FAMILIES[family], np.random.default_rng(seed)
    settings: dict[str, Any] = {
        "model_type": family,
        "hidden_size": WIDTH,
        "num_attention_heads": HEADS,
        "num_hidden_layers": COUNT,
        "hidden_act": "gelu",
        "pad_token_id": PADDING,
        "layer_norm_eps": 1e-12,
    }
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (TOKENS, WIDTH),
        "embeddings.position_embeddings.weight": (POSITIONS + (PADDING + 1 if names.after_padding else 0), WIDTH),
        "embeddings.LayerNorm.weight": (WIDTH,),
        "embeddings.LayerNorm.bias": (WIDTH,),
    }
    if family != "mpnet":
        shapes["embeddings.token_type_embeddings.weight"] = (2, WIDTH)
    if names.relative:
        shapes[names.relative] = (32, HEADS)
    for number in range(COUNT):
        for part, name in names.parts.items():
            out, into = {"feed_forward_in": (WIDE, WIDTH), "feed_forward_out": (WIDTH, WIDE)}.get(part, (WIDTH, WIDTH))
            prefix = LAYER.format(number) + name
            shapes[f"{prefix}.weight"] = (out,) if part.endswith("norm") else (out, into)
            shapes[f"{prefix}.bias"] = (out,)
    return settings, {name: rng.normal(0, 0.6, shape).astype(np.float32) for name, shape in shapes.items()}
