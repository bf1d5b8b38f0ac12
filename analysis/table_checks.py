"""Cheap checks of one comparison table against its two texts. They are shown; nothing is chosen by them.

A cell is checked by its content words (`analysis.content_words`), or by vectors of whatever encoder is handed in. A cell
without a word, or with a word for nothing, is missing: it is neither supported nor unsupported, and no share counts it.

source : stand-ins for the entailment and coverage of Predicting Text Preference Via Structured Comparative Reasoning,
         appendix, fig. 5, which asks a model for entailment; words and vectors only see whether the same is spoken of
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

import numpy as np

from analysis.content_words import content_words, length_in_words, says_nothing, words
from analysis.errors import ShapeError, UnknownValue
from analysis.types import FloatArray

Cell = Literal["only_a", "both", "only_b"]
Row = Mapping[str, Any]  # of texts
Encoder = Callable[[Sequence[str]], FloatArray]

CELLS: tuple[Cell, ...] = ("only_a", "both", "only_b")
SUPPORTED = 0.5  # share of its words, or cosine, from which on a cell counts as supported
LONG = 40  # words; a cell is a note, not a copy of the text
# English only: what a cell calls a text by its place, which is another one where the table is turned.
_TEXT = r"(?i:text|summary|response|answer|reply|document|passage|translation|output|candidate|continuation)"
SIDE = re.compile(
    rf"\b{_TEXT}\s*[\"'“‘(]?(?:[AB12]\b|(?i:one|two)\b)|^\W*[AB]\s*:|\b(?i:former|latter)\b"
    rf"|\b(?i:first|second|left|right)(?:-hand)?\s+(?:(?i:one)\b|{_TEXT}\b)"
)
SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])|\n+")


@dataclass(frozen=True)
class CellCheck:
    """What is found in one cell; `None` where it is missing, or where there is nothing to hold it against.

    support     : share of its content words that stand in the text it speaks of; for `both` the lesser of the two
    other       : the same for the other text; of an only-cell
    overlap     : share of its content words that stand in the row's `both` cell as well (containment); of an only-cell
    from_source : share of its content words that stand in the source and in neither text
    wrong_side  : an only-cell that the other text supports better than its own
    copied      : it says what another cell of the table says, word for word. A quotation from a text is no copy
    names_side  : it calls a text by its place, which misleads where the table is turned
    """

    missing: bool
    words: int
    support: float | None
    other: float | None
    overlap: float | None
    from_source: float | None
    wrong_side: bool
    copied: bool
    names_side: bool

    @property
    def long(self) -> bool:
        """More than `LONG` words."""
        return self.words > LONG

    @property
    def odd(self) -> bool:
        """Something for a person to look at."""
        return self.wrong_side or self.copied or self.names_side or self.long


@dataclass(frozen=True)
class Summary:
    """What is found in a whole table; `None` where no cell, or no text, says anything.

    n               : cells that say something, of `cells`
    supported       : share of these with a support of the threshold or more
    support         : mean support of these
    overlap_mean, overlap_max : over only-cells beside a `both` cell that says something; `overlaps` of them
    coverage        : share of the distinct content words of both texts that some cell has
    coverage_a, coverage_b : the same for either text alone
    wrong_side, copied, names_side, long : numbers of cells; `odd` is that of cells that are any of these
    """

    cells: int
    n: int
    supported: float | None
    support: float | None
    overlaps: int
    overlap_mean: float | None
    overlap_max: float | None
    coverage: float | None
    coverage_a: float | None
    coverage_b: float | None
    wrong_side: int
    copied: int
    names_side: int
    long: int
    odd: int


@dataclass(frozen=True)
class TableCheck:
    """The checks of one table: of each cell, in the order of the rows, and of all of it."""

    rows: tuple[Mapping[Cell, CellCheck], ...]
    summary: Summary


def check_table(
    rows: Sequence[Row], text_a: str, text_b: str, source: str = "", *, threshold: float = SUPPORTED
) -> TableCheck:
    """Check a table by words.

    rows    : each with `only_a`, `both`, `only_b`; the aspect is not looked at
    raises  : UnknownValue for a threshold outside [0, 1]
    """
    if not 0 <= threshold <= 1:
        raise UnknownValue(f"the threshold is {threshold}, not within 0 and 1")
    texts = {"only_a": frozenset(words(text_a)), "only_b": frozenset(words(text_b))}
    given = frozenset(words(source))
    copies = _copies(rows)
    checked = tuple(
        {cell: _check_cell(row, cell, texts, given, (number, cell) in copies) for cell in CELLS}
        for number, row in enumerate(rows)
    )
    return TableCheck(checked, _summary(rows, checked, text_a, text_b, threshold))


def _check_cell(
    row: Row, cell: Cell, texts: Mapping[str, frozenset[str]], given: frozenset[str], copied: bool
) -> CellCheck:
    said = row[cell]
    if says_nothing(said):
        return CellCheck(True, 0, None, None, None, None, False, False, False)
    own = content_words(said)
    in_a, in_b = (_share(own, texts[side]) for side in ("only_a", "only_b"))
    only = cell != "both"
    support, other = {"only_a": (in_a, in_b), "only_b": (in_b, in_a), "both": (min(in_a, in_b), None)}[cell]
    return CellCheck(
        missing=False,
        words=length_in_words(said),
        support=support,
        other=other,
        overlap=_share(own, content_words(row["both"])) if only and not says_nothing(row["both"]) else None,
        from_source=_share(own, given - texts["only_a"] - texts["only_b"]) if given else None,
        wrong_side=other is not None and other > support,
        copied=copied,
        names_side=SIDE.search(said) is not None,
    )


def _share(own: frozenset[str], there: frozenset[str]) -> float:
    return len(own & there) / len(own)


def _copies(rows: Sequence[Row]) -> set[tuple[int, Cell]]:
    """Return the places of cells whose words, in order, are those of another cell."""
    said = {
        (number, cell): words(row[cell])
        for number, row in enumerate(rows)
        for cell in CELLS
        if not says_nothing(row[cell])
    }
    times = Counter(said.values())
    return {place for place, one in said.items() if times[one] > 1}


def _summary(
    rows: Sequence[Row], checked: Sequence[Mapping[Cell, CellCheck]], text_a: str, text_b: str, threshold: float
) -> Summary:
    every = [row[cell] for row in checked for cell in CELLS]
    there = [one for one in every if not one.missing]
    support = [one.support for one in there if one.support is not None]
    overlap = [one.overlap for one in there if one.overlap is not None]
    mentioned = frozenset[str]().union(
        *(content_words(row[cell]) for row in rows for cell in CELLS if not says_nothing(row[cell]))
    )
    a, b = content_words(text_a), content_words(text_b)
    return Summary(
        cells=len(every),
        n=len(there),
        supported=_mean(share >= threshold for share in support),
        support=_mean(support),
        overlaps=len(overlap),
        overlap_mean=_mean(overlap),
        overlap_max=max(overlap, default=None),
        coverage=_covered(a | b, mentioned),
        coverage_a=_covered(a, mentioned),
        coverage_b=_covered(b, mentioned),
        wrong_side=sum(one.wrong_side for one in there),
        copied=sum(one.copied for one in there),
        names_side=sum(one.names_side for one in there),
        long=sum(one.long for one in there),
        odd=sum(one.odd for one in there),
    )


def _mean(values: Iterable[float]) -> float | None:
    # Exactly rounded, so that the order of the rows decides nothing, not even a last digit.
    found = sorted(values)
    return fmean(found) if found else None


def _covered(text: frozenset[str], mentioned: frozenset[str]) -> float | None:
    return len(text & mentioned) / len(text) if text else None


def sentences(text: str) -> list[str]:
    """Split a text at the ends of sentences and lines; what has no word in it is left out."""
    return [piece.strip() for piece in SENTENCE_END.split(text) if words(piece)]


@dataclass(frozen=True)
class VectorCheck:
    """What vectors say of a table: for each row and cell the cosine of its nearest sentence; `None` where missing.

    n         : cells that say something, of `cells`
    supported : share of these with a cosine of the threshold or more; `support` is their mean
    """

    rows: tuple[Mapping[Cell, float | None], ...]
    cells: int
    n: int
    supported: float | None
    support: float | None


def check_by_vectors(
    rows: Sequence[Row], text_a: str, text_b: str, encode: Encoder, *, threshold: float = SUPPORTED
) -> VectorCheck:
    """Check a table by the cosine between each cell and the nearest sentence of the text that it speaks of.

    For `both` it is the lesser of the cosines with either text. A cell whose text has no sentence, or whose vector or
    sentences have no direction (zeros), is missing.

    encode : texts → (n_texts, dimensions), finite; called once, with every cell and sentence
    raises : ShapeError if the encoder returns another shape; UnknownValue if it returns what is not finite
    """
    said = [row[cell] for row in rows for cell in CELLS if not says_nothing(row[cell])]
    if not said:
        return summed([dict.fromkeys(CELLS) for _row in rows], threshold=threshold)
    of_a, of_b = sentences(text_a), sentences(text_b)
    vectors = _directions([*said, *of_a, *of_b], encode)
    cells, in_a, in_b = np.split(vectors, [len(said), len(said) + len(of_a)])
    nearest = iter(list(zip(_nearest(cells, in_a), _nearest(cells, in_b), strict=True)))
    return summed([{cell: _of_side(cell, row[cell], nearest) for cell in CELLS} for row in rows], threshold=threshold)


def summed(rows: Sequence[Mapping[Cell, float | None]], *, threshold: float) -> VectorCheck:
    """Sum up the cosines of a table's cells."""
    every = [row[cell] for row in rows for cell in CELLS]
    known = [value for value in every if value is not None]
    supported = _mean(value >= threshold for value in known)
    return VectorCheck(tuple(rows), len(every), len(known), supported, _mean(known))


