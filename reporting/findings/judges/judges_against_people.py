"""Agreement of judges with people, and of people with one another on the same pairs."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from analysis.agreement.coefficients import VALUES, coincidences_of_counts, majority_of_counts
from analysis.agreement.confusion import kappa_from_confusions
from analysis.agreement.leave_one_out import VoteShares, vote_shares
from analysis.grouping import count_groups
from analysis.intervals.analytic import ratio_spread, two_sided_p_value
from analysis.intervals.bootstrap import cluster_sums, mean_rows, ratio
from analysis.intervals.multiple_testing import holm
from analysis.judges.calibration import BINS, calibration
from analysis.judges.juries import (
    JuryUnits,
    effective_members,
    error_sums,
    jury_verdicts,
    mean_error_correlation,
)
from analysis.types import BoolArray, FloatArray, IntArray
from annotation.core.reasons import Reason
from reporting.core.estimates import (
    Basis,
    Estimate,
    IntervalSettings,
    mean_estimate,
    number,
    share_estimate,
    statistic_estimate,
)
from reporting.core.raters import without_baselines
from reporting.findings.data.inputs import Filters, JuryMembers
from reporting.findings.data.separability_bins import Bins
from reporting.findings.data.vote_table import VoteTable
from reporting.findings.pooled.pooled import agreement_of_counts
from reporting.findings.reasons import (
    FEW_MEMBERS,
    NO_COMMON_VOTES,
    NO_ERRORS_TOGETHER,
    NO_MAJORITY,
    NO_NUMBER_OF_VOTES,
    NO_SHARED_VOTES,
    NO_TWO_JUDGES,
    NO_VOTES_BESIDE_BOTH,
    NO_VOTES_OF_BOTH_JURIES,
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
                "overall": compared.estimates(filters.intervals),
                "bins": [
                    {**described, **compared.at(votes.bin == index).estimates(filters.intervals)}
                    for index, described in enumerate([] if bins is None else bins.listed())
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
    results = []
    for index, described in enumerate(bins.listed()):
        own = people.at(votes.bin == index).estimates(settings)
        shown = {"agreement": own["people_agreement"], "kappa": own["people_kappa"]}
        raters = [{"rater": "people", "kind": "person", **shown}]
        for judge in judges:
            shown = {key: judge["bins"][index][key] for key in ("agreement", "kappa")}
            raters.append({"rater": judge["rater"], "kind": "judge", **shown})
        results.append({**described, "raters": raters})
    return results


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

    def estimates(self, settings: IntervalSettings) -> dict[str, Estimate]:
        """Return the share of votes that are the judge's verdict, that of other people's, kappas, and both with the majority.

        The interval of people's agreement is that of raw agreement, a share of the pairs of votes, and the same where all pairs
        have equally many.
        """
        shares, instance, who = self.shares, self.instance[self.shares.unit], self.shares.who
        basis = Basis(len(shares.unit), "ratings", TIE_EQUALS_TIE, int(self.counts[self.left_out].sum()), self.why)
        pairs = (self.counts.sum(axis=1)[shares.unit] - 1) / 2
        weighted = mean_rows(shares.person) * (pairs.mean() if len(pairs) else 1.0)
        kappas, n = self._confusions(), count_groups(self.instance[~self.left_out])
        is_judged = ~np.isnan(self.verdict)
        rows = is_judged & ~np.isnan(self.majority)
        decided, left_out = self.instance[rows], int(is_judged.sum() - rows.sum())
        majorities = Basis(len(decided), "pairs with a majority", TIE_EQUALS_TIE, left_out, NO_MAJORITY)
        equal = mean_rows((self.verdict == self.majority)[rows].astype(np.float64))
        distinct, code = np.unique(self.cluster[rows], return_inverse=True)
        cell = 9 * code + 3 * (self.verdict[rows] + 1).astype(np.int64) + (self.majority[rows] + 1).astype(np.int64)
        cells = self.both_ways(np.bincount(cell, minlength=9 * len(distinct)).reshape(-1, 3, 3).astype(np.float64))

        def kappa(sums: FloatArray, basis: Basis, instances: int) -> Estimate:
            return statistic_estimate(sums, kappa_from_confusions, basis, settings, instances=instances, ceiling=1.0)

        return {
            "agreement": share_estimate(mean_rows(shares.equal), instance, basis, settings, rater=who),
            "people_agreement": share_estimate(weighted, instance, basis, settings, rater=who),
            "kappa": kappa(kappas[:, 0], basis, n),
            "people_kappa": kappa(kappas[:, 1], basis, n),
            "kappa_difference": statistic_estimate(kappas, _kappa_difference, basis, settings, instances=n),
            "accuracy": share_estimate(equal, decided, majorities, settings),
            "majority_kappa": kappa(np.sum(cells, axis=0), majorities, count_groups(decided)),
        }

    def _confusions(self) -> FloatArray:
        """(n_clusters, 2, 3, 3): judge by vote, and vote by the shares of the other people's votes."""
        counts, verdict = self.counts[~self.left_out], self.verdict[~self.left_out]
        judge = (verdict[:, np.newaxis] == (-1, 0, 1))[:, :, np.newaxis] * counts[:, np.newaxis, :]
        cells = [sum(self.both_ways(table)) for table in (judge, coincidences_of_counts(counts))]
        return cluster_sums(np.stack(cells, axis=1), self.cluster[~self.left_out])


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
    counted = without_baselines(names, baselines)
    together = table[:, [names.index(name) for name in counted]]
    counts = np.stack([(together == value).sum(axis=1) for value in (-1, 0, 1)], axis=1).astype(np.float64)
    shared = counts.sum(axis=1) > 1
    different = shared & (counts.max(axis=1) < counts.sum(axis=1))
    return {
        **agreement_of_counts(votes, counts, settings, of="pairs of verdicts", why=NO_TWO_JUDGES),
        "together": counted,
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


def jury_findings(juries: Sequence[JuryMembers], votes: VoteTable, filters: Filters) -> list[dict[str, Any]]:
    """Return per jury its independent votes, and its agreement with people less that of the jury without each member.

    Computed on pairs with people's votes, of the members that have verdicts under these filters; `absent` are the others.
    """
    return [_jury(jury, votes, filters) for jury in juries]


def _jury(jury: JuryMembers, votes: VoteTable, filters: Filters) -> dict[str, Any]:
    members_with_verdicts = {
        name: verdicts for name in jury.members if (verdicts := votes.judges.get(f"judge:{name}")) is not None
    }
    members = [name for name, verdicts in members_with_verdicts.items() if not np.isnan(verdicts[votes.is_rated]).all()]
    description = {
        "judge": jury.name,
        "rater": f"judge:{jury.name}",
        "rule": jury.rule,
        "members": list(jury.members),
        "absent": [name for name in jury.members if name not in members],
    }
    if len(members) < 2:
        return {**description, **FEW_MEMBERS.as_json(), "voting": {}, "without": []}
    rated = votes.is_rated
    units = JuryUnits(
        np.stack([members_with_verdicts[name][rated] for name in members], axis=1),
        votes.class_counts[rated].astype(np.float64),
        votes.cluster[rated],
        votes.configuration[rated],
    )
    voting, pairs = np.unique((~np.isnan(units.votes)).sum(axis=1), return_counts=True)
    sums = error_sums(units)
    n = int(sums[:, range(len(sums[0])), range(len(sums[0])), 0].max(axis=1).sum()) if len(sums) else 0
    basis = Basis(n, "pairs with a majority", TIE_EQUALS_TIE, len(units.votes) - n, NO_ERRORS_TOGETHER)
    correlation = statistic_estimate(sums, mean_error_correlation, basis, filters.intervals, ceiling=1.0)
    return {
        **description,
        "voting": dict(zip(map(str, voting.tolist()), pairs.tolist(), strict=True)),
        "error_correlation": correlation,
        "effective_members": _effective(correlation, len(members)),
        "without": _without(units, votes.instance[rated], members, jury.rule, filters),
    }


def _effective(correlation: Estimate, members: int) -> Estimate:
    """Convert the correlation and its limits. The number falls as it rises."""
    value, low, high = (
        None if at is None else number(effective_members(at, members))
        for at in (correlation["value"], correlation["high"], correlation["low"])
    )
    why = {} if value is not None or "why" in correlation else NO_NUMBER_OF_VOTES.as_json()
    return {**correlation, "value": value, "low": low, "high": high, "members": members, **why}


def _without(
    units: JuryUnits, instance: IntArray, members: Sequence[str], rule: str, filters: Filters
) -> list[dict[str, Any]]:
    of_all = jury_verdicts(units, rule)
    results = []
    for index, name in enumerate(members):
        remaining = jury_verdicts(units.without(index), rule)
        both = ~np.isnan(of_all) & ~np.isnan(remaining)
        cast = units.people[both].sum(axis=1)
        gap = _equal(units.people[both], of_all[both]) - _equal(units.people[both], remaining[both])
        basis = Basis(
            int(cast.sum()), "ratings", TIE_EQUALS_TIE, int(units.people[~both].sum()), NO_VOTES_OF_BOTH_JURIES
        )
        rows = np.stack([gap, cast], axis=1)
        difference = mean_estimate(rows, instance[both], basis, filters.intervals, floor=-1.0)
        results.append(
            {"member": name, "difference": difference, "changes": int((of_all[both] != remaining[both]).sum())}
        )
    return results


def _equal(people: FloatArray, verdict: FloatArray) -> FloatArray:
    """(n,) people's votes that are the verdict."""
    equal_votes: FloatArray = np.where(verdict[:, np.newaxis] == VALUES, people, 0.0).sum(axis=1)
    return equal_votes


def judge_probabilities(votes: VoteTable, settings: IntervalSettings) -> list[dict[str, Any]]:
    """Return a row for each judge that has probabilities on pairs that people rated.

    `least` is the lowest score that probabilities of the pairs can have, since people differ on a pair.
    """
    results = []
    for name, probability in votes.probabilities.items():
        calibrated = calibration(probability, votes.class_counts)
        if not calibrated.used.any():
            continue
        instance, without = votes.instance[calibrated.used], np.isnan(probability) & ~np.isnan(votes.judges[name])

        def mean(rows: np.ndarray, instance: np.ndarray = instance, left_out: int = 0) -> Estimate:
            rule = "a tie is half a vote for each system"
            return mean_estimate(
                rows, instance, Basis(int(rows[:, 1].sum()), "ratings", rule, left_out, NO_COMMON_VOTES), settings
            )

        n, bins = calibrated.votes[:, 1], []
        for index in np.unique(calibrated.bin).tolist():
            is_in = calibrated.bin == index
            stated = float(ratio(np.stack([calibrated.stated * n, n], axis=1)[is_in].sum(axis=0)))
            edges = {"low": (BINS + index) / (2 * BINS), "high": (BINS + index + 1) / (2 * BINS)}
            bins.append({**edges, "probability": stated, "votes": mean(calibrated.votes[is_in], instance[is_in])})
        results.append(
            {
                "judge": name.removeprefix("judge:"),
                "rater": name,
                "brier": mean(calibrated.scores, left_out=int(votes.class_counts[without].sum())),
                "least": mean(calibrated.least),
                **{part: number(getattr(calibrated, part)) for part in ("reliability", "resolution", "uncertainty")},
                "bins": bins,
            }
        )
    return results
