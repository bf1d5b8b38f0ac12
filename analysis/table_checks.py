"""Cheap checks of one comparison table against its two texts; they are shown, and decide nothing.

A cell is checked by its content words (`analysis.content_words`), or by vectors of an encoder. A blank cell is missing:
it is neither supported nor unsupported, and no share counts it.

source : stand-ins for the entailment and coverage of Predicting Text Preference Via Structured Comparative Reasoning,
         appendix, fig. 5, which asks a model for entailment; words and vectors only compare topics
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

import numpy as np

from analysis.content_words import content_words, is_blank, length_in_words, words
from analysis.errors import ShapeError, UnknownValue
from analysis.types import FloatArray

Cell = Literal["only_a", "both", "only_b"]
Row = Mapping[str, Any]  # of texts
Encoder = Callable[[Sequence[str]], FloatArray]

CELLS: tuple[Cell, ...] = ("only_a", "both", "only_b")
SUPPORTED = 0.5  # share of its words, or cosine, from which on a cell counts as supported
LONG = 40  # words; a cell is a note, not a copy of the text
# English only: references to a text by its position, which are wrong in a swapped table.
_TEXT = r"(?i:text|summary|response|answer|reply|document|passage|translation|output|candidate|continuation)"
SIDE = re.compile(
    rf"\b{_TEXT}\s*[\"'“‘(]?(?:[AB12]\b|(?i:one|two)\b)|^\W*[AB]\s*:|\b(?i:former|latter)\b"
    rf"|\b(?i:first|second|left|right)(?:-hand)?\s+(?:(?i:one)\b|{_TEXT}\b)"
)
SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])|\n+")


@dataclass(frozen=True)
class CellCheck:
    """The checks of one cell; `None` where it is missing, or where there is nothing to compare it with.

    support     : share of its content words that occur in its text; for `both` the lesser of the two
    other       : the same for the other text; of an only-cell
    overlap     : share of its content words that stand in the row's `both` cell as well (containment); of an only-cell
    from_source : share of its content words that stand in the source and in neither text
    wrong_side  : an only-cell that the other text supports better than its own
    copied      : another cell of the table has the same words. A quotation from a text is no copy
    names_side  : it refers to a text by its position, which is wrong in a swapped table
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
        """Whether a person should look at the cell."""
        return self.wrong_side or self.copied or self.names_side or self.long


