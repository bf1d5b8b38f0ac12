"""How often sentences claim something where there is nothing: simulated studies through the rules of the sentences.

Each population is a kind of study in which its claims are wrong: equal systems, votes at random, votes that length has no part in,
consistency that separability has no part in, or a judge whose agreement with people is exactly ε below theirs with one another. It
is simulated with few instances and many, and with what could break a claim: several systems or judges, ties, votes that are
alike, missing votes, instances that share a source, unequal opponents, and looks while votes come in. Only what the sentence
rests on is computed. A cell has 200 studies where at most 2 % of them make the claim, 500 where at most 6 % do, else 2,000. Where it
stays above 6 %, it is marked, and the program ends with 1. Slow cells have fewer studies.

`CELL="10 looks" STUDIES=5000` simulates the cells whose line has the words, with exactly so many studies.
"""

import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from analysis.grouping import assign, equal_width_edges
from analysis.intervals.bootstrap import mean_rows
from analysis.judges.replacement import alternative_annotator_test
from analysis.types import FloatArray, IntArray, Outcomes
from annotation.studies.votes import RatedPairs
from reporting.core.estimates import Basis, IntervalSettings, mean_estimate
from reporting.core.raters import PEOPLE, Positions, Rater, rater
from reporting.core.text import JUDGE
from reporting.findings.answer import judges_alone
from reporting.findings.answer.answer import agreement, consistency_rises, headline_of
from reporting.findings.answer.planned import CLAIM_OF_RULE
from reporting.findings.answer.statements import length_rule, position_of_judges, side
from reporting.findings.data.inputs import (
    Compared,
    ComparedSystem,
    ConfigurationData,
    Filters,
    Pairs,
)
from reporting.findings.data.separability_bins import Bins, Separability
from reporting.findings.data.vote_table import VoteTable, vote_table
from reporting.findings.judges.biases import length_adjusted
from reporting.findings.judges.judges_against_people import judge_tests
from reporting.findings.judges.replacement import tests_of
from reporting.findings.judges.verdicts import MAY_REPLACE, Family, verdict
from reporting.findings.pooled.pooled import StudyScale, people_agreement, pooled_findings, pooled_positions
from reporting.findings.rankings.comparisons import comparisons_of_raters
from reporting.findings.rankings.ranking_models import bradley_terry_ranking, fit_strengths
from reporting.findings.rankings.rankings import rate_rankings

STUDIES = 500
STAGES = ((0.4, 0.02), (1, 0.06), (4, 0.06))  # times as many studies, and the share of claims at which they are enough
LEVEL = 0.05  # of tests between judges
MOST = 0.06  # share of studies that may make a claim
PAIRS, PEOPLE_EACH = 5, 3  # of an instance, on a pair
FILTERS = Filters()
EPSILON = FILTERS.epsilon
BINS = 5
FEW, MANY = (5, 8, 13, 26, 50), (20, 50)
LONGER = {"alike": 0.0, "B longer by 1 sd": 1.0, "B longer by 2 sd": 2.0}  # in standard deviations of the differences
LOOKS = 100
SOURCE = 3  # instances that share a source
Votes = FloatArray  # (n_instances, pairs, raters) of -1, 0, +1; NaN for none
Study = Callable[[np.random.Generator, int], set[str]]  # the claims that a study of so many instances makes


@dataclass(frozen=True)
class Population:
    """A kind of study in which claims are wrong; `study` simulates one. `source` instances are one of the number."""

    name: str
    claims: tuple[str, ...]
    study: Study
    numbers: tuple[int, ...]
    studies: int = STUDIES


