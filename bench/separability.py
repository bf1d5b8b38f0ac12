"""Similarities of all generation pairs that separability needs: ours in one call, reference libraries pair by pair."""

import importlib
import itertools
import os
import string
import time
from collections.abc import Callable, Iterator, Sequence

import django
import numpy as np
import sacrebleu
from rouge_score.rouge_scorer import RougeScorer

from analysis.similarity.bleu import pairwise_bleu
from analysis.similarity.characters import pairwise_chrf
from analysis.similarity.rouge import pairwise_rouge1
from analysis.similarity.semantic import pairwise_bertscore
from analysis.similarity.stems import stem
from analysis.types import FloatArray
from annotation.core.errors import AnnotationError

MATCHUPS = 1_000
GENERATIONS = 5  # per system and instance
WORDS = 60  # per generation
LANGUAGE = 20_000  # vocabulary size; word frequencies follow Zipf's law
TOPIC = 200  # words that the generations of one instance draw from
LOOPED = 100  # matchups that the libraries process, pair by pair; their time is scaled up to all
ENCODED = 20  # matchups whose texts are encoded; that time is scaled up too
TURNS = 10  # ours and the library alternate, so that a slow moment of the machine slows both
VECTORS = (80, 384)  # tokens of a text and the size of their vectors, where no model is installed

Texts = list[str]
PairScore = Callable[[str, str], float]


def main() -> None:
    """Time ours and the libraries on the same texts, compare the numbers, print the ratios."""
    matchups = list(make_matchups(np.random.default_rng(1)))
    pairs = len(list(itertools.combinations(range(2 * GENERATIONS), 2)))
    print(f"separability: {MATCHUPS} matchups of {2 * GENERATIONS} texts of {WORDS} words, {pairs} pairs each")
    print(f"  the libraries process {LOOPED} matchups; their seconds are scaled up to {MATCHUPS}")
    rouge = RougeScorer(["rouge1"], use_stemmer=True)
    compare("ROUGE-1", "rouge-score", pairwise_rouge1, lambda a, b: rouge.score(a, b)["rouge1"].fmeasure, matchups)
    # All texts have equally many words, and no punctuation: either may be the reference of BLEU.
    compare("BLEU", "sacrebleu", pairwise_bleu, lambda a, b: sacrebleu.sentence_bleu(a, [b]).score / 100, matchups)
    compare("chrF", "sacrebleu", pairwise_chrf, chrf, matchups)
    new_words = [renamed(texts, number) for number, texts in enumerate(matchups)]
    print("  no word occurs in two matchups, so that nearly every word must be stemmed:")
    compare("ROUGE-1", "rouge-score", pairwise_rouge1, lambda a, b: rouge.score(a, b)["rouge1"].fmeasure, new_words)
    bertscore(matchups)


def make_matchups(rng: np.random.Generator) -> Iterator[Texts]:
    """Draw the generations of two systems for every instance, those of A first; an instance has its topic's words."""
    letters = np.array(list(string.ascii_lowercase))
    endings = ["", "", "s", "ed", "ing", "ation", "ness", "ly", "e"]
    language = [
        "".join(rng.choice(letters, size=rng.integers(2, 8))) + endings[rng.integers(len(endings))]
        for _ in range(LANGUAGE)
    ]
    weights = 1 / np.arange(1, LANGUAGE + 1)
    for _ in range(MATCHUPS):
        topic = rng.choice(LANGUAGE, size=TOPIC, replace=False, p=weights / weights.sum())
        yield [" ".join(language[word] for word in rng.choice(topic, size=WORDS)) for _ in range(2 * GENERATIONS)]


def renamed(texts: Texts, number: int) -> Texts:
    """The texts with words that no other matchup has: each starts with the matchup's number in letters."""
    start = "".join(string.ascii_lowercase[int(digit)] for digit in str(number))
    return [" ".join(start + word for word in text.split()) for text in texts]


