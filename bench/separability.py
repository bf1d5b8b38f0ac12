"""ROUGE-1 of all generation pairs that separability needs: ours in one go against rouge-score, pair by pair."""

import time
from collections.abc import Callable

import numpy as np
from rouge_score.rouge_scorer import RougeScorer

from analysis.similarity import pairwise_rouge1
from analysis.types import FloatArray

INSTANCES = 40
GENERATIONS = 5  # per system and instance
WORDS = 60  # per generation
VOCABULARY = 400  # words that the generations of one instance draw from

Texts = list[str]
Similarity = Callable[[Texts, Texts], FloatArray]


def main() -> None:
    """Time both on the same texts, compare the numbers, print the ratio."""
    matchups = make_matchups(np.random.default_rng(1))
    pairs = INSTANCES * 3 * GENERATIONS**2
    plain_seconds, plain = timed(rouge_score_loop, matchups)
    our_seconds, ours = timed(pairwise_rouge1, matchups)
    gap = max(float(np.abs(a - b).max()) for a, b in zip(plain, ours, strict=True))
    print(f"separability: ROUGE-1 of {pairs} text pairs ({INSTANCES} matchups, {GENERATIONS} generations per system)")
    print(f"  rouge-score, pair by pair   {plain_seconds:8.3f} s")
    print(f"  pairwise_rouge1             {our_seconds:8.3f} s")
    print(f"  {plain_seconds / our_seconds:.1f} times as fast; largest difference of a similarity {gap:.1e}")


def make_matchups(rng: np.random.Generator) -> list[tuple[Texts, Texts]]:
    """Draw the generations of two systems for every instance, from words as long as English ones."""
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    return [matchup(rng, letters) for _ in range(INSTANCES)]


def matchup(rng: np.random.Generator, letters: np.ndarray) -> tuple[Texts, Texts]:
    """Draw the generations of two systems for one instance; they share its vocabulary."""
    words = ["".join(rng.choice(letters, size=rng.integers(2, 10))) for _ in range(VOCABULARY)]
    texts = [" ".join(rng.choice(words, size=WORDS)) for _ in range(2 * GENERATIONS)]
    return texts[:GENERATIONS], texts[GENERATIONS:]


def timed(similarity: Similarity, matchups: list[tuple[Texts, Texts]]) -> tuple[float, list[FloatArray]]:
    """Return the seconds taken, and the similarities: A-A, B-B and A-B of each matchup.

    Once only: a second round would find the stems of all words in our cache.
    """
    start = time.perf_counter()
    found = [similarity(x, y) for a, b in matchups for x, y in ((a, a), (b, b), (a, b))]
    return time.perf_counter() - start, found


def rouge_score_loop(texts_a: Texts, texts_b: Texts) -> FloatArray:
    """Score every pair with the reference package."""
    scorer = RougeScorer(["rouge1"], use_stemmer=True)
    return np.array([[scorer.score(a, b)["rouge1"].fmeasure for b in texts_b] for a in texts_a])