def populations() -> Iterator[Population]:
    """All kinds of studies."""
    shapes: dict[str, dict[str, Any]] = {
        "one vote an instance": {"pairs": 1, "people": 1},
        "nine of ten votes are ties": {"ties": 0.9},
        "votes of an instance independent": {},
        "votes of an instance alike": {"alike": 0.5},
        "an instance has one winner for all": {"alike": 1.0, "ties": 0.0},
        "a third of the votes missing": {"alike": 0.5, "missing": 1 / 3},
        "three instances a source": {"alike": 0.5, "source": SOURCE},
    }
    for name, shape in shapes.items():
        yield Population(name, ("preferred", "position_bias of people"), partial(_preferred, **shape), FEW)
    for name in ("votes of an instance independent", "votes of an instance alike", "one vote an instance"):
        yield Population(f"{LOOKS} looks, {name}", ("preferred",), partial(_looked_at, **shapes[name]), (100,))
    for name in ("independent", "a third of the votes missing", "three instances a source"):
        shape = {key: value for key, value in shapes.get(name, {}).items() if key != "alike"}
        for systems, under in ((2, ""), (3, ", each two of 3 systems")):
            study = partial(_agree, systems=systems, **shape)
            yield Population(f"votes at random, {name}{under}", ("agreement_above_chance",), study, MANY)
        yield Population(
            f"separability without effect, {name.replace('votes', 'sets')}",
            ("rises",),
            partial(_rises, **shape),
            (20, 50, 100),
        )
    for number, numbers, studies in ((1, FEW, STUDIES), (5, (8, 50), STUDIES), (20, (13, 50), 200)):
        study = partial(_judges_alone, judges=number)
        claims = ("judge prefers", "position_bias")
        yield Population(f"any of {number} judges alone", claims, study, numbers, studies)
    for number in (1, 5):
        study = partial(_judges_first, judges=number)
        yield Population(f"3 systems, any of {number} judges alone", ("judge puts first",), study, (20, 50), 250)
    for number in (2, 5):
        study = partial(_agrees_more, judges=number)
        yield Population(f"any two of {number} equal judges", ("judge agrees more",), study, (5, 8, 20, 50))
    for systems, kind, shape in (
        (3, "each two", {}),
        (4, "each two", {}),
        (8, "each two", {}),
        (4, "one pair ten times as often", {"unequal": True}),
        (4, "three instances a source", {"source": SOURCE}),
    ):
        study = partial(_first, systems=systems, **shape)
        yield Population(f"{systems} systems, {kind}", ("first", "a place settled"), study, MANY)
    yield Population(
        "3 systems, 10 looks", ("first", "a place settled"), partial(_first, systems=3, looks=10), (50,), 200
    )
    for name, longer in LONGER.items():
        for number in (1, 4):
            study = partial(length_matters, longer=longer, number=number)
            yield Population(f"length without effect, {name}, {number} configurations", ("length",), study, MANY)
        for opponents, design in ((False, "each two of 4 systems"), (True, "one against 3 systems")):
            study = partial(_length_matters_to_systems, longer=longer, opponents=opponents)
            yield Population(f"length without effect, {name}, {design}", ("length",), study, MANY, 250)
    study = partial(length_matters, longer=1.0, number=1, source=SOURCE)
    yield Population("length without effect, three instances a source", ("length",), study, MANY)
    yield from _judged_populations()


def _judged_populations() -> Iterator[Population]:
    judges: dict[str, dict[str, Any]] = {
        "at ε": {"right": right_at_epsilon(0.8)},
        "at ε, all of an instance alike": {"right": right_at_epsilon(0.8), "whole": True},
        "at ε, all of an instance alike, people agree more": {
            "right": right_at_epsilon(0.95),
            "people": 0.95,
            "whole": True,
        },
        "at ε, people agree less": {"right": right_at_epsilon(0.65), "people": 0.65},
        "at ε, three instances a source": {"right": right_at_epsilon(0.8), "whole": True, "source": SOURCE},
        "at ε, a third of the votes missing": {"right": right_at_epsilon(0.8), "missing": 1 / 3},
        "at random, people too": {"right": 1 / 3, "people": 1 / 3},
    }
    for name, shares in judges.items():
        for binned in (False, True):
            under, worse = (
                (", in five bins", ("cannot replace", "cannot in a bin")) if binned else ("", ("cannot replace",))
            )
            claims = ("can replace", *(worse if "ε" in name else ()))
            numbers = (8, 20, 50) if binned else (5, 8, 13, 20, 50)
            yield Population(f"judge {name}{under}", claims, partial(_replaces, binned=binned, **shares), numbers)
    any_of = partial(_replaces, right=right_at_epsilon(0.8))
    for number, binned, studies in ((5, False, STUDIES), (5, True, 200), (20, False, 200), (20, True, 100)):
        under, study = ", in five bins" if binned else "", partial(any_of, judges=number, binned=binned)
        yield Population(f"any of {number} judges at ε{under}", ("can replace", "no judge can"), study, MANY, studies)
    at_looks = partial(any_of, looks=10)
    yield Population("judge at ε, 10 looks", ("can replace", "cannot replace"), at_looks, (50,))
    alternative = ("alternative annotator passes",)
    yield Population("judge at ε, person by person", alternative, _passes_alternative, (50,))


