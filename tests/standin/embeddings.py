"""Vectors for texts: bags of hashed words, so that texts with words in common are near each other."""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from tests.standin.chat import Refused

DIMENSIONS = 64
WORD = re.compile(r"\w+")


def embeddings(body: Mapping[str, Any]) -> dict[str, Any]:
    """Answer a request for vectors.

    Raises: Refused for an empty text, as endpoints do
    """
    given = body["input"]
    texts = [given] if isinstance(given, str) else list(given)
    if not body.get("model") or not texts or not all(isinstance(text, str) and text.strip() for text in texts):
        raise Refused(400, "'model' and 'input' are needed, and no input may be empty")
    data = [{"object": "embedding", "index": place, "embedding": vector(text)} for place, text in enumerate(texts)]
    tokens = sum(len(WORD.findall(text)) for text in texts)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "model": body["model"], "data": data, "usage": usage}


def vector(text: str) -> list[float]:
    """Count a text's words, each in the place that its hash names."""
    counts = [0.0] * DIMENSIONS
    for word in WORD.findall(text.casefold()):
        counts[hashlib.sha256(word.encode()).digest()[0] % DIMENSIONS] += 1.0
    return counts
