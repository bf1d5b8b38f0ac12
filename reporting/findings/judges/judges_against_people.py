"""How far judges agree with people, and beside it, on the same pairs, people with one another; overall and by separability."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.agreement.coefficients import coincidences_of_counts, kappa_from_confusions, majority_of_counts
from analysis.agreement.leave_one_out import VoteShares, vote_shares
from analysis.intervals.bootstrap import cluster_sums, mean_rows
from analysis.types import BoolArray, FloatArray, IntArray
from annotation.core.reasons import Reason
from reporting.core.estimates import Basis, Estimate, IntervalSettings, mean_estimate, number, share_estimate
from reporting.core.estimates import statistic_estimate as statistic
from reporting.findings.data.inputs import Filters
from reporting.findings.data.separability_bins import Bins
from reporting.findings.pooled.vote_table import VoteTable
from reporting.findings.reasons import NO_COMMON_VOTES, NO_MAJORITY, NO_SHARED_VOTES

TIE_EQUALS_TIE = "a tie agrees with a tie only"


def judges_against_people(votes: VoteTable, bins: Bins | None, filters: Filters) -> list[dict[str, Any]]:
    """Return per judge its agreement with people, and theirs with one another, over all pairs and in each bin."""
    found = []
    for name in votes.judges:
        beside = _Beside.of(votes, name)
        found.append(
            {
                "judge": name.removeprefix("judge:"),
                "rater": name,
                "overall": _table(beside, None, filters.intervals),
                "bins": [
                    {**described, **_table(beside, votes.bin == index, filters.intervals)}
                    for index, described in enumerate(described_bins(bins))
                ],
            }
        )
    return found


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
                    "agreement": people.people_agreement(votes.bin == index, settings),
                    "kappa": people.kappa(votes.bin == index, people.confusions(votes.bin == index)[:, 1], settings),
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


def _table(beside: "_Beside", units: BoolArray | None, settings: IntervalSettings) -> dict[str, Any]:
    chosen = np.ones(len(beside.instance), dtype=bool) if units is None else units
    confusions = beside.confusions(chosen)
    return {
        "agreement": beside.agreement(chosen, settings),
        "people_agreement": beside.people_agreement(chosen, settings),
        "difference": beside.difference(chosen, settings),
        "kappa": beside.kappa(chosen, confusions[:, 0], settings),
        "people_kappa": beside.kappa(chosen, confusions[:, 1], settings),
        "kappa_difference": beside.kappa_difference(chosen, confusions, settings),
        "accuracy": beside.accuracy(chosen, settings),
        "majority_kappa": beside.majority_kappa(chosen, settings),
    }


@dataclass(frozen=True, eq=False)
class _Beside:
    """A judge's verdicts beside people's votes; without a judge, people's votes beside one another's.

    instance, verdict, majority : (n_units,); counts : (n_units, 3) votes for -1, 0, +1
    shares : of the votes beside others', where the judge has a verdict
    left_out : votes that stand alone on their pair, or without a verdict of the judge
    """

    instance: IntArray
    verdict: FloatArray
    majority: FloatArray
    counts: FloatArray
    shares: VoteShares
    left_out: BoolArray
    why: Reason

    @classmethod
    def of(cls, votes: VoteTable, judge: str | None) -> "_Beside":
        verdict = np.where(votes.is_rated, 0.0 if judge is None else votes.judges[judge], np.nan)
        counts = votes.class_counts.astype(np.float64)
        shares = vote_shares(verdict, votes.votes)
        return cls(
            instance=votes.instance,
            verdict=verdict,
            majority=majority_of_counts(counts),
            counts=counts,
            shares=shares.at(shares.counted),
            left_out=np.isnan(verdict) | (counts.sum(axis=1) < 2),
            why=NO_COMMON_VOTES if judge is None else NO_SHARED_VOTES,
        )

    def agreement(self, units: BoolArray, settings: IntervalSettings) -> Estimate:
        """Share of votes that are the judge's verdict."""
        rows, instance, who, basis = self._votes(units)
        return share_estimate(mean_rows(self.shares.equal[rows]), instance, basis, settings, rater=who)

    def people_agreement(self, units: BoolArray, settings: IntervalSettings) -> Estimate:
        """Mean over the same votes of the share of the other people who gave the vote.

        Its interval is that of raw agreement, a share of the pairs of votes, and the same where all pairs have equally many.
        """
        rows, instance, who, basis = self._votes(units)
        pairs = (self.counts.sum(axis=1)[self.shares.unit[rows]] - 1) / 2
        weighted = mean_rows(self.shares.person[rows]) * (pairs.mean() if len(pairs) else 1.0)
        return share_estimate(weighted, instance, basis, settings, rater=who)

    def difference(self, units: BoolArray, settings: IntervalSettings) -> Estimate:
        """The first less the second, paired by vote."""
        rows, instance, who, basis = self._votes(units)
        gap = mean_rows(self.shares.equal[rows] - self.shares.person[rows])
        return mean_estimate(gap, instance, basis, settings, floor=-1.0, rater=who)

    def kappa(self, units: BoolArray, confusions: FloatArray, settings: IntervalSettings) -> Estimate:
        """Cohen's kappa over the same votes."""
        return statistic(confusions, kappa_from_confusions, self._votes(units)[3], settings, ceiling=1.0)

    def kappa_difference(self, units: BoolArray, confusions: FloatArray, settings: IntervalSettings) -> Estimate:
        """The judge's kappa with single people less that of people with one another."""
        return statistic(confusions, _kappa_difference, self._votes(units)[3], settings)

    def accuracy(self, units: BoolArray, settings: IntervalSettings) -> Estimate:
        """Share of pairs on which the judge gives the majority of people's votes."""
        equal = mean_rows((self.verdict == self.majority)[self._decided(units)].astype(np.float64))
        return share_estimate(equal, self.instance[self._decided(units)], self._majorities(units), settings)

    def majority_kappa(self, units: BoolArray, settings: IntervalSettings) -> Estimate:
        """Cohen's kappa of the judge with the majority."""
        rows = self._decided(units)
        cells = _cells(self.instance[rows], self.verdict[rows], self.majority[rows])
        return statistic(cells, kappa_from_confusions, self._majorities(units), settings, ceiling=1.0)

    def _votes(self, units: BoolArray) -> tuple[BoolArray, IntArray, IntArray, Basis]:
        rows = units[self.shares.unit]
        left_out = int(self.counts[units & self.left_out].sum())
        basis = Basis(int(rows.sum()), "ratings", TIE_EQUALS_TIE, left_out, self.why)
        return rows, self.instance[self.shares.unit[rows]], self.shares.who[rows], basis

    def confusions(self, units: BoolArray) -> FloatArray:
        """(n_instances, 2, 3, 3): judge by vote, and vote by the shares of the other people's votes."""
        chosen = units & ~self.left_out
        counts, verdict = self.counts[chosen], self.verdict[chosen]
        judge = (verdict[:, np.newaxis] == (-1, 0, 1))[:, :, np.newaxis] * counts[:, np.newaxis, :]
        return cluster_sums(np.stack([judge, coincidences_of_counts(counts)], axis=1), self.instance[chosen])

    def _decided(self, units: BoolArray) -> BoolArray:
        decided: BoolArray = units & ~np.isnan(self.verdict) & ~np.isnan(self.majority)
        return decided

    def _majorities(self, units: BoolArray) -> Basis:
        judged, n = int((units & ~np.isnan(self.verdict)).sum()), int(self._decided(units).sum())
        return Basis(n, "pairs with a majority", TIE_EQUALS_TIE, judged - n, NO_MAJORITY)


def _cells(instance: IntArray, one: FloatArray, other: FloatArray) -> FloatArray:
    """(n_instances, 3, 3) confusions of two columns without missing values, by instance."""
    known, code = np.unique(instance, return_inverse=True)
    place = 9 * code + 3 * (one + 1).astype(np.int64) + (other + 1).astype(np.int64)
    return np.bincount(place, minlength=9 * len(known)).reshape(-1, 3, 3).astype(np.float64)


def _kappa_difference(sums: FloatArray) -> FloatArray:
    kappas = kappa_from_confusions(sums)
    difference: FloatArray = kappas[..., 0] - kappas[..., 1]
    return difference
