"""Models that similarities of meaning are handed, and their reading of many texts at once."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from annotation.errors import NoModel
from annotation.services.encoders import SMALL, default_model, find_model
from annotation.services.entities import SPEC as ENTITIES
from annotation.services.entities import find_extractor


class SimilarityModel(Protocol):
    """What reads texts: its name and what tells its weights from others'; `encode`, `encode_tokens` or a call."""

    @property
    def name(self) -> str:
        """As it was asked for, or as it calls itself."""

    @property
    def fingerprint(self) -> str:
        """Of what decides its vectors."""


@dataclass(frozen=True)
class Handed:
    """A model in the form that a similarity takes it.

    needed : "tokens", "encoder" or "extractor", as `analysis.similarity.needs` says
    """

    needed: str
    model: Any

    @property
    def arguments(self) -> dict[str, Any]:
        """The argument of `analysis.similarity.with_model`."""
        return {self.needed: self.model}

    def having_read(self, texts: Collection[str]) -> "Handed":
        """Return the same with these texts read already, all at once: a model is far quicker that way."""
        listed = sorted(texts)
        if not listed:
            return self
        if self.needed == "extractor":
            return Handed(self.needed, _Names(dict(zip(listed, self.model(listed), strict=True))))
        read = self.model.encode if self.needed == "encoder" else self.model.encode_tokens
        vectors = dict(zip(listed, read(listed), strict=True))
        return Handed(self.needed, _Vectors(vectors, getattr(self.model, "specials", None)))


class _Vectors:
    """Vectors of texts that were read."""

    def __init__(self, vectors: dict[str, np.ndarray], specials: Any) -> None:
        self.vectors = vectors
        if specials is not None:
            self.specials = specials

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        return np.stack([self.vectors[text] for text in texts])

    def encode_tokens(self, texts: Sequence[str]) -> list[np.ndarray]:
        return [self.vectors[text] for text in texts]


class _Names:
    """Named entities of texts that were read."""

    def __init__(self, names: dict[str, frozenset[str]]) -> None:
        self.names = names

    def __call__(self, texts: Sequence[str]) -> list[frozenset[str]]:
        return [self.names[text] for text in texts]


def find_for(needed: str, spec: str, *, listed_only: bool = False) -> SimilarityModel:
    """Return the model of that name for what a similarity needs; without a name, the one that is installed.

    listed_only : take no path; for names that come from a page
    Raises: NoModel saying what there is and what to install.
    """
    if needed == "extractor":
        if listed_only and spec not in ("", ENTITIES):
            raise NoModel(f"there is no model {spec!r} for entities; leave it out, or name {ENTITIES}")
        return find_extractor(spec)
    return find_model(spec or default_model() or SMALL, listed_only=listed_only)


def usable_model() -> str:
    """Return the name of the model that is taken when none is named; "" where none is installed."""
    return default_model()
