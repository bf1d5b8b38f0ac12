"""How often the answer claims something where there is nothing: simulated studies through the rules of the sentences.

The claims are "X is preferred", "X is first of n systems", "a place is settled", "raters agree more than by chance", "length
matters", "the judge can replace a rater", and of judges without people "J preferred X" and "position bias".
Populations have equal systems, votes that length has no part in, or a judge whose agreement with people is exactly ε below
theirs with one another (or who answers at random). Of "length matters" at most 6 % may come out. Otherwise what may come out follows from the coverage that intervals of 95 % have to have (see `bench.coverage`): it is .93 from
20 instances, .91 from 8, .88 from 5. A preference may be for either side, so that all misses are claims; half of them are where
a claim has one side, as that a judge may replace people, be it over all instances or in some bins of separability. A cell with
more, by three standard errors of the simulation, is marked, and the program ends with 1.
"""

import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import django
import numpy as np

from analysis.intervals.bootstrap import mean_rows
from analysis.planning.bins import assign, equal_width_edges
from analysis.types import FloatArray, IntArray, Outcomes
from annotation.studies.rated_pairs import RatedPairs
from reporting.core.estimates import Basis, IntervalSettings, mean_estimate
from reporting.core.raters import PEOPLE, JudgeRater, Positions, Rater, rater
from reporting.findings.answer.lengths import length_rule
from reporting.findings.computing import compute_findings
from reporting.findings.data.inputs import (
    Compared,
    ComparedSystem,
    ConfigurationData,
    Filters,
    Pairs,
    Selected,
    StudyData,
)
from reporting.findings.data.separability_bins import Bins, Separability
from reporting.findings.judges.biases import length_adjusted
from reporting.findings.judges.replacement import replacement
from reporting.findings.judges.verdicts import MAY_REPLACE
from reporting.findings.pooled.vote_table import vote_table

STUDIES = 1_000
PAIRS, PEOPLE_EACH = 5, 3  # of an instance, on a pair
FILTERS = Filters()
EPSILON = FILTERS.epsilon
BINS = 5
LONGER = {"alike": 0.0, "B longer by 1 sd": 1.0, "B longer by 2 sd": 2.0}  # in standard deviations of the differences
LENGTH_CLAIMED = 0.06  # share of studies
LOOKS, LOOKED = 100, 0.05  # at a study, and the share of studies that may claim something at any of them
MISSED = {20: 0.07, 8: 0.09, 5: 0.12}  # share of intervals by the number of instances
Votes = FloatArray  # (n_instances, pairs, raters) of -1, 0, +1
Study = Callable[[np.random.Generator, int], bool]  # whether a study of so many instances claims something


@dataclass(frozen=True)
class Population:
    """A kind of study in which a claim is wrong; `study` simulates one, and `sides` is the number of ways to claim it."""

    name: str
    study: Study
    numbers: tuple[int, ...] = (5, 10, 20, 50)
    sides: int = 2
    most: float | None = None  # share of studies that may claim it; by the coverage of intervals when left out

    def allowed(self, n: int) -> float:
        """Share of studies that may claim it, with three standard errors of the simulation."""
        of_intervals = next(missed for least, missed in MISSED.items() if n >= least) * self.sides / 2
        share = of_intervals if self.most is None else self.most
        return share + 3 * float(np.sqrt(share * (1 - share) / STUDIES))


