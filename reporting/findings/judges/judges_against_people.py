"""Agreement of judges with people, and of people with one another on the same pairs."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from analysis.agreement.coefficients import coincidences_of_counts, kappa_from_confusions, majority_of_counts
from analysis.agreement.leave_one_out import VoteShares, vote_shares
from analysis.grouping import count_groups
from analysis.intervals.analytic import ratio_spread, two_sided_p_value
from analysis.intervals.bootstrap import Statistic, cluster_sums, mean_rows
from analysis.intervals.multiple_testing import holm
from analysis.types import BoolArray, FloatArray, IntArray
from annotation.core.reasons import Reason
from reporting.core.estimates import Basis, Estimate, IntervalSettings, mean_estimate, number, share_estimate
from reporting.core.estimates import statistic_estimate as statistic
from reporting.findings.data.inputs import Filters
from reporting.findings.data.separability_bins import Bins
from reporting.findings.data.vote_table import VoteTable
from reporting.findings.pooled.pooled import agreement_of_counts
from reporting.findings.reasons import (
    NO_COMMON_VOTES,
    NO_MAJORITY,
    NO_SHARED_VOTES,
    NO_TWO_JUDGES,
    NO_VOTES_BESIDE_BOTH,
    NOT_BOTH_JUDGES,
)

TIE_EQUALS_TIE = "a tie agrees with a tie only"


def judges_against_people(votes: VoteTable, bins: Bins | None, filters: Filters) -> list[dict[str, Any]]:
    """Return per judge its agreement with people, and theirs with one another, over all pairs and in each bin."""
    results = []
    for name in votes.judges:
        compared = _Beside.of(votes, name)
        results.append(
            {
                "judge": name.removeprefix("judge:"),
                "rater": name,
                "overall": _table(compared, filters.intervals),
                "bins": [
                    {**described, **_table(compared.at(votes.bin == index), filters.intervals)}
                    for index, described in enumerate(described_bins(bins))
                ],
            }
        )
    return results


def agreement_by_bin(
    votes: VoteTable, judges: Sequence[Mapping[str, Any]], bins: Bins | None, filters: Filters
) -> list[dict[str, Any]] | None:
    """Return agreement and kappa with people in each bin, of people with one another and of each judge with them.

    judges : from `judges_against_people`
    """
    if bins is None:
        return None
    settings, people = filters.intervals, _Beside.of(votes, None)
    return [
        {
            **described,
            "raters": [
                {
                    "rater": "people",
                    "kind": "person",
                    "agreement": people.at(votes.bin == index).people_agreement(settings),
                    "kappa": people.at(votes.bin == index).people_kappa(settings),
                },
                *(
                    {
                        "rater": judge["rater"],
                        "kind": "judge",
                        "agreement": judge["bins"][index]["agreement"],
                        "kappa": judge["bins"][index]["kappa"],
                    }
                    for judge in judges
                ),
            ],
        }
        for index, described in enumerate(described_bins(bins))
    ]


def described_bins(bins: Bins | None) -> list[dict[str, Any]]:
    """Return edges and number of instances of each bin."""
    listed = [] if bins is None else bins.listed()
    return [{"low": number(low), "high": number(high), "instances": n} for low, high, n in listed]


def _table(compared: "_Beside", settings: IntervalSettings) -> dict[str, Any]:
    return {
        "agreement": compared.agreement(settings),
        "people_agreement": compared.people_agreement(settings),
        "kappa": compared.kappa(settings),
        "people_kappa": compared.people_kappa(settings),
        "kappa_difference": compared.kappa_difference(settings),
        "accuracy": compared.accuracy(settings),
        "majority_kappa": compared.majority_kappa(settings),
    }


@dataclass(frozen=True, eq=False)
class _Beside:
    """A judge's verdicts beside people's votes, or people's votes beside one another's. Verdicts and counts are directed.

    instance, cluster, verdict, majority : (n_units,); counts : (n_units, 3) votes for -1, 0, +1
    shares : of the votes beside others', where the judge has a verdict
    left_out : votes that stand alone on their pair, or without a verdict of the judge
    both_ways : `VoteTable.both_ways`
    """

    instance: IntArray
    cluster: IntArray
    verdict: FloatArray
    majority: FloatArray
    counts: FloatArray
    shares: VoteShares
    left_out: BoolArray
    both_ways: Callable[[FloatArray], list[FloatArray]]
    why: Reason

    @classmethod
    def of(cls, votes: VoteTable, judge: str | None) -> "_Beside":
        verdict = np.where(votes.is_rated, 0.0 if judge is None else votes.judges[judge], np.nan)
        counts = votes.directed(votes.class_counts.astype(np.float64))
        shares = vote_shares(verdict, votes.votes)
        return cls(
            instance=votes.instance,
            cluster=votes.cluster,
            verdict=verdict * votes.direction,
            majority=majority_of_counts(counts),
            counts=counts,
            shares=shares.at(shares.counted),
            left_out=np.isnan(verdict) | (counts.sum(axis=1) < 2),
            both_ways=votes.both_ways,
            why=NO_COMMON_VOTES if judge is None else NO_SHARED_VOTES,
        )

    def at(self, units: BoolArray) -> "_Beside":
        """Return some of the units with the votes on them."""
        shares = self.shares.at(units[self.shares.unit])
        columns = {
            name: getattr(self, name)[units]
            for name in ("instance", "cluster", "verdict", "majority", "counts", "left_out")
        }
        return replace(self, **columns, shares=replace(shares, unit=(np.cumsum(units) - 1)[shares.unit]))

    def agreement(self, settings: IntervalSettings) -> Estimate:
        """Share of votes that are the judge's verdict."""
        equal = mean_rows(self.shares.equal)
        return share_estimate(equal, self._instance_of_vote, self._votes, settings, rater=self.shares.who)

    def people_agreement(self, settings: IntervalSettings) -> Estimate:
        """Mean over the same votes of the share of the other people who gave the vote.

        Its interval is that of raw agreement, a share of the pairs of votes, and the same where all pairs have equally many.
        """
        pairs = (self.counts.sum(axis=1)[self.shares.unit] - 1) / 2
        weighted = mean_rows(self.shares.person) * (pairs.mean() if len(pairs) else 1.0)
        return share_estimate(weighted, self._instance_of_vote, self._votes, settings, rater=self.shares.who)

    def kappa(self, settings: IntervalSettings) -> Estimate:
        """Cohen's kappa of the judge with single people."""
        return self._statistic(self._confusions[:, 0], kappa_from_confusions, settings, ceiling=1.0)

    def people_kappa(self, settings: IntervalSettings) -> Estimate:
        """Cohen's kappa of people with one another, over the same votes."""
        return self._statistic(self._confusions[:, 1], kappa_from_confusions, settings, ceiling=1.0)

    def kappa_difference(self, settings: IntervalSettings) -> Estimate:
        """The first less the second."""
        return self._statistic(self._confusions, _kappa_difference, settings)

    def accuracy(self, settings: IntervalSettings) -> Estimate:
        """Share of pairs on which the judge gives the majority of people's votes."""
        equal = mean_rows((self.verdict == self.majority)[self._decided].astype(np.float64))
        return share_estimate(equal, self.instance[self._decided], self._majorities, settings)

    def majority_kappa(self, settings: IntervalSettings) -> Estimate:
        """Cohen's kappa of the judge with the majority."""
        rows = self._decided
        cells = _cells(self.cluster[rows], self.verdict[rows], self.majority[rows])
        instances = count_groups(self.instance[rows])
        sums = np.sum(self.both_ways(cells), axis=0)
        return statistic(sums, kappa_from_confusions, self._majorities, settings, instances=instances, ceiling=1.0)

    def _statistic(
        self, sums: FloatArray, of_sums: Statistic, settings: IntervalSettings, *, ceiling: float = math.inf
    ) -> Estimate:
        instances = count_groups(self.instance[~self.left_out])
        return statistic(sums, of_sums, self._votes, settings, instances=instances, ceiling=ceiling)

    @cached_property
    def _instance_of_vote(self) -> IntArray:
        return self.instance[self.shares.unit]

    @cached_property
    def _votes(self) -> Basis:
        left_out = int(self.counts[self.left_out].sum())
        return Basis(len(self.shares.unit), "ratings", TIE_EQUALS_TIE, left_out, self.why)

    @cached_property
    def _confusions(self) -> FloatArray:
        """(n_clusters, 2, 3, 3): judge by vote, and vote by the shares of the other people's votes."""
        counts, verdict = self.counts[~self.left_out], self.verdict[~self.left_out]
        judge = (verdict[:, np.newaxis] == (-1, 0, 1))[:, :, np.newaxis] * counts[:, np.newaxis, :]
        cells = [sum(self.both_ways(table)) for table in (judge, coincidences_of_counts(counts))]
        return cluster_sums(np.stack(cells, axis=1), self.cluster[~self.left_out])

    @cached_property
    def _decided(self) -> BoolArray:
        decided: BoolArray = ~np.isnan(self.verdict) & ~np.isnan(self.majority)
        return decided

    @cached_property
    def _majorities(self) -> Basis:
        judged, n = int((~np.isnan(self.verdict)).sum()), int(self._decided.sum())
        return Basis(n, "pairs with a majority", TIE_EQUALS_TIE, judged - n, NO_MAJORITY)


