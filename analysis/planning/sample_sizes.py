"""Instances, pairs and raters for an interval of a given width, and their cost.

Instances are the sampling unit: a width falls with the square root of their number, and pairs and raters only lower
what each instance leaves uncertain (`analysis.planning.variance`).
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from analysis.errors import NotEnough, UnknownValue
from analysis.planning.variance import Components
from analysis.types import check_level

MIN_INSTANCES = 2  # an interval over instances needs two
CAUTIOUS_SHARE = 0.8
CENTS = 100
ROUNDING = 1e-9  # relative; so much above a whole number is that number


@dataclass(frozen=True)
class Prices:
    """Prices of work. An unknown price is None, and so is each sum with it.

    A HIT of N pairs takes the share `source_share` of the known HIT's minutes and pay for its source text, and the rest
    in proportion to its pairs.

    pairs_per_hit  : pairs on the HIT that `pay_per_hit` and `minutes_per_hit` are known for
    source_share   : share of that HIT's time that goes into reading the source, in [0, 1]
    judges         : judges that rate every pair
    calls_per_pair : calls of one judge for one pair in one order
    orders         : 2 if each pair is asked in both orders, else 1
    cost_per_call  : in the currency of the pay
    raises         : UnknownValue for a negative price, a share outside [0, 1], no pairs, or other orders
    """

    pairs_per_hit: int = 5
    pay_per_hit: float | None = None
    minutes_per_hit: float | None = None
    source_share: float = 0.0
    judges: int = 0
    calls_per_pair: float = 1.0
    orders: int = 1
    cost_per_call: float | None = None

    def __post_init__(self) -> None:
        amounts = (self.pay_per_hit, self.minutes_per_hit, self.cost_per_call, self.calls_per_pair, self.judges)
        if any(amount is not None and not 0 <= amount < math.inf for amount in amounts):
            raise UnknownValue(f"prices, minutes, calls and judges are finite and not negative, got {amounts}")
        if not 0 <= self.source_share <= 1:
            raise UnknownValue(f"the source takes a share of a HIT's time between 0 and 1, got {self.source_share}")
        if self.pairs_per_hit < 1 or self.orders not in (1, 2):
            raise UnknownValue(
                f"need pairs on a HIT and one order or both, got {self.pairs_per_hit} pairs and {self.orders} orders"
            )

    def work(self, pairs: int) -> float:
        """Work on a HIT of so many pairs, in HITs of `pairs_per_hit` pairs."""
        return self.source_share + (1 - self.source_share) * pairs / self.pairs_per_hit

    def pay(self, pairs: int) -> float | None:
        """Pay for a HIT of so many pairs, rounded up to whole cents."""
        return None if self.pay_per_hit is None else _ceil(self.pay_per_hit * self.work(pairs) * CENTS) / CENTS


@dataclass(frozen=True)
class Aim:
    """The interval to reach, and its limits.

    width           : upper less lower bound, in units of the measure, in (0, 1)
    level           : in (0, 1)
    available       : instances there are; None where their number is not known
    finite          : whether these are all that the study is about, and not a sample of more: their own spread then
                      stops mattering once all are rated (finite population correction)
    pilot_instances : instances that the variance was estimated from; None for a stated one
    raises          : UnknownValue for a width or level outside (0, 1), or a finite population of unknown size
    """

    width: float
    level: float = 0.95
    available: int | None = None
    finite: bool = False
    pilot_instances: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.width < 1:
            raise UnknownValue(f"the width of an interval within [0, 1] lies between 0 and 1, got {self.width:g}")
        check_level(self.level)
        if self.finite and self.available is None:
            raise UnknownValue("a finite population needs a known number of instances")

    @property
    def population(self) -> int | None:
        """Instances of the finite population. None without one."""
        return self.available if self.finite else None


@dataclass(frozen=True)
class Design:
    """A number of instances with N pairs and R raters each, and their work and cost. None if unknown.

    instances          : the least number whose interval is expected to be no wider than wanted; None (and so all that
                         follows from it) if a finite population has too few
    cautious_instances : the same for the upper 80 % limit of a pilot's variance; None without a pilot too
    width              : expected with so many instances; width_available: with all there are
    enough             : whether there are as many
    assignments        : raters' claims on the HITs, of which there is one an instance
    work               : of all raters, in HITs of the pairs that the pay is known for
    cost               : pay and judge cost together
    """

    pairs: int
    raters: int
    instances: int | None
    cautious_instances: int | None = None
    width: float | None = None
    width_available: float | None = None
    enough: bool | None = None
    assignments: int | None = None
    ratings: int | None = None
    work: float | None = None
    hours: float | None = None
    pay_per_hit: float | None = None
    pay: float | None = None
    judge_calls: int | None = None
    judge_cost: float | None = None
    cost: float | None = None


def expected_width(
    components: Components,
    *,
    pairs: int,
    raters: int,
    instances: int,
    level: float = 0.95,
    population: int | None = None,
) -> float:
    """Width of the normal interval of a mean over instances. The percentile bootstrap's is about the same.

    population : instances that there are at all; None for a sample of very many
    returns    : 2 z sqrt(v / n), with v the variance of one instance's mean, less n / population of its instance part
    raises     : NotEnough for fewer than two instances or more than the population; UnknownValue for a bad level
    source     : Cochran 1977, Sampling Techniques, chapter 10 (two stages, the first from a finite population)
    """
    if instances < MIN_INSTANCES or (population is not None and instances > population):
        raise NotEnough(f"an interval over {instances} instances of {population or 'many'} is not possible")
    sampled = 0.0 if population is None else instances / population
    variance = components.of_instance_mean(pairs, raters) - sampled * components.of_instances
    return 2 * _z(level) * math.sqrt(max(0.0, variance) / instances)


def instances_needed(
    components: Components,
    *,
    pairs: int,
    raters: int,
    width: float,
    level: float = 0.95,
    population: int | None = None,
) -> int | None:
    """Return the least number of instances, two at least, whose expected width is no more than `width`.

    returns : ceil((2 z / width)^2 v), see `expected_width`; None if a finite population has too few
    raises  : UnknownValue for a width that is not above 0 or a bad level
    source  : Cochran 1977, Sampling Techniques, chapter 4
    """
    if not 0 < width < math.inf:
        raise UnknownValue(f"the width of an interval is above 0, got {width:g}")
    allowed = (width / (2 * _z(level))) ** 2
    if population is not None:
        if population < MIN_INSTANCES:
            return None
        allowed += components.of_instances / population
    needed = max(MIN_INSTANCES, _ceil(components.of_instance_mean(pairs, raters) / allowed))
    return None if population is not None and needed > population else needed


def upper_limit(pilot_instances: int) -> float:
    """Factor from a pilot's variance to its upper 80 % confidence limit: a small pilot's variance is often too low.

    returns : (n - 1) / q with q the .2 quantile of chi-square with n - 1 degrees of freedom, as for normal
              instance means, by the cube-root approximation (within 1 % from 5 instances on)
    raises  : NotEnough for fewer than two instances
    source  : Browne 1995, On the use of a pilot sample for sample size determination, Statistics in Medicine 14;
              Wilson and Hilferty 1931 for the quantile
    """
    if pilot_instances < MIN_INSTANCES:
        raise NotEnough(f"a variance over instances needs two or more, got {pilot_instances}")
    spread = 2 / (9 * (pilot_instances - 1))
    return 1 / (1 - spread + NormalDist().inv_cdf(1 - CAUTIOUS_SHARE) * math.sqrt(spread)) ** 3


def designs(
    components: Mapping[int, Components], raters: Iterable[int], *, aim: Aim, rates: Prices | None = None
) -> list[Design]:
    """Work out one design for each number of pairs and of raters, in the order given.

    components : by number of pairs; the same for all where the model carries over, as for the win rate
    raises     : UnknownValue for a number of pairs or raters below 1
    """
    numbers, prices = list(raters), rates or Prices()
    return [_design(parts, pairs, r, aim, prices) for pairs, parts in components.items() for r in numbers]


def cheapest(found: Iterable[Design], *, here: bool = False) -> Design | None:
    """Return the design of least cost, or of least work if the cost is unknown. Of equal ones, that of fewest instances.

    here : only of those for which there are enough instances
    """
    possible = [design for design in found if design.instances is not None and (design.enough or not here)]
    return min(possible, key=_price, default=None)


def _price(design: Design) -> tuple[float, float, int, int]:
    work = design.work or 0.0
    return (work if design.cost is None else design.cost, work, design.instances or 0, design.ratings or 0)


def _design(components: Components, pairs: int, raters: int, aim: Aim, rates: Prices) -> Design:
    shape: dict[str, Any] = {"pairs": pairs, "raters": raters, "level": aim.level, "population": aim.population}
    n = instances_needed(components, width=aim.width, **shape)
    here = None
    if aim.available is not None and aim.available >= MIN_INSTANCES:
        here = expected_width(components, instances=aim.available, **shape)
    if n is None:
        return Design(pairs, raters, None, width_available=here, enough=False)
    cautious = None
    if aim.pilot_instances is not None:  # the upper limit of the variance: the same as a width narrower by its root
        narrower = aim.width / math.sqrt(upper_limit(aim.pilot_instances))
        cautious = instances_needed(components, width=narrower, **shape)
    assignments, pay_per_hit = n * raters, rates.pay(pairs)
    work = assignments * rates.work(pairs)
    pay = None if pay_per_hit is None else round(assignments * pay_per_hit, 2)
    calls = math.ceil(round(n * pairs * rates.judges * rates.orders * rates.calls_per_pair, 6))
    judge_cost = 0.0 if calls == 0 else None if rates.cost_per_call is None else round(calls * rates.cost_per_call, 2)
    return Design(
        pairs=pairs,
        raters=raters,
        instances=n,
        cautious_instances=cautious,
        width=expected_width(components, instances=n, **shape),
        width_available=here,
        enough=None if aim.available is None else n <= aim.available,
        assignments=assignments,
        ratings=assignments * pairs,
        work=work,
        hours=None if rates.minutes_per_hit is None else work * rates.minutes_per_hit / 60,
        pay_per_hit=pay_per_hit,
        pay=pay,
        judge_calls=calls,
        judge_cost=judge_cost,
        cost=None if pay is None or judge_cost is None else round(pay + judge_cost, 2),
    )


def _z(level: float) -> float:
    check_level(level)
    return NormalDist().inv_cdf((1 + level) / 2)


def _ceil(value: float) -> int:
    """Round up to a whole number, but ignore floating-point rounding."""
    return math.ceil(value * (1 - ROUNDING))
