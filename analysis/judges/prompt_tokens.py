"""Tokens of prompts: an estimate from their characters, and prompts that an endpoint has probably cut.

A server that cuts a prompt to its window answers as if nothing were missing; only its count of the prompt's tokens says so.
"""

import re

import numpy as np

from analysis.types import BoolArray, FloatArray, check_columns

CHARACTERS = 4.0  # of a token, of alphabetic scripts
DENSE_CHARACTERS = 2.0  # of Chinese, Japanese and Korean
DENSE = "[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"  # compiled at its first use
LEAST_SHARE = 0.6  # of the expected tokens; fewer are too few
MOST_LIFT = 1.2  # prose has fewer tokens than the formulas or code of the same run
LEAST_FOLLOWING = 8  # prompts, to tell a tokenizer with few tokens from cuts
SPREAD, MIDDLE_SPREAD = 1.1, 1.04  # of lengths that differ: longest to shortest, upper quartile to lower
CHANCE = 0.0001


def expected_tokens(text: str) -> float:
    """Return the tokens of a text by its characters, on the low side: large vocabularies give hardly fewer.

    Characters by 4, with a run of white space as one; Chinese, Japanese and Korean characters by 2.
    """
    words = " ".join(text.split())  # a run of spaces is one token
    dense = 0 if words.isascii() else len(re.findall(DENSE, words))
    return (len(words) - dense) / CHARACTERS + dense / DENSE_CHARACTERS


def cut_prompts(tokens: FloatArray, expected: FloatArray) -> BoolArray:
    """Tell which prompts of one judge have probably been cut: too few tokens, or a count that is piled up.

    Too few are tokens / expected < 0.6 min(max(c, 1), 1.2), with c the median of the ratios; where c < 0.6 and low counts
    grow with the lengths, they are those of an unusual tokenizer, and the bound is 0.6 c. A count is piled up if three
    prompts or more of clearly different lengths have it, and by chance fewer would (p < 0.0001, Chernoff's bound of a Poisson
    distribution). Repeated prompts count once.

    tokens   : (n,) as the endpoint counts them
    expected : (n,) `expected_tokens` of their texts
    returns  : (n,) far fewer tokens than expected, or as many as prompts of other lengths, by more than chance
    raises   : ShapeError for other shapes
    """
    check_columns(tokens, expected)
    if not len(tokens):
        return np.zeros(0, dtype=bool)
    # Repeated prompts are one: they have equal counts by themselves.
    distinct, row = np.unique(np.stack([tokens, np.maximum(expected, 1)]), axis=1, return_inverse=True)
    is_cut: BoolArray = (_too_few(*distinct) | _piled_up(*distinct))[row.reshape(-1)]
    return is_cut


def _too_few(tokens: FloatArray, expected: FloatArray) -> BoolArray:
    """Tell which prompts have far fewer tokens than expected, by the usual ratio of their run.

    Where the low counts follow the lengths, they are those of a tokenizer: a window doesn't grow with the prompt.
    """
    ratio = tokens / expected
    usual = float(np.median(ratio))
    low = ratio < LEAST_SHARE
    if usual < LEAST_SHARE and _follows(tokens[low], expected[low]):
        return ratio < LEAST_SHARE * usual
    return ratio < LEAST_SHARE * min(max(usual, 1.0), MOST_LIFT)


def _follows(tokens: FloatArray, expected: FloatArray) -> bool:
    """Tell whether counts grow with the lengths, at least as their square root."""
    if len(tokens) < LEAST_FOLLOWING or tokens.min() <= 0 or expected.max() < SPREAD * expected.min():
        return False
    return bool(np.polyfit(np.log(expected), np.log(tokens), 1)[0] >= 0.5)


def _piled_up(tokens: FloatArray, expected: FloatArray) -> BoolArray:
    """Tell which prompts have a count that prompts of clearly different lengths share, more often than by chance.

    The chance is bounded by Chernoff's inequality for a Poisson distribution with the density of the counts within a tenth.
    """
    values, first, size = np.unique(tokens, return_index=True, return_counts=True)
    near = np.searchsorted(tokens, 1.1 * values, "right") - np.searchsorted(tokens, 0.9 * values, "left")
    density = (1 + near - size) / (1 + 0.2 * values)
    chance = size - density + size * np.log(density / size)  # the logarithm of its bound
    rare = (size > density) & (chance + np.log(len(values)) < np.log(CHANCE))
    piled = np.zeros(len(tokens), dtype=bool)
    for start, length in zip(first[rare].tolist(), size[rare].tolist(), strict=True):
        lengths = expected[start : start + length]  # sorted, as the rows are
        lower, upper = np.quantile(lengths, (0.25, 0.75))
        differ = lengths[-1] >= SPREAD * lengths[0] and upper >= MIDDLE_SPREAD * lower
        piled[start : start + length] = length > 2 and differ
    return piled
