"""Models in the form that similarities take them, with batched encoding."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from annotation.core.errors import ModelUnavailable
from annotation.separability.encoders import SMALL, default_model, find_model
from annotation.separability.entities import SPEC as ENTITIES
from annotation.separability.entities import find_extractor


class SimilarityModel(Protocol):
    """An encoder (`encode`, `encode_tokens`) or an entity extractor (a callable)."""

    @property
    def name(self) -> str:
        """The name as recorded with results."""

    @property
    def fingerprint(self) -> str:
        """An id of all that its results depend on."""


@dataclass(frozen=True)
class BoundModel:
    """A model as the argument of a similarity.

    needed : "tokens", "encoder" or "extractor", as `analysis.similarity.needs` says
    """

    needed: str
    model: Any

    @property
    def arguments(self) -> dict[str, Any]:
        """The argument of `analysis.similarity.with_model`."""
        return {self.needed: self.model}

    def with_cached(self, texts: Collection[str]) -> "BoundModel":
        """Return the model with these texts encoded in one batch, which is much faster, and cached."""
        listed = sorted(texts)
        if not listed:
            return self
        if self.needed == "extractor":
            return BoundModel(self.needed, _CachedEntities(dict(zip(listed, self.model(listed), strict=True))))
        read = self.model.encode if self.needed == "encoder" else self.model.encode_tokens
        vectors = dict(zip(listed, read(listed), strict=True))
        return BoundModel(self.needed, _CachedVectors(vectors, getattr(self.model, "specials", None)))


class _CachedVectors:
    """Cached vectors of texts."""

    def __init__(self, vectors: dict[str, np.ndarray], specials: Any) -> None:
        self.vectors = vectors
        if specials is not None:
            self.specials = specials

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        return np.stack([self.vectors[text] for text in texts])

    def encode_tokens(self, texts: Sequence[str]) -> list[np.ndarray]:
        return [self.vectors[text] for text in texts]


class _CachedEntities:
    """Cached entities of texts."""

    def __init__(self, names: dict[str, frozenset[str]]) -> None:
        self.names = names

    def __call__(self, texts: Sequence[str]) -> list[frozenset[str]]:
        return [self.names[text] for text in texts]


def find_similarity_model(needed: str, spec: str, *, listed_only: bool = False) -> SimilarityModel:
    """Return the model of that name, by default the installed one, of the type that a similarity needs.

    listed_only : refuse paths; for names from pages
    Raises: ModelUnavailable saying which models exist and what to install.
    """
    if needed == "extractor":
        if listed_only and spec not in ("", ENTITIES):
            raise ModelUnavailable(f"there is no model {spec!r} for entities; leave it out, or name {ENTITIES}")
        return find_extractor(spec)
    return find_model(spec or default_model() or SMALL, listed_only=listed_only)