def _cells(cluster: IntArray, first: FloatArray, second: FloatArray) -> FloatArray:
    """(n_clusters, 3, 3) confusions of two columns without missing values, by cluster."""
    distinct, code = np.unique(cluster, return_inverse=True)
    cell = 9 * code + 3 * (first + 1).astype(np.int64) + (second + 1).astype(np.int64)
    return np.bincount(cell, minlength=9 * len(distinct)).reshape(-1, 3, 3).astype(np.float64)


def _kappa_difference(sums: FloatArray) -> FloatArray:
    kappas = kappa_from_confusions(sums)
    difference: FloatArray = kappas[..., 0] - kappas[..., 1]
    return difference


def judge_tests(votes: VoteTable, filters: Filters) -> list[dict[str, Any]]:
    """Return one test for every two judges of the difference between their agreement with people's votes.

    Intervals are not adjusted; `adjusted` p-values are, by Holm's method over the `of` pairs of judges tested.
    """
    people, settings = votes.votes, filters.intervals
    verdicts = {name: verdict[people.unit] for name, verdict in votes.judges.items()}
    equal = {name: np.where(np.isnan(item), np.nan, item == people.verdict) for name, item in verdicts.items()}
    rows_of_tests, p_values = [], []
    for first, second in combinations(equal, 2):
        gap = equal[first] - equal[second]
        is_known = ~np.isnan(gap)
        rows, instance, person = (
            mean_rows(gap[is_known]),
            votes.instance[people.unit[is_known]],
            people.person[is_known],
        )
        n = int(is_known.sum())
        basis = Basis(n, "ratings", TIE_EQUALS_TIE, len(gap) - n, NO_VOTES_BESIDE_BOTH)
        difference = mean_estimate(rows, instance, basis, settings, floor=-1.0, rater=person)
        spread = ratio_spread(rows, settings.cluster(instance), person if settings.two_way else None)
        p_values.append(settings.p_value_of(two_sided_p_value(spread), spread.clusters))
        rows_of_tests.append(
            {
                "judge_a": first.removeprefix("judge:"),
                "judge_b": second.removeprefix("judge:"),
                "difference": difference,
            }
        )
    adjusted, tested = holm(p_values), int((~np.isnan(p_values)).sum()) if p_values else 0
    return [
        {**test, "p_value": number(raw), "adjusted": number(held_values), "adjustment": "Holm", "of": tested}
        for test, raw, held_values in zip(rows_of_tests, p_values, adjusted.tolist(), strict=True)
    ]


