"""Populations whose true value is known, for `bench.coverage`: shares, means and paired differences, drawn as sums of instances."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from statistics import NormalDist

import numpy as np

from analysis.intervals.analytic import Spread, mean_interval, ratio_spread, share_interval
from analysis.intervals.jackknife import Bounds
from analysis.types import FloatArray, IntArray

Simulated = tuple[FloatArray, FloatArray, FloatArray]
Simulation = Callable[[np.random.Generator, int, int], Simulated]
Draw = Callable[[np.random.Generator, int, int], FloatArray]
Sizes = Callable[[np.random.Generator, tuple[int, int]], IntArray]
RATING_SETS = Path(__file__).parent.parent / "tests" / "golden" / "human_rating_sets.json"
SMALL = (5, 8, 13, 20, 50)
CORRELATIONS = (0.0, 0.3)
TIES = 0.2  # at a win rate of one half
SIXTHS = np.linspace(0, 1, 6)
CONSISTENCIES = {  # shares of rating sets with a consistency of 0, 1/5, …, 1
    "0.1, mostly 0": (0.77, 0.12, 0.04, 0.02, 0.01, 0.04),
    "0.45, 0 or 1": (0.5, 0.02, 0.02, 0.03, 0.05, 0.38),
    "0.85, no 0": (0.0, 0.0, 0.05, 0.15, 0.3, 0.5),
    "0.9, mostly 1": (0.04, 0.01, 0.02, 0.04, 0.12, 0.77),
    "0.97, nearly all 1": (0.02, 0.0, 0.0, 0.01, 0.02, 0.95),
}
SKEW = "most instances stand at one end, few far from it"
NEAR_END = "the mean lies outside [0.1, 0.9]"


@dataclass(frozen=True)
class Population:
    """Studies of one kind.

    simulate : generator, instances and studies to value, low and high of every study, each (studies,); None once it has run
    numbers  : of instances, or of the fewer of instances and raters
    beyond   : why the target does not hold for it; empty where it does
    """

    name: str
    truth: float
    simulate: Simulation | None
    numbers: Sequence[int] = SMALL
    beyond: str = ""


def one(rng: np.random.Generator, shape: tuple[int, int]) -> IntArray:
    """One unit in each instance."""
    return np.ones(shape, dtype=np.int64)


def five(rng: np.random.Generator, shape: tuple[int, int]) -> IntArray:
    """Five units in each instance."""
    return np.full(shape, 5)


def unequal(rng: np.random.Generator, shape: tuple[int, int]) -> IntArray:
    """From 1 to 20 units in an instance, 5 on average."""
    return np.minimum(rng.geometric(0.2, shape), 20)


def very_unequal(rng: np.random.Generator, shape: tuple[int, int]) -> IntArray:
    """Mostly one to three units in an instance, in one of ten 15."""
    return rng.choice([1, 2, 3, 15], p=[0.4, 0.3, 0.2, 0.1], size=shape)


SIZES: dict[str, Sizes] = {"1 unit": one, "5 units": five, "1 to 20": unequal, "1 to 3 or 15": very_unequal}


def of_sums(draw: Draw, rule: Callable[..., Bounds], **limits: float) -> Simulation:
    """Simulate studies of which draw(rng, studies, n) gives the sums, (studies, n, 2), with an interval of `Spread`."""

    def simulate(rng: np.random.Generator, n: int, studies: int) -> Simulated:
        return columns((spread.value, rule(spread, **limits)) for spread in spreads_of(draw(rng, studies, n)))

    return simulate


def columns(found: Iterable[tuple[float, Bounds]]) -> Simulated:
    """Values, low and high limits."""
    rows = np.array([(value, bounds.low, bounds.high) for value, bounds in found])
    return rows[:, 0], rows[:, 1], rows[:, 2]


def spreads_of(sums: FloatArray) -> list[Spread]:
    """`ratio_spread` of (studies, n, 2) sums of instances, all at once; compared with it on the first study."""
    size, n = sums[..., 1], sums.shape[1]
    total = size.sum(axis=1)
    value = sums[..., 0].sum(axis=1) / total
    gap = sums[..., 0] - value[:, np.newaxis] * size
    moved = gap / (total[:, np.newaxis] - size)
    moved[np.abs(gap) < 1e-12 * total[:, np.newaxis]] = 0.0
    error = np.sqrt((n - 1) * moved.var(axis=1))
    effective = np.minimum(total**2 / (size**2).sum(axis=1), n)
    rows = zip(*(column.tolist() for column in (value, error, total, effective)), strict=True)
    found = [Spread(x, spread, units, n, clusters) for x, spread, units, clusters in rows]
    known, first = ratio_spread(sums[0], np.arange(n)), found[0]
    if not np.allclose([known.value, known.error, known.effective], [first.value, first.error, first.effective]):
        raise ValueError(f"{first} is not {known}")
    return found


def chances(rng: np.random.Generator, p: float, icc: float, shape: tuple[int, ...]) -> FloatArray:
    """Each instance's own chance, beta-distributed with mean p, so that two units of an instance correlate by `icc`."""
    if icc == 0:
        return np.full(shape, p)
    return rng.beta(p * (1 / icc - 1), (1 - p) * (1 / icc - 1), shape)