def populations() -> Iterator[Population]:
    """All kinds of studies."""
    yield Population("prefer: one vote an instance", partial(_prefers, pairs=1, people=1))
    yield Population("prefer: nine of ten votes are ties", partial(_prefers, ties=0.9))
    yield Population("prefer: votes of an instance independent", _prefers)
    yield Population("prefer: votes of an instance alike", partial(_prefers, alike=0.5))
    yield Population("prefer: an instance has one winner for all", partial(_prefers, alike=1.0, ties=0.0))
    for name, shares in {"independent": {}, "alike": {"alike": 0.5}, "one each": {"pairs": 1, "people": 1}}.items():
        looks = partial(_prefers_at_a_look, **shares)
        yield Population(f"prefer: at any of {LOOKS} looks, votes {name}", looks, (100,), most=LOOKED)
    yield Population(
        "agree: votes at random", partial(_prefers, ties=1 / 3, rule="agreement_above_chance"), (20, 50), sides=1
    )
    for number in (1, 5):
        name = f"any of {number} judges alone" if number > 1 else "a judge alone"
        yield Population(f"prefer: {name}", partial(_judge_prefers, judges=number))
        yield Population(f"position: {name}", partial(_judge_prefers, judges=number, position=True))
    for systems in (3, 4, 8):
        yield Population(f"first of {systems}: instances for each two", partial(_first, systems=systems), (8, 20, 50))
        yield Population(
            f"places of {systems}: the same", partial(_first, systems=systems, any_place=True), (8, 20, 50)
        )
    for name, longer in LONGER.items():
        for number in (1, 4):
            study = partial(_length_matters, longer=longer, number=number)
            yield Population(f"length: {name}, {number} configurations", study, (20, 50), most=LENGTH_CLAIMED)
        for opponents, design in ((False, "each two of 4 systems"), (True, "one against 3 systems")):
            study = partial(_length_matters_to_systems, longer=longer, opponents=opponents)
            yield Population(f"length: {name}, {design}", study, (20, 50), most=LENGTH_CLAIMED)
    judges: dict[str, dict[str, Any]] = {
        "at ε": {"right": right_at_epsilon(0.8)},
        "at ε, all of an instance alike": {"right": right_at_epsilon(0.8), "whole": True},
        "at ε, people agree less": {"right": right_at_epsilon(0.65), "people": 0.65},
        "at random": {"right": 1 / 3},
        "at random, people too": {"right": 1 / 3, "people": 1 / 3},
    }
    for name, shares in judges.items():
        for binned in (False, True):
            under = ", in five bins" if binned else ""
            yield Population(f"replace: {name}{under}", partial(_replaces, binned=binned, **shares), sides=1)
    for number in (5, 20):
        for binned in (False, True):
            any_of = partial(_replaces, binned=binned, right=right_at_epsilon(0.8), judges=number)
            under = ", in five bins" if binned else ""
            yield Population(f"replace: any of {number} judges at ε{under}", any_of, (20, 50), sides=1)


def right_at_epsilon(people: float) -> float:
    """How often a judge is right whose agreement with people is ε below theirs, if they are right so often.

    Wrong verdicts are either of two: the difference of agreements is (right - people) (3 people - 1) / 2.
    """
    return people - EPSILON / (1.5 * people - 0.5)


def _prefers(
    rng: np.random.Generator,
    n: int,
    *,
    pairs: int = PAIRS,
    people: int = PEOPLE_EACH,
    ties: float = 0.2,
    alike: float = 0.0,
    rule: str = "preferred",
) -> bool:
    """Whether people are said to prefer one of two equal systems; `alike` is the share of votes that follow the instance."""
    votes = _votes(rng, n, pairs, people, ties, alike)
    return any(sentence["rule"] == rule for sentence in _answer([configuration("data", ("one", "two"), votes)]))