@dataclass(frozen=True)
class Summary:
    """The checks of a whole table; `None` where all cells, or all texts, are blank.

    n               : cells that are not blank, of `cells`
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
class TableCheckResult:
    """The checks of one table: of each cell, in the order of the rows, and of all of it."""

    rows: tuple[Mapping[Cell, CellCheck], ...]
    summary: Summary


def check_table(
    rows: Sequence[Row], text_a: str, text_b: str, source: str = "", *, threshold: float = SUPPORTED
) -> TableCheckResult:
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
    return TableCheckResult(checked, _summary(rows, checked, text_a, text_b, threshold))


def _check_cell(
    row: Row, cell: Cell, texts: Mapping[str, frozenset[str]], given: frozenset[str], copied: bool
) -> CellCheck:
    text = row[cell]
    if is_blank(text):
        return CellCheck(True, 0, None, None, None, None, False, False, False)
    own = content_words(text)
    in_a, in_b = (_share(own, texts[side]) for side in ("only_a", "only_b"))
    only = cell != "both"
    support, other = {"only_a": (in_a, in_b), "only_b": (in_b, in_a), "both": (min(in_a, in_b), None)}[cell]
    return CellCheck(
        missing=False,
        words=length_in_words(text),
        support=support,
        other=other,
        overlap=_share(own, content_words(row["both"])) if only and not is_blank(row["both"]) else None,
        from_source=_share(own, given - texts["only_a"] - texts["only_b"]) if given else None,
        wrong_side=other is not None and other > support,
        copied=copied,
        names_side=SIDE.search(text) is not None,
    )


def _share(own: frozenset[str], present: frozenset[str]) -> float:
    return len(own & present) / len(own)


def _copies(rows: Sequence[Row]) -> set[tuple[int, Cell]]:
    """Return (row, cell) of the cells whose words, in order, are those of another cell."""
    text = {
        (number, cell): words(row[cell]) for number, row in enumerate(rows) for cell in CELLS if not is_blank(row[cell])
    }
    times = Counter(text.values())
    return {place for place, one in text.items() if times[one] > 1}


def _summary(
    rows: Sequence[Row], checked: Sequence[Mapping[Cell, CellCheck]], text_a: str, text_b: str, threshold: float
) -> Summary:
    every = [row[cell] for row in checked for cell in CELLS]
    present = [one for one in every if not one.missing]
    support = [one.support for one in present if one.support is not None]
    overlap = [one.overlap for one in present if one.overlap is not None]
    mentioned = frozenset[str]().union(
        *(content_words(row[cell]) for row in rows for cell in CELLS if not is_blank(row[cell]))
    )
    a, b = content_words(text_a), content_words(text_b)
    return Summary(
        cells=len(every),
        n=len(present),
        supported=_mean(share >= threshold for share in support),
        support=_mean(support),
        overlaps=len(overlap),
        overlap_mean=_mean(overlap),
        overlap_max=max(overlap, default=None),
        coverage=_covered(a | b, mentioned),
        coverage_a=_covered(a, mentioned),
        coverage_b=_covered(b, mentioned),
        wrong_side=sum(one.wrong_side for one in present),
        copied=sum(one.copied for one in present),
        names_side=sum(one.names_side for one in present),
        long=sum(one.long for one in present),
        odd=sum(one.odd for one in present),
    )


def _mean(values: Iterable[float]) -> float | None:
    # Exactly rounded, so that the result does not depend on the order of the rows.
    found = sorted(values)
    return fmean(found) if found else None


def _covered(text: frozenset[str], mentioned: frozenset[str]) -> float | None:
    return len(text & mentioned) / len(text) if text else None


def sentences(text: str) -> list[str]:
    """Split a text at the ends of sentences and lines; what has no word in it is left out."""
    return [piece.strip() for piece in SENTENCE_END.split(text) if words(piece)]


@dataclass(frozen=True)
class VectorCheck:
    """The checks of a table by vectors: each cell's cosine with its nearest sentence; `None` where missing.

    n         : cells that are not blank, of `cells`
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
    """Check a table by the cosine between each cell and the nearest sentence of its text.

    For `both` it is the lesser of the cosines with either text. A cell whose text has no sentence, or whose vector or
    sentences have no direction (zeros), is missing.

    encode : texts → (n_texts, dimensions), finite; called once, with every cell and sentence
    raises : ShapeError if the encoder returns another shape; UnknownValue if it returns what is not finite
    """
    text = [row[cell] for row in rows for cell in CELLS if not is_blank(row[cell])]
    if not text:
        return summarize_cosines([dict.fromkeys(CELLS) for _row in rows], threshold=threshold)
    of_a, of_b = sentences(text_a), sentences(text_b)
    vectors = _directions([*text, *of_a, *of_b], encode)
    cells, in_a, in_b = np.split(vectors, [len(text), len(text) + len(of_a)])
    nearest = iter(list(zip(_nearest(cells, in_a), _nearest(cells, in_b), strict=True)))
    return summarize_cosines(
        [{cell: _of_side(cell, row[cell], nearest) for cell in CELLS} for row in rows], threshold=threshold
    )


def summarize_cosines(rows: Sequence[Mapping[Cell, float | None]], *, threshold: float) -> VectorCheck:
    """Summarize the cosines of a table's cells."""
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
    units: FloatArray = np.divide(vectors, lengths, out=np.full(vectors.shape, np.nan), where=lengths > 0)
    return units


def _nearest(cells: FloatArray, of_text: FloatArray) -> list[float | None]:
    """Return each cell's greatest cosine with a sentence."""
    known = of_text[~np.isnan(of_text).any(axis=1)]
    if not len(known):
        return [None] * len(cells)
    best = np.clip((cells @ known.T).max(axis=1), -1, 1)
    return [None if np.isnan(value) else float(value) for value in best]


def _of_side(cell: Cell, text: str, nearest: Iterator[tuple[float | None, float | None]]) -> float | None:
    if is_blank(text):
        return None
    in_a, in_b = next(nearest)
    if cell == "only_a":
        return in_a
    if cell == "only_b":
        return in_b
    return None if in_a is None or in_b is None else min(in_a, in_b)