def shares() -> Iterator[Population]:
    """Shares of units that are 0 or 1."""
    for p in (0.1, 0.3, 0.5, 0.7, 0.9):
        for icc, sizes in correlated():
            draw = partial(drawn_shares, p=p, icc=icc, size=SIZES[sizes])
            yield Population(f"share {p}, ICC {icc}, {sizes}", p, of_sums(draw, share_interval))


def correlated() -> Iterator[tuple[float, str]]:
    """Correlations and sizes of instances; of one unit each, none is correlated."""
    for icc in CORRELATIONS:
        yield from ((icc, sizes) for sizes in SIZES if not icc or SIZES[sizes] is not one)


def drawn_shares(rng: np.random.Generator, studies: int, n: int, *, p: float, icc: float, size: Sizes) -> FloatArray:
    """Ones and units of every instance."""
    units = size(rng, (studies, n))
    return np.stack([rng.binomial(units, chances(rng, p, icc, units.shape)), units], axis=-1).astype(np.float64)


def means() -> Iterator[Population]:
    """Win rates with ties as half, consistencies, and means of instances that pile up at an end."""
    for p in (0.1, 0.3, 0.5, 0.7, 0.9):
        for icc, sizes in correlated():
            draw = partial(drawn_wins, p=p, icc=icc, size=SIZES[sizes])
            yield Population(f"win rate {p}, ICC {icc}, {sizes}", p, of_sums(draw, mean_interval))
    for name, shares_of in CONSISTENCIES.items():
        for icc, sizes in correlated():
            draw = partial(drawn_values, values=SIXTHS, shares_of=shares_of, icc=icc, size=SIZES[sizes])
            mean = float(SIXTHS @ shares_of)
            beyond = NEAR_END if mean > 0.95 else SKEW if "mostly" in name and SIZES[sizes] is one else ""
            yield Population(
                f"consistency {name}, ICC {icc}, {sizes}", mean, of_sums(draw, mean_interval), beyond=beyond
            )
    for a, b, beyond in ((8.0, 2.0, ""), (1.0, 1.0, ""), (0.2, 1.8, SKEW), (1.8, 0.2, SKEW)):
        simulate = of_sums(partial(drawn_means, a=a, b=b), mean_interval)
        yield Population(f"beta({a}, {b}), 1 unit", a / (a + b), simulate, beyond=beyond)


def drawn_wins(rng: np.random.Generator, studies: int, n: int, *, p: float, icc: float, size: Sizes) -> FloatArray:
    """Points of a system, a tie being half of one, and comparisons."""
    units = size(rng, (studies, n))
    rate = chances(rng, p, icc, units.shape)
    tie = TIES * 4 * rate * (1 - rate)
    ties = rng.binomial(units, tie)
    wins = rng.binomial(units - ties, ((rate - tie / 2) / (1 - tie)).clip(0, 1))
    return np.stack([wins + ties / 2, units], axis=-1)


