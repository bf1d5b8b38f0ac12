"""Types that people's and judges' verdicts share, `Verdict` and `Outcomes`, and checks of columns."""

from dataclasses import dataclass, fields
from enum import IntEnum
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from analysis.errors import ShapeError, UnknownValue

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


class Verdict(IntEnum):
    """The preferred system, in study order, never in screen order. In arrays a missing verdict is NaN."""

    A = -1
    TIE = 0
    B = 1


def verdict_array(values: npt.ArrayLike) -> FloatArray:
    """Verdicts as floats: -1 (A), 0 (tie), +1 (B), and NaN where one is missing (None becomes NaN).

    raises : UnknownValue for any other value
    """
    verdicts = np.asarray(values, dtype=np.float64)
    is_valid = np.isnan(verdicts) | (np.abs(verdicts) == 1) | (verdicts == 0)
    if not is_valid.all():
        raise UnknownValue(f"verdicts are -1, 0, 1 or NaN, got {np.unique(verdicts[~is_valid])[:5].tolist()}")
    return verdicts


def code_array(name: str, values: npt.ArrayLike) -> IntArray:
    """Return integer codes as int64. An empty input of any type is taken.

    raises : UnknownValue if the values are not integers
    """
    codes = np.asarray(values)
    if codes.size and not np.issubdtype(codes.dtype, np.integer):
        raise UnknownValue(f"{name} must hold integer codes, got {codes.dtype}")
    return codes.astype(np.int64, copy=False)


def share_array(name: str, values: npt.ArrayLike) -> FloatArray:
    """Return shares or probabilities as floats, with NaN where one is missing.

    raises : UnknownValue for a value outside [0, 1]
    """
    shares = np.asarray(values, dtype=np.float64)
    outside = (shares < 0) | (shares > 1)
    if outside.any():
        raise UnknownValue(f"{name} lie in [0, 1], got {shares[outside][:5].tolist()}")
    return shares


def check_columns(*columns: npt.NDArray[Any]) -> None:
    """Raise ShapeError unless the columns are 1-D and of one length."""
    shapes = [column.shape for column in columns]
    if columns[0].ndim != 1 or len(set(shapes)) > 1:
        raise ShapeError(f"need columns of one length, got shapes {shapes}")


def verdict_columns(*values: npt.ArrayLike) -> list[FloatArray]:
    """Return each column as `verdict_array` does.

    raises : UnknownValue; ShapeError unless the columns are 1-D and of one length
    """
    columns = [verdict_array(column) for column in values]
    check_columns(*columns)
    return columns


def check_level(level: float) -> None:
    """Raise UnknownValue unless the level of an interval lies in (0, 1)."""
    if not 0 < level < 1:
        raise UnknownValue(f"the level of an interval lies between 0 and 1, such as 0.95, got {level}")


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Verdicts as equal-length columns, one row per verdict of one rater on one pair.

    instance : (n,) integer code of the test input
    pair     : (n,) index of the pair within its matchup, from 0
    a, b     : (n,) integer codes of the two systems in study order
    verdict  : (n,) -1 (A preferred), 0 (tie), +1 (B preferred), NaN when asked for but missing
    rater    : (n,) integer code of the person or judge
    weight   : (n,) finite and not negative; ones when left out
    raises   : ShapeError if the columns are not 1-D and of one length; UnknownValue for a code that is not an
               integer, a negative pair index, a system against itself, an unknown verdict or a bad weight
    """

    instance: IntArray
    pair: IntArray
    a: IntArray
    b: IntArray
    verdict: FloatArray
    rater: IntArray
    weight: FloatArray = None  # type: ignore[assignment]  # filled below, so readers always see an array

    def __post_init__(self) -> None:
        codes = ("instance", "pair", "a", "b", "rater")
        columns = {name: code_array(name, getattr(self, name)) for name in codes}
        verdict = verdict_array(self.verdict)
        weight = np.ones(verdict.shape) if self.weight is None else np.asarray(self.weight, dtype=np.float64)
        for name, column in {**columns, "verdict": verdict, "weight": weight}.items():
            object.__setattr__(self, name, column)
        self._check()

    def _check(self) -> None:
        shapes = {field.name: getattr(self, field.name).shape for field in fields(self)}
        if self.verdict.ndim != 1 or len(set(shapes.values())) != 1:
            raise ShapeError(f"columns must be 1-D and of one length, got {shapes}")
        if (self.pair < 0).any():
            raise UnknownValue(f"pair indices start at 0, got {self.pair.min()}")
        if (self.a == self.b).any():
            raise UnknownValue(f"system {self.a[self.a == self.b][0]} is set against itself")
        if not (np.isfinite(self.weight) & (self.weight >= 0)).all():
            raise UnknownValue("weights must be finite and not negative")

    def __len__(self) -> int:
        return len(self.verdict)


REFUSALS = {
    "people": "{found} of the {needed} people needed",
    "tested": "{found} of the {needed} people needed rated enough instances",
    "instances": "{found} of the {needed} instances needed",
    "selection": "the instances that people rated are no random draw",
    "chance": "people are not shown to agree more than by chance",
    "sequence": "a more separable bin did not pass",
    "collecting": "votes are still coming in: after the batch is closed",
}


@dataclass(frozen=True)
class Refusal:
    """Reason for no answer. `found` and `needed` count people or instances."""

    what: Literal["people", "tested", "instances", "selection", "chance", "sequence", "collecting"]
    found: int = 0
    needed: int = 0

    def __str__(self) -> str:
        return REFUSALS[self.what].format(found=self.found, needed=self.needed)


def too_few(what: Literal["people", "tested", "instances"], found: int, needed: int) -> Refusal | None:
    """Return a refusal below the number needed, else None."""
    return None if found >= needed else Refusal(what, found, needed)