def chrf(a: str, b: str) -> float:
    """chrF of the library, with the text that has more characters as the reference."""
    shorter, longer = sorted([a, b], key=lambda text: len("".join(text.split())))
    return sacrebleu.sentence_chrf(shorter, [longer]).score / 100


def compare(
    name: str,
    library: str,
    ours: Callable[[Sequence[str], Sequence[str]], FloatArray],
    theirs: PairScore,
    matchups: list[Texts],
) -> None:
    """Print the ratio of the library's time to ours, with our cache of stems empty and then full."""
    stem.cache_clear()
    cold = looped = gap = 0.0
    size, part = MATCHUPS // TURNS, LOOPED // TURNS
    for turn in range(TURNS):
        texts = matchups[turn * size : (turn + 1) * size]
        seconds, found = timed(lambda texts=texts: [ours(one, one) for one in texts])  # type: ignore[misc]
        cold += seconds
        seconds, known = timed(lambda texts=texts: [every_pair(theirs, one) for one in texts[:part]])  # type: ignore[misc]
        looped += seconds * size / part
        above = np.triu_indices(2 * GENERATIONS, 1)
        gap = max([gap, *(float(np.abs(a[above] - b).max()) for a, b in zip(found, known, strict=False))])
    warm, _ = timed(lambda: [ours(one, one) for one in matchups])
    print(
        f"  {name:8} {library:11} {looped:8.2f} s; ours {cold:6.3f} s, again {warm:6.3f} s: "
        f"{looped / cold:6.1f} times as fast, again {looped / warm:6.1f}; largest difference {gap:.0e}"
    )


def every_pair(score: PairScore, texts: Texts) -> FloatArray:
    """Score all pairs of texts with the library, in the order of the upper triangle of a matrix."""
    return np.array([score(a, b) for a, b in itertools.combinations(texts, 2)])


def timed(work: Callable[[], list[FloatArray]]) -> tuple[float, list[FloatArray]]:
    """Return the seconds taken, and the result."""
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def bertscore(matchups: list[Texts]) -> None:
    """Print the time of matching tokens relative to the small model's forward pass over all distinct texts."""
    some = matchups[:ENCODED]
    texts = [text for matchup in some for text in matchup]
    encode, name = small_model()
    forward, vectors = timed(lambda: encode(texts))
    # Special tokens are included, where there are any: a little more work.
    known = FixedVectors(dict(zip(texts, vectors, strict=True)))
    matching, _ = timed(lambda: [pairwise_bertscore(one, one, known) for one in some])
    scale = MATCHUPS / ENCODED
    size = f"{np.mean([len(array) for array in vectors]):.0f} tokens a text, {ENCODED} matchups, scaled up"
    if not name:
        print(f"  BERTScore: matching random vectors takes {matching * scale:.1f} s ({size})")
        return
    print(
        f"  BERTScore with {name}: forward pass {forward * scale:.1f} s, matching {matching * scale:.1f} s, "
        f"together {1 + matching / forward:.3f} times the forward pass ({size})"
    )


class FixedVectors:
    """A token encoder that returns precomputed vectors."""

    def __init__(self, vectors: dict[str, FloatArray]) -> None:
        self.vectors = vectors

    def encode_tokens(self, texts: Sequence[str]) -> list[FloatArray]:
        """Return the vectors of the texts."""
        return [self.vectors[text] for text in texts]


def small_model() -> tuple[Callable[[Texts], list[FloatArray]], str]:
    """Return the small model's token encoder and name; where it is not installed, random vectors and an empty name."""
    try:
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
        django.setup()
        found = importlib.import_module("annotation.separability.encoders").find_model("small")
    except (ImportError, AnnotationError) as error:
        print(f"  no model is installed: {error}")
        rng = np.random.default_rng(2)
        return lambda texts: [rng.normal(size=VECTORS).astype(np.float32) for _ in texts], ""
    return found.encode_tokens, found.name