def judge_agreement(
    votes: VoteTable,
    juries: Collection[str],
    baselines: Collection[str],
    settings: IntervalSettings,
) -> dict[str, Any]:
    """Return raw agreement and Krippendorff's alpha of judges `together`, with or without people, and the share of every two.

    Juries, whose verdicts are made of other judges', are left out; baselines too of those together, where there are models.
    `pairs` have verdicts of two or more of these, and on `different` of them, on `different_on` instances, they differ.
    """
    instance, named = votes.instance, {name.removeprefix("judge:"): own for name, own in votes.judges.items()}
    names = [name for name in named if name not in juries]
    table = np.array([named[name] for name in names]).reshape(len(names), len(instance)).T
    models = [name for name in names if name not in baselines]
    together = table[:, [names.index(name) for name in models or names]]
    counts = np.stack([(together == value).sum(axis=1) for value in (-1, 0, 1)], axis=1).astype(np.float64)
    shared = counts.sum(axis=1) > 1
    different = shared & (counts.max(axis=1) < counts.sum(axis=1))
    return {
        **agreement_of_counts(votes, counts, settings, of="pairs of verdicts", why=NO_TWO_JUDGES),
        "together": models or names,
        "pairs": int(shared.sum()),
        "different": int(different.sum()),
        "different_on": count_groups(instance[different]),
        "judges": [
            {
                "judge_a": names[item],
                "judge_b": names[second],
                "agreement": _of_two(table[:, item], table[:, second], instance, settings),
            }
            for item, second in combinations(range(len(names)), 2)
        ],
    }


def _of_two(first: np.ndarray, second: np.ndarray, instance: np.ndarray, settings: IntervalSettings) -> dict[str, Any]:
    both = ~np.isnan(first) & ~np.isnan(second)
    n = int(both.sum())
    alone = int((~np.isnan(first) | ~np.isnan(second)).sum()) - n
    equal = mean_rows((first[both] == second[both]).astype(np.float64))
    return share_estimate(equal, instance[both], Basis(n, "pairs", TIE_EQUALS_TIE, alone, NOT_BOTH_JUDGES), settings)
