"""Judges' verdicts beside the gold of the pairs, with calls, tokens and marks on rationales, as arrays. No models."""

from dataclasses import dataclass

import numpy as np

from analysis.accuracy import AgainstGold
from analysis.types import BoolArray, FloatArray, IntArray

STATUSES = ("pending", "parsed", "unparsed", "refused", "error")  # by their codes
CODES = {status: code for code, status in enumerate(STATUSES)}
ANSWERED = [CODES[status] for status in ("parsed", "unparsed", "refused")]


@dataclass(frozen=True, eq=False)
class GoldPairs:
    """The pairs of a study whose gold says which text is better, or neither.

    pair_ids : (n_pairs,) primary keys
    instance : (n_pairs,) integer code of the pair's instance, in the study's order
    gold     : (n_pairs,) -1 A is better, +1 B, 0 neither
    datasets : name of each data set → (n_pairs,) whether the pair is of it
    tags     : the same for each tag of the instances' metadata
    """

    pair_ids: tuple[int, ...]
    instance: IntArray
    gold: FloatArray
    datasets: dict[str, BoolArray]
    tags: dict[str, BoolArray]

    def __len__(self) -> int:
        return len(self.pair_ids)


@dataclass(frozen=True, eq=False)
class JudgedGold:
    """One judge on the pairs of `GoldPairs`; columns: A's text first, B's text first.

    status      : (n_pairs, 2) code of the judgment's status; 0 where it was not, or not yet, asked
    verdict     : (n_pairs, 2) in study order; NaN unless parsed
    calls       : (n_pairs, 2) answers behind it, new or cached; NaN where unknown
    calls_made  : (n_pairs, 2) calls made for it
    tokens      : (n_pairs, 2) of prompts and completions of all answers behind it
    tokens_made : (n_pairs, 2) of the calls made for it
    sound       : (n_pairs, 2) 1 where most marks call the rationale sound, 0 where fewer than half, else NaN
    disputed    : presentations with as many marks for as against
    """

    gold: GoldPairs
    status: IntArray
    verdict: FloatArray
    calls: FloatArray
    calls_made: FloatArray
    tokens: FloatArray
    tokens_made: FloatArray
    sound: FloatArray
    disputed: BoolArray

    @property
    def answered(self) -> BoolArray:
        """(n_pairs, 2) whether the judge gave an answer, with or without a verdict; an error is none."""
        return np.isin(self.status, ANSWERED)

    def count(self, status: str) -> IntArray:
        """(n_pairs,) presentations with this status."""
        counts: IntArray = (self.status == CODES[status]).sum(axis=1)
        return counts

    def errors(self, pairs: BoolArray) -> IntArray:
        """(2,) presentations of these pairs in each order that ended in an error."""
        errors: IntArray = (self.status[pairs] == CODES["error"]).sum(axis=0)
        return errors

    def against_gold(self, pairs: BoolArray) -> AgainstGold:
        """Return what the judge said of these pairs, for `analysis.accuracy`."""
        return AgainstGold(self.verdict[pairs], self.gold.gold[pairs], self.answered[pairs])


@dataclass(frozen=True, eq=False)
class Presentations:
    """What a judge said of the pairs of `GoldPairs`, a column for each presentation.

    place         : (n,) of the pair
    order         : (n,) `A_FIRST` or `B_FIRST`; a jury's verdicts have no order, and stand with A first
    status        : (n,) code
    verdict       : (n,) in study order; NaN unless parsed
    calls, cached : (n,) answers behind it, and how many of these came from the cache
    made          : (2, n) tokens of prompts and of completions of the calls made for it; NaN where unknown
    taken         : (2, n) the same of all answers behind it; NaN without stored answers
    marks         : (2, n) how many marks call the rationale sound, and not sound
    """

    place: IntArray
    order: IntArray
    status: IntArray
    verdict: FloatArray
    calls: FloatArray
    cached: FloatArray
    made: FloatArray
    taken: FloatArray
    marks: FloatArray

    def beside(self, gold: GoldPairs, method: str) -> JudgedGold:
        """Return it beside the gold; imported judgments may lack the number of calls: `method` tells."""
        told = (self.calls > 0) | (method != "imported")
        made = _total(self.made, np.where(self.calls == self.cached, 0.0, np.nan))
        sound, unsound = self.marks
        of_each = {
            "verdict": self.verdict,
            "calls": np.where(told, self.calls, np.nan),
            "calls_made": np.where(told, self.calls - self.cached, np.nan),
            "tokens": np.where(told, _total(self.taken, made), np.nan),
            "tokens_made": np.where(told, made, np.nan),
            "sound": np.where(sound == unsound, np.nan, sound > unsound),
        }
        at, shape = (self.place, self.order), (len(gold), 2)
        status, disputed = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=bool)
        status[at], disputed[at] = self.status, (sound == unsound) & (sound > 0)
        columns = {name: np.full(shape, np.nan) for name in of_each}
        for name, values in of_each.items():
            columns[name][at] = values
        return JudgedGold(gold=gold, status=status, disputed=disputed, **columns)


def _total(numbers: FloatArray, unknown: FloatArray) -> FloatArray:
    """Sum each column over what is known, else return what stands for it."""
    return np.where(np.isnan(numbers).all(axis=0), unknown, np.nansum(numbers, axis=0))
