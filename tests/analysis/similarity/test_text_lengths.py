"""Lengths of texts in words."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.similarity.content_words import Lengths, length_in_words


def lengths_of(texts: Iterable[str]) -> Lengths:
    return Lengths(tuple(map(length_in_words, texts)))


def test_lengths_by_hand() -> None:
    # 3, 2 and 0 words; “日本語” has three characters, two of which are about one word: 2.
    found = lengths_of(["A good tea.", "well-brewed", "", "日本語"])
    assert found.counts == (3, 2, 0, 2)
    assert (found.n, found.mean, found.median, found.shortest, found.longest) == (4, 7 / 4, 2.0, 0, 3)
    nothing = lengths_of([])
    assert (nothing.n, nothing.mean, nothing.median, nothing.shortest, nothing.longest) == (0, None, None, None, None)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=8), st.lists(st.integers(0, 50), min_size=1, max_size=8))
def test_lengths_of_two_parts_are_those_of_the_whole(one: list[int], other: list[int]) -> None:
    parts = [lengths_of(" ".join(["word"] * n) for n in counts) for counts in (one, other)]
    whole = parts[0] + parts[1]
    assert whole == Lengths((*one, *other))
    assert whole.mean == pytest.approx((parts[0].mean * len(one) + parts[1].mean * len(other)) / whole.n)  # type: ignore[operator]
    assert min(one + other) <= whole.median <= max(one + other)  # type: ignore[operator]
