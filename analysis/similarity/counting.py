"""Common n-grams of all pairs of a set of texts, counted at once."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from analysis.types import FloatArray, IntArray

BLOCK = 2**22  # most cells of the table of texts by n-grams held at a time: 16 MiB


class Distinct(NamedTuple):
    """The distinct texts of two lists, and where the texts of each list stand among them."""

    texts: list[str]
    rows_a: IntArray
    rows_b: IntArray

    @property
    def same(self) -> bool:
        """Return whether both lists are the same, so that the result is symmetric."""
        return np.array_equal(self.rows_a, self.rows_b)


class Sequences(NamedTuple):
    """Texts as sequences of numbered units (words, characters), one after another."""

    units: IntArray
    lengths: IntArray


def distinct(texts_a: Sequence[str], texts_b: Sequence[str]) -> Distinct:
    """Every text of the two lists once, so that no text is read twice."""
    row: dict[str, int] = {}
    rows_a = [row.setdefault(text, len(row)) for text in texts_a]
    rows_b = [row.setdefault(text, len(row)) for text in texts_b]
    return Distinct(list(row), np.array(rows_a, dtype=np.int64), np.array(rows_b, dtype=np.int64))


def encode_units(texts: Iterable[Sequence[Hashable] | frozenset[Hashable]]) -> Sequences:
    """Give the units of texts numbers from 0, the same to equal ones."""
    number: dict[Hashable, int] = {}
    units: list[int] = []
    lengths: list[int] = []
    for text in texts:
        units.extend([number.setdefault(unit, len(number)) for unit in text])
        lengths.append(len(text))
    return Sequences(np.array(units, dtype=np.int64), np.array(lengths, dtype=np.int64))


def overlaps(sequences: Sequences, unique: Distinct, max_n: int = 1) -> Iterator[FloatArray]:
    """Number of common n-grams of two texts, for n from 1 to `most`. A repeated one counts as often as both have it.

    returns : an array (len(rows_a), len(rows_b)) of whole numbers for every n in turn
    """
    texts = len(sequences.lengths)
    owner = np.repeat(np.arange(texts), sequences.lengths)
    starts = np.cumsum(sequences.lengths) - sequences.lengths
    position = np.arange(len(owner)) - starts[owner]  # of the n-gram's last unit within its text
    grams = units = sequences.units
    kinds = int(units.max(initial=0)) + 1
    for n in range(1, max_n + 1):
        if n > 1:
            complete = position >= n - 1
            owner, position, units = owner[complete], position[complete], units[complete]
            # An n-gram is the (n−1)-gram that ends one unit earlier, and its last unit.
            grams = grams[np.flatnonzero(complete) - 1] * kinds + units
        grams, item, shared = _items(grams, owner, texts)
        common = _common(item[item >= 0], owner[item >= 0], shared, texts, unique)
        # A text has all that it has in common with itself, also what no other text has.
        own = np.maximum(sequences.lengths - n + 1, 0)[unique.rows_a][:, np.newaxis]
        yield np.where(unique.rows_a[:, np.newaxis] == unique.rows_b[np.newaxis, :], own, common)


def _items(grams: IntArray, owner: IntArray, texts: int) -> tuple[IntArray, IntArray, int]:
    """Renumber the n-grams, and number what texts can share: the first "the" of each, their second "the", …

    returns : the n-grams as numbers from 0 in order of their values; for each its item, −1 where no other text has
              that item; how many items there are
    """
    size = len(grams)
    if not size:
        return grams, grams, 0
    order = np.argsort(grams * texts + owner)
    sorted_grams, sorted_owner = grams[order], owner[order]
    new_gram = np.concatenate([[True], sorted_grams[1:] != sorted_grams[:-1]])
    new_run = new_gram.copy()
    new_run[1:] |= sorted_owner[1:] != sorted_owner[:-1]
    position = np.arange(size)
    first_of_gram = np.maximum.accumulate(np.where(new_gram, position, 0))
    first_of_run = np.maximum.accumulate(np.where(new_run, position, 0))
    # A gram's items take the numbers from its first position on: no text has more of it than there are positions.
    item = first_of_gram + position - first_of_run
    shared = np.bincount(item, minlength=size) > 1
    compact = np.where(shared, np.cumsum(shared) - 1, -1)
    renumbered, items = np.empty_like(grams), np.empty_like(grams)
    renumbered[order] = np.cumsum(new_gram) - 1
    items[order] = compact[item]
    return renumbered, items, int(shared.sum())


def _common(item: IntArray, owner: IntArray, items: int, texts: int, unique: Distinct) -> FloatArray:
    """Count common items by multiplying the tables that say which text has which, a block of items at a time."""
    same = unique.same
    common = np.zeros((len(unique.rows_a), len(unique.rows_b)))
    step = max(1, BLOCK // max(1, texts))
    for start in range(0, items, step):
        in_block = (item >= start) & (item < start + step)
        has = np.zeros((texts, min(step, items - start)), dtype=np.float32)  # sums of ones up to 2**24 are exact
        has[owner[in_block], item[in_block] - start] = 1
        first_counts = has[unique.rows_a]
        common += first_counts @ (first_counts if same else has[unique.rows_b]).T
    return common