def drawn_values(
    rng: np.random.Generator,
    studies: int,
    n: int,
    *,
    values: FloatArray,
    shares_of: Sequence[float],
    icc: float,
    size: Sizes,
) -> FloatArray:
    """Sums of values that have these shares, each by a normal variable that correlates by `icc` within an instance."""
    units = size(rng, (studies, n))
    most = int(units.max())
    shared = np.sqrt(icc) * rng.standard_normal((studies, n, 1))
    own = np.sqrt(1 - icc) * rng.standard_normal((studies, n, most))
    edges = [
        NormalDist().inv_cdf(edge) if 0 < edge < 1 else np.inf * (edge - 0.5) for edge in np.cumsum(shares_of)[:-1]
    ]
    drawn = values[np.searchsorted(edges, shared + own)] * (np.arange(most) < units[..., np.newaxis])
    return np.stack([drawn.sum(axis=-1), units], axis=-1)


def drawn_means(rng: np.random.Generator, studies: int, n: int, *, a: float, b: float) -> FloatArray:
    """Means of instances from a beta distribution."""
    return np.stack([rng.beta(a, b, (studies, n)), np.ones((studies, n))], axis=-1)


def published() -> Iterator[Population]:
    """The published rating sets: studies draw their instances with replacement."""
    for key, instances in json.loads(RATING_SETS.read_text(encoding="utf-8")).items():
        sets = [one["sets"] for one in instances]
        steady = [[rated["consistency"] for rated in own] for own in sets]
        votes = [[vote for rated in own for vote in rated["r"]] for own in sets]
        numbers = {
            "consistency": (steady, mean_interval, 0.0),
            "preference strength": ([[rated["pref_strength"] for rated in own] for own in sets], mean_interval, -1.0),
            "win rate": ([[(1 - vote) / 2 for vote in own] for own in votes], mean_interval, 0.0),
            "fully consistent": ([[one == 1 for one in own] for own in steady], share_interval, None),
            "votes for A": ([[vote == -1 for vote in own] for own in votes], share_interval, None),
            "ties": ([[vote == 0 for vote in own] for own in votes], share_interval, None),
            "raw agreement": ([_agreeing(own) for own in sets], share_interval, None),
        }
        for name, (units, rule, floor) in numbers.items():
            sums = np.array([[sum(own), len(own)] for own in units], dtype=np.float64)
            truth = float(sums[:, 0].sum() / sums[:, 1].sum())
            limits = {} if floor is None else {"floor": floor}
            yield Population(f"{key}: {name}", truth, of_sums(partial(redrawn, sums=sums), rule, **limits))


def _agreeing(sets: Sequence[dict[str, list[int]]]) -> list[bool]:
    both = combinations((rated["r"] for rated in sets), 2)
    return [vote == other for left, right in both for vote, other in zip(left, right, strict=True)]


def redrawn(rng: np.random.Generator, studies: int, n: int, *, sums: FloatArray) -> FloatArray:
    """Instances drawn with replacement."""
    drawn: FloatArray = sums[rng.integers(len(sums), size=(studies, n))]
    return drawn


def paired() -> Iterator[Population]:
    """Paired differences of units: +1 and -1 with these chances, else 0."""
    for up, down in ((0.1, 0.1), (0.3, 0.1), (0.05, 0.45), (0.85, 0.05)):
        for icc, sizes in correlated():
            draw = partial(drawn_differences, up=up, down=down, icc=icc, size=SIZES[sizes])
            name = f"paired difference {up - down:.2f}, ICC {icc}, {sizes}"
            yield Population(name, up - down, of_sums(draw, mean_interval, floor=-1.0))


def drawn_differences(
    rng: np.random.Generator, studies: int, n: int, *, up: float, down: float, icc: float, size: Sizes
) -> FloatArray:
    """Sums of differences, of which an instance has chances of its own."""
    units = size(rng, (studies, n))
    differs = chances(rng, up + down, icc, units.shape)
    rises = chances(rng, up / (up + down), icc, units.shape)
    differing = rng.binomial(units, differs)
    return np.stack([2 * rng.binomial(differing, rises) - differing, units], axis=-1).astype(np.float64)
