"""Porter stems."""

import itertools
import re
import time
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.similarity.stems import stem

SUFFIXES = re.findall(
    r"\w+",
    "ational tional enci anci izer bli alli entli eli ousli ization ation ator alism iveness fulness ousness aliti "
    "iviti biliti fulli logi icate ative alize iciti ical ful ness al ance ence er ic able ible ant ement ment ent "
    "sion tion ion ou ism ate iti ous ive ize e ll s sses ies ss eed ed ing ied y i ate bl iz tt zz",
)
words = st.builds(
    lambda start, ends: start + "".join(ends),
    st.text("abcdeiouylstwxz01", max_size=5),
    st.lists(st.sampled_from(SUFFIXES), max_size=3),
)


@cache
def nltk():
    # Two seconds, as it loads scikit-learn: not in every worker's collection.
    from nltk.stem.porter import PorterStemmer

    return PorterStemmer()


def test_stems_of_the_published_examples():
    # Porter 1980, the examples of steps 1 to 5, taken through all steps.
    words = (
        "caresses ponies feed hopping falling filing happy electrical adjustment adoption controlling generalizations"
    )
    stems = "caress poni feed hop fall file happi electr adjust adopt control gener"
    assert [stem(word) for word in words.split()] == stems.split()


@pytest.mark.slow
@given(words)
def test_stem_is_that_of_nltk(word):
    assert stem(word) == nltk().stem(word)


def test_stem_is_that_of_nltk_for_every_short_stem_with_every_suffix_and_irregular_words():
    for word in ("sky", "skies", "dying", "news", "innings", "proceed", "howe", "ied", "ties", "died"):
        assert stem(word) == nltk().stem(word)
    for start in map("".join, itertools.product(["", "t", "a", "y", "st", "at"], repeat=2)):
        for suffix in SUFFIXES:
            assert stem(start + suffix) == nltk().stem(start + suffix), start + suffix


def test_stem_of_a_very_long_word_is_quick():
    start = time.process_time()
    assert stem("y" * 200_000 + "ing") == "y" * 199_999 + "i"
    assert time.process_time() - start < 5
