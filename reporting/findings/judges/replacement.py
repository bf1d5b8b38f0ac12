"""May a judge stand in for people: tests per judge over all configurations, and win rates with the judge's help."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from analysis.grouping import count_groups
from analysis.intervals.jackknife import MIN_CLUSTERS
from analysis.judges.non_inferiority import NonInferiority, non_inferiority, non_inferiority_by_bin
from analysis.judges.prediction_powered import prediction_powered_win_rate, win_shares
from analysis.judges.replacement import (
    MIN_INSTANCES,
    MIN_PEOPLE,
    alternative_annotator_test,
)
from analysis.types import REFUSALS, BoolArray, FloatArray, Refusal
from annotation.core.reasons import Reason
from reporting.core.estimates import Basis, Estimate, IntervalSettings, estimate_with_bounds, number
from reporting.core.raters import Rater, without_baselines
from reporting.core.reasons import NOTHING_TO_MEASURE
from reporting.findings.data.inputs import ConfigurationData, Filters
from reporting.findings.data.separability_bins import Bins
from reporting.findings.data.vote_table import VoteTable
from reporting.findings.judges.judges_against_people import TIE_EQUALS_TIE
from reporting.findings.judges.verdicts import Family, JudgeTests, shown, verdict
from reporting.findings.reasons import CHANCES_UNKNOWN, NO_RATED, NO_SHARED_VOTES

TIE_IS_HALF = "a tie is half a win"
CHOSEN = ("top", "ids")  # kinds of selections that are no random draw


def replacement(
    everything: Sequence[ConfigurationData],
    votes: VoteTable,
    bins: Bins | None,
    filters: Filters,
    kappas: Mapping[str, Estimate],
    baselines: Collection[str] = (),
    not_shown: int = 0,
) -> list[dict[str, Any]]:
    """Return one object per judge: both tests, win rates per configuration, and the verdict.

    kappas    : of each judge with people, by its name as a rater
    baselines : judges that take no part of the level where there are others; they are tested as one of the others is
    not_shown : other judges that filters leave out, see `Family`
    """
    tests = {name: tests_of(judge, votes, bins, filters) for name, judge in votes.judges.items()}
    counted = [tests[name] for name in without_baselines(tests, baselines)]
    family = Family.of(counted, not_shown=not_shown, level=(1 - filters.intervals.level) / 2)
    return [_judge(name, everything, votes, bins, filters, kappas[name], tests[name], family) for name in votes.judges]


def tests_of(judge: FloatArray, votes: VoteTable, bins: Bins | None, filters: Filters) -> JudgeTests:
    """Test a judge against people, over all instances and in each bin."""
    inputs, settings = (judge, votes.votes, votes.cluster), filters.intervals
    intervals = {"level": settings.level, "two_way": settings.two_way, "horizon": settings.horizon}
    how: dict[str, Any] = {"margin": filters.epsilon, "group": votes.configuration, **intervals}
    listed = [] if bins is None else bins.listed()
    by_bin = non_inferiority_by_bin(*inputs, votes.bin, len(listed), **how) if listed else ()
    return JudgeTests(non_inferiority(*inputs, **how), by_bin)


def _judge(
    name: str,
    everything: Sequence[ConfigurationData],
    votes: VoteTable,
    bins: Bins | None,
    filters: Filters,
    kappa: Estimate,
    tests: JudgeTests,
    family: Family,
) -> dict[str, Any]:
    epsilon, settings = filters.epsilon, filters.intervals
    # The test holds at one look only: while votes come in it tests nobody.
    least = {} if settings.horizon is None else {"min_instances": votes.votes.n_units + 1}
    alternative = alternative_annotator_test(votes.judges[name], votes.votes, votes.cluster, epsilon=epsilon, **least)
    if least:
        alternative = replace(alternative, people=(), refusal=Refusal("collecting"))
    overall, listed = tests.overall, [] if bins is None else bins.listed()
    return {
        "judge": name.removeprefix("judge:"),
        "rater": name,
        "epsilon": epsilon,
        "alternative_annotator": {
            "epsilon": alternative.epsilon,
            "winning_rate": number(alternative.winning_rate),
            "passes": alternative.passes,
            "advantage": number(alternative.advantage),
            "tested": sum(person.tested for person in alternative.people),
            "min_instances": MIN_INSTANCES,
            "min_people": MIN_PEOPLE,
            "without_judge": alternative.without_judge,
            "curve": [
                {"epsilon": epsilon, "winning_rate": number(rate)}
                for epsilon, rate in zip(alternative.epsilons.tolist(), alternative.winning_rates.tolist(), strict=True)
            ],
            "people": [
                {
                    "rater": votes.people[person.person],
                    "n_instances": person.n_instances,
                    "tested": person.tested,
                    "judge_wins": person.judge_wins,
                    "person_wins": person.person_wins,
                    "p_value": number(person.p_value),
                    "adjusted": number(person.adjusted),
                    "rejected": person.rejected,
                }
                for person in alternative.people
            ],
            **_why(alternative.refusal),
        },
        "non_inferiority": {
            "overall": _non_inferiority(overall, shown(overall).needed, settings),
            "bins": [
                {**described, **_non_inferiority(bin_, shown(bin_, overall).needed, settings)}
                for described, bin_ in zip(listed, tests.bins, strict=True)
            ],
        },
        "prediction_powered": [
            _prediction_powered(data, rater, settings)
            for data in everything
            for rater in data.raters
            if rater.name == name
        ],
        "verdict": verdict(tests, [(bin_["low"], bin_["high"]) for bin_ in listed], alternative, kappa, family),
    }


def _non_inferiority(test: NonInferiority, needed: int | None, settings: IntervalSettings) -> dict[str, Any]:
    basis = Basis(test.n_votes, "ratings", TIE_EQUALS_TIE, test.without_judge, NO_SHARED_VOTES)

    def estimate(value: float, low: float, high: float) -> Estimate:
        return estimate_with_bounds(value, (low, high), basis, settings, test.n_instances, minimum=MIN_CLUSTERS)

    return {
        "difference": estimate(test.difference, test.low, test.high),
        "judge_agreement": number(test.judge_agreement),
        "people_agreement": number(test.people_agreement),
        "people_by_chance": number(test.people_by_chance),
        "people_above_chance": estimate(test.people_above_chance, test.above_chance.low, test.above_chance.high),
        "n_people": test.n_people,
        "passes": test.passes,
        "p_value": number(test.p_value),
        "needed": needed,
        **_why(test.refusal),
    }


def _prediction_powered(data: ConfigurationData, judge: Rater, settings: IntervalSettings) -> dict[str, Any]:
    """Return A's win rate from people's votes with the judge's help, and from people's votes alone.

    The judge's verdicts on instances on no HIT count among those that it judged only.
    """
    n = len(data.instance_ids)
    people, f = (
        win_shares(-item.rated.outcomes.verdict, item.rated.outcomes.instance, n) for item in (data.people, judge)
    )
    rated, kinds = ~np.isnan(people) & ~np.isnan(f), {row["kind"] for row in data.chosen}
    chances = _chances(data.people, n, rated if kinds == {"active"} else None)
    unknown = int(np.isnan(chances[rated]).sum())
    drawn_unequally = bool(kinds - set(CHOSEN))
    weighted = not unknown and bool(rated.any())
    apart = data.judged_only.get(judge.name)  # on instances that stand on no HIT
    codes = 0 if apart is None else apart.instance.max(initial=-1) + 1
    only = np.empty(0) if apart is None else win_shares(-apart.verdict, apart.instance, codes)
    clusters = data.clusters
    if clusters is not None:
        others = data.judged_only_clusters if len(only) else None
        clusters = np.append(clusters, np.empty(0, dtype=np.int64) if others is None else others[: len(only)])
    unrated = np.full(len(only), np.nan)
    level = settings.level_of(int(rated.sum()) if clusters is None else count_groups(clusters[:n][rated]))
    powered = prediction_powered_win_rate(
        np.append(np.where(rated, people, np.nan), unrated),
        np.append(f, only),
        probabilities=np.append(chances, unrated) if weighted else None,
        clusters=clusters,
        random_draw=not kinds & set(CHOSEN),
        level=level,
    )
    why = of_refusal(powered.refusal) if powered.refusal else None
    if drawn_unequally and unknown:
        why = why or CHANCES_UNKNOWN.with_values(n=unknown)
    left_out = int((~np.isnan(people)).sum()) - powered.n_rated

    def estimate(value: float, low: float, high: float, why: Reason) -> Estimate:
        basis = Basis(powered.n_rated, "instances", TIE_IS_HALF, left_out, why)
        estimate = estimate_with_bounds(value, (low, high), basis, settings, powered.n_clusters, minimum=MIN_CLUSTERS)
        return {**estimate, "n_instances": powered.n_rated}

    plain = powered.plain
    numbers = {"coefficient": powered.coefficient, "effective_n": powered.effective_n, "saved": powered.saved}
    return {
        **data.named,
        "win_rate_a": estimate(
            np.nan if why else powered.estimate, powered.low, powered.high, why or NOTHING_TO_MEASURE
        ),
        "plain": estimate(plain.estimate, plain.low, plain.high, NO_RATED),
        **{name: None if why else number(value) for name, value in numbers.items()},
        "n_rated": powered.n_rated,
        "n_judged": powered.n_judged,
        "weighted": weighted and bool(np.ptp(chances[rated])),
        **(why.as_json() if why else {}),
    }


def _chances(people: Rater, n_instances: int, after_random: BoolArray | None) -> FloatArray:
    """Return the recorded inclusion probability of each instance, or NaN where votes record none, or different ones.

    after_random : instances with a rating, where those that record none are a random draw and the others were drawn from the
                   rest. Each draw alone estimates the rate over all; both are joined in proportion to their instances.
    """
    rated = people.rated
    smallest, largest = np.full(n_instances, np.inf), np.full(n_instances, -np.inf)
    unknown = np.isnan(rated.chance)
    np.minimum.at(smallest, rated.outcomes.instance, np.where(unknown, -np.inf, rated.chance))
    np.maximum.at(largest, rated.outcomes.instance, np.where(unknown, np.inf, rated.chance))
    chances = np.where(smallest == largest, smallest, np.nan)
    if after_random is not None:
        drawn = after_random & ~np.isnan(chances)
        at_random = after_random & np.isnan(chances)
        in_both = at_random[rated.outcomes.instance] & ~unknown
        if drawn.any() and not in_both.any():
            chances[at_random] = 1 / np.mean(1 / chances[drawn])
    return chances


def _why(refusal: Refusal | None) -> dict[str, str]:
    return of_refusal(refusal).as_json() if refusal else {}


def of_refusal(refusal: Refusal) -> Reason:
    """Return the reason that a measure gives."""
    code = f"few_{refusal.what}" if refusal.needed else refusal.what
    return Reason(code, REFUSALS[refusal.what], {"found": refusal.found, "needed": refusal.needed})