def _prefers_at_a_look(
    rng: np.random.Generator, n: int, *, pairs: int = PAIRS, people: int = PEOPLE_EACH, alike: float = 0.0
) -> bool:
    """Whether the interval of the win rate leaves out one half at any look while votes on n instances come in, one by one."""
    rows, settings = (
        (1 - _votes(rng, n, pairs, people, 0.2, alike).reshape(n, -1)) / 2,
        IntervalSettings(horizon=n // 2),
    )
    for number in np.unique(np.linspace(5, n, LOOKS).astype(int)).tolist():
        values = rows[:number].ravel()
        instance = np.repeat(np.arange(number), rows.shape[1])
        rate = mean_estimate(mean_rows(values), instance, Basis(len(values), "verdicts", ""), settings)
        if not rate["low"] <= 0.5 <= rate["high"]:
            return True
    return False


def _judge_prefers(rng: np.random.Generator, n: int, *, judges: int, position: bool = False) -> bool:
    """Whether any judge that answers at random is said to prefer a system, or the text shown first."""
    verdicts = [_votes(rng, n, PAIRS, 1, 0.2, 0.5)[:, :, 0] for _ in range(judges)]
    headline, *statements = _answer([configuration("data", ("one", "two"), np.empty((n, PAIRS, 0)), verdicts)])
    if position:
        return any(statement["rule"] == "position_bias" for statement in statements)
    return any(result["result"] == "prefers" for result in headline["values"]["results"])


def _first(rng: np.random.Generator, n: int, *, systems: int, any_place: bool = False) -> bool:
    """Whether one of equal systems is said to be first, or any place to be settled; n instances for each two systems."""
    named = [f"system {number}" for number in range(systems)]
    datas = [
        configuration(f"data {a} {b}", (a, b), _votes(rng, n, PAIRS, 1, 0.2, 0.5)) for a, b in combinations(named, 2)
    ]
    headline = _answer(datas)[0]
    if any_place:
        return "settled" in headline["values"] and headline["values"]["settled"]["places"] > 0
    return bool(headline["rule"] == "first")


def _length_matters(rng: np.random.Generator, n: int, *, longer: float, number: int, effect: float = 0.0) -> bool:
    """Whether length is said to matter; `effect` is what a text longer by a standard deviation adds, in log-odds."""
    datas = []
    for place in range(number):
        gap = longer + (rng.normal(size=(n, 1)) + rng.normal(size=(n, PAIRS))) / np.sqrt(2)
        odds = 1.0 + rng.normal(size=(n, 1, 1)) + effect * np.tanh(gap)[:, :, np.newaxis]
        votes = np.where(rng.random((n, PAIRS, PEOPLE_EACH)) < 1 / (1 + np.exp(-odds)), 1.0, -1.0)
        lengths = np.stack([np.full(gap.size, 1000.0), 1000 + 200 * gap.ravel()])
        datas.append(configuration(f"data {place}", ("one", "two"), votes, lengths=lengths))
    return _says_that_length_matters(datas)


def _length_matters_to_systems(rng: np.random.Generator, n: int, *, longer: float, opponents: bool) -> bool:
    """The same with four systems on the same instances; `opponents`: the first, whose texts are longer, meets each other."""
    abilities = rng.normal(size=(4, n, 1, 1)) + np.array([1.0, 0, 0, 0]).reshape(4, 1, 1, 1)
    sizes = (rng.normal(size=(4, n, 1)) + rng.normal(size=(4, n, PAIRS))) / 2
    sizes[0] += longer
    datas = []
    for a, b in ((0, 1), (0, 2), (0, 3)) if opponents else combinations(range(4), 2):
        share = 1 / (1 + np.exp(abilities[a] - abilities[b]))
        votes = np.where(rng.random((n, PAIRS, PEOPLE_EACH)) < share, 1.0, -1.0)
        lengths = 1000 + 200 * np.stack([sizes[a].ravel(), sizes[b].ravel()])
        datas.append(configuration("data", (f"system {a}", f"system {b}"), votes, lengths=lengths))
    return _says_that_length_matters(datas)


def _says_that_length_matters(datas: Sequence[ConfigurationData]) -> bool:
    said = length_rule({"length_adjusted": length_adjusted(datas, vote_table(datas), FILTERS)})
    return said is not None and said[0] != "length_apart"


def _answer(datas: Sequence[ConfigurationData]) -> list[dict[str, Any]]:
    """Return the sentences of the answer of a study."""
    study = StudyData("simulated", tuple(datas), None, frozenset(), {}, [])
    sentences: list[dict[str, Any]] = compute_findings(study, FILTERS)["answer"]
    return sentences


def _votes(rng: np.random.Generator, n: int, pairs: int, people: int, ties: float, alike: float) -> Votes:
    shape = (n, pairs, people)
    side = np.where(rng.random(shape) < alike, rng.choice([-1.0, 1.0], size=(n, 1, 1)), rng.choice([-1.0, 1.0], shape))
    return np.where(rng.random(shape) < ties, 0.0, side)


def _replaces(rng: np.random.Generator, n: int, *, binned: bool = False, **shares: Any) -> bool:
    """Whether any judge is said to be able to replace people; `shares` as for `judged`."""
    data = judged(rng, n, **shares)
    separability = rng.random(n)
    edges = equal_width_edges(separability, BINS)
    bins = Bins(edges, assign(separability, edges)) if binned else None
    votes = vote_table([data], bins)
    kappas = {name: {"value": None, "low": None} for name in votes.judges}  # only the words depend on them
    found = replacement([data], votes, bins, FILTERS, kappas)
    return any(judge["verdict"]["rule"] in MAY_REPLACE for judge in found)


def judged(
    rng: np.random.Generator, n: int, *, right: float, people: float = 0.8, whole: bool = False, judges: int = 1
) -> ConfigurationData:
    """Simulate a study with judges; `right` and `people` are shares of right verdicts, of each judge and of people.

    whole : pairs of an instance have one truth, and a judge is right on all of them or on none
    """
    truth = np.broadcast_to(rng.integers(3, size=(n, 1 if whole else PAIRS)), (n, PAIRS))
    votes = _seen(rng, np.repeat(truth[:, :, np.newaxis], PEOPLE_EACH, axis=2), people)
    judged_truth = truth[:, :1] if whole else truth
    verdicts = [np.broadcast_to(_seen(rng, judged_truth, right), (n, PAIRS)) for _ in range(judges)]
    return configuration("data", ("one", "two"), votes, verdicts)


def _seen(rng: np.random.Generator, truth: IntArray, right: float) -> FloatArray:
    """Verdicts that are right so often, and otherwise either of the two others."""
    wrong = (truth + rng.integers(1, 3, size=truth.shape)) % 3
    return np.where(rng.random(truth.shape) < right, truth, wrong) - 1.0


def configuration(
    dataset: str,
    systems: tuple[str, str],
    votes: Votes,
    verdicts: Sequence[FloatArray] = (),
    *,
    lengths: FloatArray | None = None,
) -> ConfigurationData:
    """Make a configuration of people's votes, every person on every instance, and of each judge's verdicts (n, pairs).

    lengths : (2, n * pairs) of A's and B's texts; unknown when left out
    """
    n, pairs, people = votes.shape
    none = np.full(n * pairs, np.nan)
    length_a, length_b = (none, none) if lengths is None else lengths
    return ConfigurationData(
        configuration=Compared(dataset, *(ComparedSystem(name) for name in systems)),
        selection=Selected(
            tuple(f"{dataset}-{number:05}" for number in range(n)),
            Pairs(np.repeat(np.arange(n), pairs), np.tile(np.arange(pairs), n), length_a, length_b, none),
        ),
        separability=Separability(None, np.full(n, np.nan), None),
        people=_rater(PEOPLE, "person", votes, tuple(f"person {number}" for number in range(people))),
        judges=tuple(
            JudgeRater(_rater(name, "judge", own[:, :, np.newaxis], (name,)), {})
            for name, own in ((f"judge:{number}", own) for number, own in enumerate(verdicts))
        ),
        chosen=[],
    )


def _rater(name: str, kind: str, votes: Votes, codes: tuple[str, ...]) -> Rater:
    instance, pair, who = (axis.ravel() for axis in np.indices(votes.shape))
    zeros, unknown = np.zeros(votes.size, dtype=np.int64), np.full(votes.size, np.nan)
    outcomes = Outcomes(instance, pair, zeros, zeros + 1, votes.ravel(), who)
    rated = RatedPairs(outcomes, zeros == 0, codes, unknown, unknown, unknown, unknown, zeros)
    return rater(name, kind, rated, Positions(instance, outcomes.verdict, who), {})


def claimed(place: tuple[int, int]) -> tuple[int, int, float]:
    """Simulate the cell of a population by its place; populations themselves can't be sent to a process."""
    at, n = place
    population = list(populations())[at]
    rng = np.random.default_rng([zlib.crc32(population.name.encode()), n])
    return at, n, sum(population.study(rng, n) for _ in range(STUDIES)) / STUDIES


def main() -> None:
    """Print the share of studies that claim something, by population and number of instances; exit with 1 for too many."""
    django.setup()
    known = list(populations())
    print(f"share of {STUDIES:,} studies whose answer claims what is not there")
    missed = 0
    with ProcessPoolExecutor(initializer=os.nice, initargs=(10,)) as pool:
        places = [(at, n) for at, one in enumerate(known) for n in one.numbers]
        for at, n, share in pool.map(claimed, places):
            too_many = share > known[at].allowed(n)
            missed += too_many
            print(f"  {known[at].name:<52} {n:>3}  {share:.3f}{'  too many' * too_many}", flush=True)
    print(f"{missed} of {len(places)} cells claim too often")
    if missed:
        raise SystemExit(1)
