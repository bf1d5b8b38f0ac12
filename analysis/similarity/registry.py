"""Similarities by name, as commands and settings give them."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType

import numpy as np

from analysis.errors import AnalysisError, NeedsModel, NotFinite, ShapeError, UnknownValue
from analysis.similarity.bleu import pairwise_bleu
from analysis.similarity.characters import pairwise_chargrams, pairwise_chrf, pairwise_exact
from analysis.similarity.rouge import pairwise_rouge1
from analysis.similarity.semantic import (
    Encoder,
    Extractor,
    TokenEncoder,
    pairwise_bertscore,
    pairwise_cosine,
    pairwise_entities,
)
from analysis.types import FloatArray

Similarity = Callable[[Sequence[str], Sequence[str]], FloatArray]
ENTRY_POINTS = "tandem.similarities"  # the group under which an installed package offers its own


def length_penalty(texts_a: Sequence[str], texts_b: Sequence[str]) -> FloatArray:
    """exp(1 - longer / shorter) of every pair of texts, lengths in NLTK word tokens.

    returns : (len(texts_a), len(texts_b)) in [0, 1], symmetric; 1 for equal lengths, 0 for a text without a
              token against one with some, 1 for two without
    source  : Ghosh et al. 2024, Compare without Despair, note 5, with the longer text as the reference
    """
    counts = {text: token_count(text) for text in {*texts_a, *texts_b}}
    length_a = np.array([counts[text] for text in texts_a], dtype=np.float64)[:, np.newaxis]
    length_b = np.array([counts[text] for text in texts_b], dtype=np.float64)[np.newaxis, :]
    longer, shorter = np.maximum(length_a, length_b), np.minimum(length_a, length_b)
    # Starting from infinity makes exp give 0 where only the shorter text is empty.
    ratio = np.divide(longer, shorter, out=np.full(longer.shape, np.inf), where=shorter > 0)
    penalty: FloatArray = np.exp(1 - np.where(longer == shorter, 1.0, ratio))
    return penalty


def token_count(text: str) -> int:
    """Tokens of NLTK's word tokenizer on the text as one line, which needs no downloaded data."""
    # NLTK is 250 modules: only who computes similarities pays for them, not every web process.
    from nltk.tokenize import word_tokenize  # type: ignore[import-untyped]

    return len(word_tokenize(text, preserve_line=True))


def length_adjusted(similarity: Similarity) -> Similarity:
    """A similarity that is never negative, times the length penalty of each pair of texts.

    source : Ghosh et al. 2024, Compare without Despair, §2.2 and note 5
    """

    def adjusted(texts_a: Sequence[str], texts_b: Sequence[str]) -> FloatArray:
        return similarity(texts_a, texts_b) * length_penalty(texts_a, texts_b)

    return adjusted


SIMILARITIES: Mapping[str, Similarity] = MappingProxyType(
    {
        "bleu": pairwise_bleu,
        "chargram": pairwise_chargrams,
        "chrf": pairwise_chrf,
        "exact": pairwise_exact,
        "rouge1": pairwise_rouge1,
        "rouge1-length": length_adjusted(pairwise_rouge1),
    }
)
NEEDS: Mapping[str, str] = MappingProxyType(  # what a similarity is handed, as the argument of `with_model`
    {
        "bertscore": "tokens",
        "bertscore-length": "tokens",
        "bertscore-package": "tokens",
        "cosine": "encoder",
        "entities": "extractor",
    }
)
_MODEL_OUTPUTS = {"tokens": "vectors of tokens", "encoder": "vectors of texts", "extractor": "named entities"}


def names() -> tuple[str, ...]:
    """All names, sorted: built-in similarities, those that need a model, and those of installed packages."""
    return tuple(sorted({*SIMILARITIES, *NEEDS, *_installed()}))


def needs(name: str) -> str:
    """Return the kind of model that a similarity needs, such as "encoder", or "" for none.

    raises : UnknownValue naming the known ones
    """
    # Installed packages come last: scanning their entry points is slow.
    if not (name in SIMILARITIES or name in NEEDS or name in _installed()):
        raise UnknownValue(f"unknown similarity {name!r}; known: {', '.join(names())}")
    return NEEDS.get(name, "")


def get(name: str) -> Similarity:
    """The similarity of that name: (texts_a, texts_b) to an array (len(texts_a), len(texts_b)).

    raises : UnknownValue naming the known ones; NeedsModel for one that `with_model` makes; AnalysisError if an
             installed package's can't be loaded
    """
    if needed := needs(name):
        raise NeedsModel(f"the similarity {name} needs {_MODEL_OUTPUTS[needed]} from a model, and no model is given")
    return SIMILARITIES[name] if name in SIMILARITIES else _load(_installed()[name])


def with_model(
    name: str,
    *,
    encoder: Encoder | None = None,
    tokens: TokenEncoder | None = None,
    extractor: Extractor | None = None,
) -> Similarity:
    """The similarity of that name over a model. Without need of a model it is that of `get`.

    raises : UnknownValue naming the known ones; NeedsModel if the model that it needs is not among those given
    """
    needed = needs(name)
    if needed == "encoder" and encoder is not None:
        plain = partial(pairwise_cosine, encoder=encoder)
    elif needed == "tokens" and tokens is not None:
        plain = partial(pairwise_bertscore, tokens=tokens, match_specials=name == "bertscore-package")
    elif needed == "extractor" and extractor is not None:
        plain = partial(pairwise_entities, extractor=extractor)
    else:
        return get(name)
    return length_adjusted(plain) if name.endswith("-length") else plain


@cache
def _installed() -> Mapping[str, EntryPoint]:
    """Entry points of installed packages by name, not yet loaded. They cannot replace built-in names."""
    names = {*SIMILARITIES, *NEEDS}
    return {entry.name: entry for entry in entry_points(group=ENTRY_POINTS) if entry.name not in names}


def _load(entry: EntryPoint) -> Similarity:
    """Load a package's similarity, wrapped so that its results are checked."""
    try:
        own = entry.load()
    except Exception as error:  # whatever the package's code raises when it is imported
        raise AnalysisError(f"the similarity {entry.name} can't be loaded from {entry.value}: {error}") from error
    if not callable(own):
        raise AnalysisError(f"the similarity {entry.name} is no function: {entry.value} is {own!r}")

    def checked(texts_a: Sequence[str], texts_b: Sequence[str]) -> FloatArray:
        values = np.asarray(own(texts_a, texts_b), dtype=np.float64)
        if values.shape != (len(texts_a), len(texts_b)):
            expected = (len(texts_a), len(texts_b))
            raise ShapeError(f"the similarity {entry.name} gave an array {values.shape}; needed {expected}")
        if not np.isfinite(values).all():
            text = texts_a[int(np.argwhere(~np.isfinite(values))[0][0])]
            raise NotFinite(f"the similarity {entry.name} gave NaN or infinity for the text {text[:60]!r}", text=text)
        return values

    return checked