def right_at_epsilon(people: float) -> float:
    """How often a judge is right whose agreement with people is ε below theirs, if they are right so often.

    Wrong verdicts are either of two: the difference of agreements is (right - people) (3 people - 1) / 2.
    """
    return people - EPSILON / (1.5 * people - 0.5)


def _preferred(rng: np.random.Generator, n: int, **shape: Any) -> set[str]:
    """Return what is said of people's votes on two equal systems."""
    votes, filters, datas = _votes_on_two(rng, n, **shape)
    said = {headline_of(_rankings(datas, votes, filters)).rule}
    share = pooled_positions(datas, votes, filters.intervals)[0]
    return said | ({"position_bias of people"} if side(share) else set())


def _looked_at(rng: np.random.Generator, n: int, **shape: Any) -> set[str]:
    """Return whether the interval of the win rate leaves out one half at any look while votes on n instances come in, one by one."""
    rows, settings = (1 - _votes(rng, n, **shape).reshape(n, -1)) / 2, IntervalSettings(horizon=n // 2)
    for number in np.unique(np.linspace(5, n, LOOKS).astype(int)).tolist():
        values = rows[:number].ravel()
        instance = np.repeat(np.arange(number), rows.shape[1])
        rate = mean_estimate(mean_rows(values), instance, Basis(len(values), "verdicts", ""), settings, exact=True)
        if not rate["low"] <= 0.5 <= rate["high"]:
            return {"preferred"}
    return set()


def _agree(rng: np.random.Generator, n: int, *, systems: int, **shape: Any) -> set[str]:
    """Return what is said of the agreement of people who vote at random on each two systems, on the same instances."""
    datas = [
        configuration("data", pair, _votes(rng, n, ties=1 / 3, **shape), source=shape.get("source", 1))
        for pair in combinations(("one", "two", "three")[:systems], 2)
    ]
    votes = vote_table(datas)
    findings = {"pooled": {"people_agreement": people_agreement(votes, _filters(votes).intervals)}}
    return {statement.rule for statement in agreement(findings)}


def _rises(rng: np.random.Generator, n: int, **shape: Any) -> set[str]:
    """Return whether consistency is said to rise with separability, which has no part in it."""
    instances = n * shape.get("source", 1)
    own = np.repeat(rng.random((n, 1, 1)), shape.get("source", 1), axis=0)  # a source is easy, or it is not
    side_of_rater = rng.choice([-1.0, 1.0], size=(instances, 1, PEOPLE_EACH))
    verdicts = np.where(rng.random((instances, PAIRS, PEOPLE_EACH)) < own, side_of_rater, -side_of_rater)
    incomplete = rng.random((instances, 1, PEOPLE_EACH)) < shape.get("missing", 0.0)
    verdicts[:, :1][incomplete] = np.nan
    data = configuration("data", ("one", "two"), verdicts, source=shape.get("source", 1))
    scale = StudyScale((rng.random(instances),))
    votes = vote_table([data])
    filters = _filters(votes)
    pooled = pooled_findings([data], votes, scale, filters)
    configurations = [{"pairs": PAIRS * instances, "instances": instances}]
    return {statement.rule for statement in consistency_rises({"configurations": configurations, "pooled": pooled})}


def _judges_alone(rng: np.random.Generator, n: int, *, judges: int) -> set[str]:
    """Return what is said of judges that answer at random, if no person rated."""
    verdicts = [_votes(rng, n, people=1, alike=0.5)[:, :, 0] for _ in range(judges)]
    data = configuration("data", ("one", "two"), np.empty((n, PAIRS, 0)), verdicts)
    votes = vote_table([data])
    filters, names = _filters(votes), [name.removeprefix(JUDGE) for name in votes.judges]
    findings = {
        **_rankings([data], votes, filters),
        "pooled": {"preferred_first": pooled_positions([data], votes, filters.intervals)},
    }
    results = judges_alone.headline_of(findings, names).values["results"]
    said = {statement.rule for statement in position_of_judges(findings, names)}
    return said | {"judge prefers" for result in results if result["result"] == "prefers"}


def _judges_first(rng: np.random.Generator, n: int, *, judges: int) -> set[str]:
    """Return whether any judge that answers at random is said to put one of three systems first; n instances for each two."""
    datas = []
    for a, b in combinations(("one", "two", "three"), 2):
        verdicts = [_votes(rng, n, people=1, alike=0.5)[:, :, 0] for _ in range(judges)]
        datas.append(configuration(f"data {a} {b}", (a, b), np.empty((n, PAIRS, 0)), verdicts))
    votes = vote_table(datas)
    names = [name.removeprefix(JUDGE) for name in votes.judges]
    headline = judges_alone.headline_of(_rankings(datas, votes, _filters(votes)), names)
    return {"judge puts first" for result in headline.values["results"] if result["result"] == "first"}


def _agrees_more(rng: np.random.Generator, n: int, *, judges: int) -> set[str]:
    """Return whether any of judges that are right equally often, all of an instance alike, is said to agree more than another."""
    votes = vote_table([judged(rng, n, right=0.7, judges=judges, whole=True)])
    tests = judge_tests(votes, _filters(votes))
    return {"judge agrees more" for test in tests if test["adjusted"] is not None and test["adjusted"] < LEVEL}


def _first(
    rng: np.random.Generator, n: int, *, systems: int, unequal: bool = False, source: int = 1, looks: int = 1
) -> set[str]:
    """Return whether one of equal systems is said to be first, or any place to be settled; n instances for each two systems."""
    named = [f"system {number}" for number in range(systems)]
    all_votes = {
        pair: _votes(rng, n if at or not unequal else 10 * n, people=1, alike=0.5, source=source)
        for at, pair in enumerate(combinations(named, 2))
    }
    said = set()
    for number in np.linspace(10, n, looks).astype(int).tolist() if looks > 1 else [10 * n]:
        datas = [
            configuration(f"data {a} {b}", (a, b), votes[: number * source], source=source)
            for (a, b), votes in all_votes.items()
        ]
        votes = vote_table(datas)
        horizon = len(all_votes) * n // 2 if looks > 1 else None
        headline = headline_of(_rankings(datas, votes, replace(_filters(votes), horizon=horizon)))
        said |= {headline.rule} | {
            "a place settled" for _ in range(headline.values.get("settled", {}).get("places", 0))
        }
    return said


def length_matters(
    rng: np.random.Generator, n: int, *, longer: float, number: int, effect: float = 0.0, source: int = 1
) -> set[str]:
    """Return whether length is said to matter; `effect` is what a text longer by a standard deviation adds, in log-odds."""
    datas, instances = [], n * source
    for place in range(number):
        gap = longer + (rng.normal(size=(instances, 1)) + rng.normal(size=(instances, PAIRS))) / np.sqrt(2)
        odds = 1.0 + np.repeat(rng.normal(size=(n, 1, 1)), source, axis=0) + effect * np.tanh(gap)[:, :, np.newaxis]
        votes = np.where(rng.random((instances, PAIRS, PEOPLE_EACH)) < 1 / (1 + np.exp(-odds)), 1.0, -1.0)
        lengths = np.stack([np.full(gap.size, 1000.0), 1000 + 200 * gap.ravel()])
        datas.append(configuration(f"data {place}", ("one", "two"), votes, lengths=lengths, source=source))
    return _said_of_length(datas)


def _length_matters_to_systems(rng: np.random.Generator, n: int, *, longer: float, opponents: bool) -> set[str]:
    """Return the same with four systems on the same instances; `opponents`: the first, whose texts are longer, meets each other."""
    abilities = rng.normal(size=(4, n, 1, 1)) + np.array([1.0, 0, 0, 0]).reshape(4, 1, 1, 1)
    sizes = (rng.normal(size=(4, n, 1)) + rng.normal(size=(4, n, PAIRS))) / 2
    sizes[0] += longer
    datas = []
    for a, b in ((0, 1), (0, 2), (0, 3)) if opponents else combinations(range(4), 2):
        share = 1 / (1 + np.exp(abilities[a] - abilities[b]))
        votes = np.where(rng.random((n, PAIRS, PEOPLE_EACH)) < share, 1.0, -1.0)
        lengths = 1000 + 200 * np.stack([sizes[a].ravel(), sizes[b].ravel()])
        datas.append(configuration("data", (f"system {a}", f"system {b}"), votes, lengths=lengths))
    return _said_of_length(datas)


def _said_of_length(datas: Sequence[ConfigurationData]) -> set[str]:
    votes = vote_table(datas)
    said = length_rule({"length_adjusted": length_adjusted(datas, votes, _filters(votes))})
    return {CLAIM_OF_RULE.get(said[0], said[0])} if said else set()


def _rankings(datas: Sequence[ConfigurationData], votes: VoteTable, filters: Filters) -> dict[str, Any]:
    """Return the rankings that the headline rests on, and each rater's counts of verdicts."""
    rankings = []
    for comparisons in comparisons_of_raters(votes, StudyScale(), in_order=False):
        rankings += rate_rankings(comparisons, filters)[:1]
        if len(comparisons.names) > 2:
            rankings.append(bradley_terry_ranking(fit_strengths(comparisons, filters), filters))
    counts = [
        {
            "rater": own.name,
            "counts": {key: int((own.rated.outcomes.verdict == r).sum()) for key, r in VERDICTS.items()},
        }
        for data in datas
        for own in data.raters
    ]
    return {"rankings": rankings, "configurations": [{"raters": counts}]}


VERDICTS = {"a": -1, "tie": 0, "b": 1}


def _filters(votes: VoteTable) -> Filters:
    return replace(FILTERS, clusters=votes.clusters)


def _votes_on_two(rng: np.random.Generator, n: int, **shape: Any) -> tuple[VoteTable, Filters, list[ConfigurationData]]:
    data = configuration("data", ("one", "two"), _votes(rng, n, **shape), source=shape.get("source", 1))
    votes = vote_table([data])
    return votes, _filters(votes), [data]


def _votes(
    rng: np.random.Generator,
    n: int,
    *,
    pairs: int = PAIRS,
    people: int = PEOPLE_EACH,
    ties: float = 0.2,
    alike: float = 0.0,
    missing: float = 0.0,
    source: int = 1,
) -> Votes:
    """Vote on two equal systems; `alike` is the share of votes that follow the source, of so many instances."""
    shape = (n * source, pairs, people)
    of_source = np.repeat(rng.choice([-1.0, 1.0], size=(n, 1, 1)), source, axis=0)
    votes = np.where(rng.random(shape) < alike, of_source, rng.choice([-1.0, 1.0], shape))
    votes[rng.random(shape) < ties] = 0.0
    votes[rng.random(shape) < missing] = np.nan
    return votes


def _replaces(
    rng: np.random.Generator, n: int, *, binned: bool = False, looks: int = 1, source: int = 1, **shares: Any
) -> set[str]:
    """Return what is said of judges in place of people; `shares` as for `judged`."""
    data = judged(rng, n, source=source, **shares)
    separability = rng.random(n * source)
    edges = equal_width_edges(separability, BINS)
    bins = Bins(edges, assign(separability, edges)) if binned else None
    said: set[str] = set()
    votes = vote_table([data], bins)
    for number in np.linspace(5, n, looks).astype(int).tolist() if looks > 1 else [n]:
        filters = replace(_filters(votes), horizon=n // 2 if looks > 1 else None)
        seen = votes if looks == 1 else _part(votes, number)
        tests = {name: tests_of(judge, seen, bins, filters) for name, judge in seen.judges.items()}
        family = Family.of(tests.values(), level=(1 - filters.intervals.level) / 2)
        listed = [] if bins is None else [(bin_["low"], bin_["high"]) for bin_ in bins.listed()]
        none = alternative_annotator_test([], vote_table([]).votes, [])  # says nothing, as do the kappas
        verdicts = [verdict(test, listed, none, {"value": None, "low": None}, family) for test in tests.values()]
        rules = [found["rule"] for found in verdicts]
        if any(found["values"].get("next_bin", {}).get("status") == "worse" for found in verdicts):
            said.add("cannot in a bin")
        worse = {"cannot replace"} if len(rules) == 1 else {"no judge can"}
        said |= ({"can replace"} if set(rules) & set(MAY_REPLACE) else set()) | (
            worse if set(rules) == {"worse"} else set()
        )
    return said


def _part(votes: VoteTable, number: int) -> VoteTable:
    """Return the votes on the first instances."""
    rows = votes.instance[votes.unit] < number
    return replace(votes, person=votes.person[rows], unit=votes.unit[rows], verdict=votes.verdict[rows])


def _passes_alternative(rng: np.random.Generator, n: int) -> set[str]:
    votes = vote_table([judged(rng, n, right=right_at_epsilon(0.8))])
    (judge,) = votes.judges.values()
    test = alternative_annotator_test(judge, votes.votes, votes.cluster, epsilon=EPSILON)
    return {"alternative annotator passes"} if test.passes else set()


def judged(
    rng: np.random.Generator,
    n: int,
    *,
    right: float,
    people: float = 0.8,
    whole: bool = False,
    judges: int = 1,
    missing: float = 0.0,
    source: int = 1,
) -> ConfigurationData:
    """Simulate a study with judges; `right` and `people` are shares of right verdicts, of each judge and of people.

    whole : pairs of an instance, or of its source, have one truth, and a judge is right on all of them or on none
    """
    shape = (n * source, PAIRS)
    truth = np.repeat(rng.integers(3, size=(n, 1)), source, axis=0) if whole else rng.integers(3, size=shape)
    votes = _seen(rng, np.broadcast_to(truth[:, :, np.newaxis], (*shape, PEOPLE_EACH)), people)
    votes[rng.random(votes.shape) < missing] = np.nan
    own = truth[::source] if whole else truth
    verdicts = [
        np.broadcast_to(np.repeat(seen, source, axis=0) if whole else seen, shape)
        for seen in (_seen(rng, own, right) for _ in range(judges))
    ]
    return configuration("data", ("one", "two"), votes, verdicts, source=source)


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
    source: int = 1,
) -> ConfigurationData:
    """Make a configuration of people's votes, every person on every instance, and of each judge's verdicts (n, pairs).

    lengths : (2, n * pairs) of A's and B's texts; unknown when left out
    source  : instances that share a source
    """
    n, pairs, people = votes.shape
    none = np.full(n * pairs, np.nan)
    length_a, length_b = (none, none) if lengths is None else lengths
    return ConfigurationData(
        configuration=Compared(dataset, *(ComparedSystem(name) for name in systems)),
        instance_ids=tuple(f"{dataset}-{number:05}" for number in range(n)),
        pairs=Pairs(np.repeat(np.arange(n), pairs), np.tile(np.arange(pairs), n), length_a, length_b, none),
        # Codes of clusters are of the study: data sets have none in common.
        clusters=None if source == 1 else zlib.crc32(dataset.encode()) % 10_000 * 10_000 + np.arange(n) // source,
        separability=Separability(None, np.full(n, np.nan), None),
        people=_rater(PEOPLE, "person", votes, tuple(f"person {number}" for number in range(people))),
        judges=tuple(
            _rater(name, "judge", own[:, :, np.newaxis], (name,))
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


def claimed(population: Population, n: int, exactly: int = 0) -> tuple[int, Counter[str]]:
    """Simulate a cell; return the number of studies, and how many of them make each claim."""
    rng = np.random.default_rng([zlib.crc32(population.name.encode()), n])
    counts: Counter[str] = Counter()
    studies = 0
    for number, clear in (
        [(exactly, 0.0)] if exactly else [(times * population.studies, clear) for times, clear in STAGES]
    ):
        while studies < number:
            counts.update(population.study(rng, n))
            studies += 1
        if max(counts[claim] for claim in population.claims) <= clear * studies:
            break
    return studies, counts


def main() -> None:
    """Print the share of studies that claim something, by population and number of instances; exit with 1 for too many."""
    print("share of studies that claim what is not there")
    missed, words = 0, os.environ.get("CELL", "")
    for population in populations():
        for n in population.numbers:
            lines = {claim: f"{claim + ': ' + population.name:<80} {n:>3}" for claim in population.claims}
            if not any(words in line for line in lines.values()):
                continue
            studies, counts = claimed(population, n, int(os.environ.get("STUDIES", "0")))
            for claim, line in lines.items():
                share = counts[claim] / studies
                missed += share > MOST
                print(f"  {line} {studies:>5}  {share:.3f}{'  too many' * (share > MOST)}", flush=True)
    print(f"{missed} cells claim too often")
    if missed:
        raise SystemExit(1)
