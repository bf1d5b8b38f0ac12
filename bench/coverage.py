"""How often intervals hold the true value: 2,000 simulated studies a cell, with the width beside that of true standard errors.

A cell is a population and a number of instances. The target: at 95 % a coverage of .93 from 20 instances, .91 from 8, .88
from 5; from 13 instances a median width of at most 1.5 times 2 x 1.96 standard errors, which are those of the estimates of
all studies. A cell that misses it is simulated again with ten times as many studies, which decide; those that miss it then are
marked, and the program ends with 1.
"""

import os
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from bench import _coverage_populations as sums
from bench import _coverage_statistics as statistics
from bench._coverage_populations import Population

STUDIES = 2_000
LEAST = {20: 0.93, 8: 0.91, 5: 0.88}  # coverage by the number of instances
WIDEST, WIDTH_FROM = 1.5, 13
WIDTH = 2 * 1.959963984540054
FAMILIES: dict[str, Callable[[], Iterator[Population]]] = {
    "shares": sums.shares,
    "means": sums.means,
    "published rating sets, resampled": sums.published,
    "paired differences": sums.paired,
    "unpaired differences": statistics.unpaired,
    "two ways, by the number of raters of 50 instances": statistics.two_ways,
    "other statistics": statistics.statistics,
    "judges and people": statistics.judges,
}


@dataclass(frozen=True)
class Cell:
    """What simulated studies of a population showed.

    covered     : share of intervals that hold the true value
    above, below : shares of those that lie above it, below it
    width       : median width by that of 2 x 1.96 standard errors
    without     : share of studies without an interval; they are no part of the others
    """

    population: Population
    n: int
    studies: int
    covered: float
    above: float
    below: float
    width: float
    without: float

    @property
    def margin(self) -> float:
        """Coverage less the least one that the target allows."""
        return self.covered - next(least for n, least in LEAST.items() if self.n >= n)

    @property
    def misses(self) -> bool:
        """Whether the cell misses the target."""
        return self.margin < 0 or (self.n >= WIDTH_FROM and self.width > WIDEST)


def cell_at(place: tuple[str, int, int]) -> Cell:
    """Simulate the cell of a population by family and place; populations themselves can't be sent to a process."""
    family, at, n = place
    population = list(FAMILIES[family]())[at]
    return replace(cell(population, n), population=replace(population, simulate=None))


def cell(population: Population, n: int) -> Cell:
    """Simulate studies of a population, and more of them where these miss the target, which may be by chance."""
    found = simulated(population, n, STUDIES)
    return simulated(population, n, 10 * STUDIES) if found.misses and not population.beyond else found


def simulated(population: Population, n: int, studies: int) -> Cell:
    """Simulate so many studies of a population, by a seed of its own."""
    rng = np.random.default_rng([zlib.crc32(population.name.encode()), n])
    value, low, high = population.simulate(rng, n, studies)
    found = ~np.isnan(low)
    above, below = low[found] > population.truth + 1e-12, high[found] < population.truth - 1e-12
    return Cell(
        population,
        n,
        studies,
        covered=float(1 - above.mean() - below.mean()),
        above=float(above.mean()),
        below=float(below.mean()),
        width=float(np.median((high - low)[found]) / (WIDTH * value[~np.isnan(value)].std())),
        without=float(1 - found.mean()),
    )


def main() -> None:
    """Print the cells of every family, then the worst of all; exit with 1 if any misses the target."""
    cells: list[Cell] = []
    with ProcessPoolExecutor(initializer=os.nice, initargs=(10,)) as pool:
        for family, populations in FAMILIES.items():
            print(f"\n{family}\n  {'population':<58} {'n':>3} coverage  above  below  width")
            places = [(family, at, n) for at, one in enumerate(populations()) for n in one.numbers]
            for found in pool.map(cell_at, places):
                print("  " + shown(found), flush=True)
                cells.append(found)
    held = [one for one in cells if not one.population.beyond]
    print("\nthe least coverage beside its target, by the number of instances")
    for n in sorted({one.n for one in held}):
        print("  " + shown(min((one for one in held if one.n == n), key=lambda one: one.margin)))
    print("the widest from 13 instances")
    print("  " + shown(max((one for one in held if one.n >= WIDTH_FROM), key=lambda one: one.width)))
    missed = sum(one.misses for one in held)
    print(f"\n{missed} of {len(held)} cells miss the target")
    if missed:
        raise SystemExit(1)


def shown(one: Cell) -> str:
    """A line of a cell."""
    notes = [
        *(["BELOW"] if one.misses and one.margin < 0 else []),
        *(["WIDE"] if one.misses and one.n >= WIDTH_FROM and one.width > WIDEST else []),
        *([f"{one.studies:,} studies"] if one.studies > STUDIES else []),
        *([f"{one.without:.3f} without an interval"] if one.without else []),
        *([f"(no target: {one.population.beyond})"] if one.population.beyond else []),
    ]
    numbers = f"{one.covered:8.3f} {one.above:6.3f} {one.below:6.3f} {one.width:6.2f}"
    return f"{one.population.name:<58} {one.n:>3} {numbers}  {'; '.join(notes)}".rstrip()
