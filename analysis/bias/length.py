"""Length bias: the share of verdicts for the longer text, also by how much longer it is.

Longer texts may be better: compare a judge's share with people's on the same pairs.
"""

import numpy as np
import numpy.typing as npt

from analysis.errors import UnknownValue
from analysis.intervals.bootstrap import counted_rows
from analysis.types import FloatArray, check_columns, verdict_array

# Upper edges of `longer_by_excess`: the longer text is up to a tenth longer, … , more than twice as long.
EXCESS = (0.1, 0.25, 0.5, 1.0, np.inf)


def longer_sums(verdict: npt.ArrayLike, length_a: npt.ArrayLike, length_b: npt.ArrayLike) -> FloatArray:
    """Verdicts for the longer text, and verdicts for either, per unit, for `ratio`.

    verdict            : (n,) -1 (A), 0, +1 (B), NaN for missing
    length_a, length_b : (n,) of the two texts, in any one unit, not negative
    returns            : (n, 2) of 0 and 1; ties, missing verdicts and texts of equal length are in neither column
    raises             : UnknownValue, ShapeError
    source             : our own definition of what Zheng et al. 2023, Judging LLM-as-a-Judge, §3.3, call verbosity bias
    """
    verdicts, a, b = _columns(verdict, length_a, length_b)
    return counted_rows(np.sign(b - a) == verdicts, (np.abs(verdicts) == 1) & (a != b))


def longer_by_excess(
    verdict: npt.ArrayLike,
    length_a: npt.ArrayLike,
    length_b: npt.ArrayLike,
    edges: tuple[float, ...] = EXCESS,
) -> FloatArray:
    """The sums of `longer_sums`, by how much longer the longer text is.

    edges   : upper edges of longer / shorter - 1, ascending, each bin with its upper edge; a text beside an empty one
              is infinitely longer
    returns : (n_edges, 2) verdicts for the longer text, and verdicts; what lies above the last edge is in no bin
    raises  : UnknownValue, ShapeError
    source  : as `longer_sums`
    """
    verdicts, a, b = _columns(verdict, length_a, length_b)
    if list(edges) != sorted(set(edges)):
        raise UnknownValue(f"edges must ascend, got {edges}")
    sums = longer_sums(verdicts, a, b)
    shorter = np.minimum(a, b)
    unequal = a != b
    excess = np.full(a.shape, np.inf)
    np.divide(np.abs(a - b), shorter, out=excess, where=shorter > 0)
    bin_index = np.searchsorted(edges, excess, side="left")
    binned = np.zeros((len(edges), 2))
    for column in range(2):
        in_bin = unequal & (bin_index < len(edges))
        binned[:, column] = np.bincount(bin_index[in_bin], weights=sums[in_bin, column], minlength=len(edges))
    return binned


def _columns(
    verdict: npt.ArrayLike, length_a: npt.ArrayLike, length_b: npt.ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray]:
    verdicts = verdict_array(verdict)
    a, b = np.asarray(length_a, dtype=np.float64), np.asarray(length_b, dtype=np.float64)
    check_columns(verdicts, a, b)
    if not ((a >= 0) & (b >= 0)).all():
        raise UnknownValue("lengths must be known and not negative")
    return verdicts, a, b