def _directions(texts: Sequence[str], encode: Encoder) -> FloatArray:
    """Encode texts as vectors of length 1; zeros become NaN."""
    vectors = np.asarray(encode(texts), dtype=np.float64)
    if vectors.ndim != 2 or len(vectors) != len(texts):
        raise ShapeError(f"the encoder made an array of shape {vectors.shape} of {len(texts)} texts")
    if not np.isfinite(vectors).all():
        raise UnknownValue("the encoder made vectors that are not finite")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, lengths, out=np.full(vectors.shape, np.nan), where=lengths > 0)


def _nearest(cells: FloatArray, of_text: FloatArray) -> list[float | None]:
    """Return each cell's greatest cosine with a sentence."""
    known = of_text[~np.isnan(of_text).any(axis=1)]
    if not len(known):
        return [None] * len(cells)
    best = np.clip((cells @ known.T).max(axis=1), -1, 1)
    return [None if np.isnan(value) else float(value) for value in best]


def _of_side(cell: Cell, said: str, nearest: Iterator[tuple[float | None, float | None]]) -> float | None:
    if says_nothing(said):
        return None
    in_a, in_b = next(nearest)
    if cell == "only_a":
        return in_a
    if cell == "only_b":
        return in_b
    return None if in_a is None or in_b is None else min(in_a, in_b)
