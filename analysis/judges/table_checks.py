"""Cheap checks of one comparison table against its two texts. They are shown, and decide nothing.

A cell is checked by its content words (`analysis.similarity.content_words`). A blank cell is missing:
it is neither supported nor unsupported, and no share counts it.

source : stand-ins for the entailment and coverage of Predicting Text Preference Via Structured Comparative Reasoning,
         appendix, fig. 5, which asks a model for entailment; words only compare topics
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

from analysis.errors import UnknownValue
from analysis.similarity.content_words import content_words, is_blank, length_in_words, words

Cell = Literal["only_a", "both", "only_b"]
Row = Mapping[str, Any]  # of texts

CELLS: tuple[Cell, ...] = ("only_a", "both", "only_b")
SUPPORTED = 0.5  # share of its words, or score, from which on a cell counts as supported
LONG = 40  # words; a cell is a note, not a copy of the text
# English only: references to a text by its position, which are wrong in a swapped table.
_TEXT = r"(?i:text|summary|response|answer|reply|document|passage|translation|output|candidate|continuation)"
SIDE = (  # compiled by `re` when the first table is checked
    rf"\b{_TEXT}\s*[\"'“‘(]?(?:[AB12]\b|(?i:one|two)\b)|^\W*[AB]\s*:|\b(?i:former|latter)\b"
    rf"|\b(?i:first|second|left|right)(?:-hand)?\s+(?:(?i:one)\b|{_TEXT}\b)"
)
SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])|\n+")


@dataclass(frozen=True)
class CellCheck:
    """The checks of one cell. `None` if it is missing or there is nothing to compare it with.

    support     : share of its content words that occur in its text, |W(cell) ∩ words of the text| / |W(cell)|; for `both`
                  the lesser of the two
    other       : the same for the other text; of an only-cell
    overlap     : share of its content words that stand in the row's `both` cell as well (containment); of an only-cell
    from_source : share of its content words that stand in the source and in neither text
    wrong_side  : an only-cell that the other text supports better than its own
    copied      : another cell of the table has the same words. A quotation from a text does not count
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
        """Return whether a person should look at the cell."""
        return self.wrong_side or self.copied or self.names_side or self.long


@dataclass(frozen=True)
class Summary:
    """The checks of a whole table. `None` if all cells, or all texts, are blank.

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
    source_words = frozenset(words(source))
    copies = _copies(rows)
    checked = tuple(
        {cell: _check_cell(row, cell, texts, source_words, (number, cell) in copies) for cell in CELLS}
        for number, row in enumerate(rows)
    )
    return TableCheckResult(checked, _summary(rows, checked, text_a, text_b, threshold))


def _check_cell(
    row: Row, cell: Cell, texts: Mapping[str, frozenset[str]], source_words: frozenset[str], copied: bool
) -> CellCheck:
    text = row[cell]
    if is_blank(text):
        return CellCheck(True, 0, None, None, None, None, False, False, False)
    own = content_words(text)
    in_a, in_b = (_share(own, texts[side]) for side in ("only_a", "only_b"))
    only = cell != "both"
    support, contrast = {"only_a": (in_a, in_b), "only_b": (in_b, in_a), "both": (min(in_a, in_b), None)}[cell]
    return CellCheck(
        missing=False,
        words=length_in_words(text),
        support=support,
        other=contrast,
        overlap=_share(own, content_words(row["both"])) if only and not is_blank(row["both"]) else None,
        from_source=_share(own, source_words - texts["only_a"] - texts["only_b"]) if source_words else None,
        wrong_side=contrast is not None and contrast > support,
        copied=copied,
        names_side=re.search(SIDE, text) is not None,
    )


def _share(own: frozenset[str], present: frozenset[str]) -> float:
    return len(own & present) / len(own)


def _copies(rows: Sequence[Row]) -> set[tuple[int, Cell]]:
    """Return (row, cell) of the cells whose words, in order, are those of another cell."""
    text = {
        (number, cell): words(row[cell]) for number, row in enumerate(rows) for cell in CELLS if not is_blank(row[cell])
    }
    times = Counter(text.values())
    return {start for start, phrase in text.items() if times[phrase] > 1}


def _summary(
    rows: Sequence[Row], checked: Sequence[Mapping[Cell, CellCheck]], text_a: str, text_b: str, threshold: float
) -> Summary:
    every = [row[cell] for row in checked for cell in CELLS]
    present = [check for check in every if not check.missing]
    support = [check.support for check in present if check.support is not None]
    overlap = [check.overlap for check in present if check.overlap is not None]
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
        wrong_side=sum(check.wrong_side for check in present),
        copied=sum(check.copied for check in present),
        names_side=sum(check.names_side for check in present),
        long=sum(check.long for check in present),
        odd=sum(check.odd for check in present),
    )


def _mean(values: Iterable[float]) -> float | None:
    # Exactly rounded, so that the result does not depend on the order of the rows.
    ordered = sorted(values)
    return fmean(ordered) if ordered else None


def _covered(text: frozenset[str], mentioned: frozenset[str]) -> float | None:
    return len(text & mentioned) / len(text) if text else None


def sentences(text: str) -> list[str]:
    """Split a text at the ends of sentences and lines. Parts without a word are left out."""
    return [piece.strip() for piece in SENTENCE_END.split(text) if words(piece)]


@dataclass(frozen=True)
class ScoredCells:
    """A model's scores of a table's cells. `None` if missing.

    n         : cells with a score, of `cells`
    supported : share of these with a score of the threshold or more; `support` is their mean
    """

    rows: tuple[Mapping[Cell, float | None], ...]
    cells: int
    n: int
    supported: float | None
    support: float | None


def summarize_scores(rows: Sequence[Mapping[Cell, float | None]], *, threshold: float) -> ScoredCells:
    """Summarize the scores of a table's cells."""
    every = [row[cell] for row in rows for cell in CELLS]
    numbers = [value for value in every if value is not None]
    supported = _mean(value >= threshold for value in numbers)
    return ScoredCells(tuple(rows), len(every), len(numbers), supported, _mean(numbers))
