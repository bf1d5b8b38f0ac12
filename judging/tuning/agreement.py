"""Agreement of a candidate with people at each threshold of ties, beside people's own."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from analysis.agreement.coefficients import VALUES
from analysis.agreement.leave_one_out import leave_one_out_sums
from analysis.intervals.analytic import mean_interval, ratio_spread
from analysis.judges.juries import vote_counts
from analysis.types import FloatArray, IntArray
from annotation.models import Pair
from judging.core.proportions import LEVEL, mean_proportion, number, proportion
from judging.methods.base import clearness
from judging.models import Judge, JudgeRun, Judgment
from judging.outcomes.presented import NO_VERDICT_CODE, PARSED_CODE, Presented, one_verdict_each
from judging.review.comparing import vote_table
from judging.tuning.candidates import THRESHOLDS

Votes = Mapping[int, Sequence[int]]
FIELDS = ("pair_id", "order", "verdict", "p_b", "score_a", "score_b")


def verdicts_at(run: JudgeRun, pairs: IntArray, threshold: float) -> FloatArray:
    """Return a run's verdict on each pair, unclear ones taken for ties, or NaN where there is none.

    pairs : (n,) primary keys, ascending
    """
    rows = run.judgments.for_question(run.questions[0]).filter(status=Judgment.Status.PARSED)
    stored = {(pair, order): statement for pair, order, *statement in rows.values_list(*FIELDS)}
    keys = [(pair, order) for pair in pairs.tolist() for order in ("ab", "ba") if (pair, order) in stored]
    stored_verdicts = [stored[key] for key in keys]
    clear = [clearness(p_b, *scores) for _verdict, p_b, *scores in stored_verdicts]
    verdict = [
        0.0 if at is not None and at < threshold else float(item[0])
        for item, at in zip(stored_verdicts, clear, strict=True)
    ]
    presented = Presented(
        np.array([pair for pair, _ in keys], dtype=np.int64),
        np.array([order == "ab" for _, order in keys], dtype=bool),
        np.array([PARSED_CODE if item is not None else NO_VERDICT_CODE for item in verdict], dtype=np.int64),
        np.array(verdict, dtype=np.float64),
        np.array([np.nan if item[1] is None else item[1] for item in stored_verdicts], dtype=np.float64),
    )
    verdicts = np.full(len(pairs), np.nan)
    if keys:
        verdicts[np.searchsorted(pairs, presented.pair[presented.begins()])] = one_verdict_each(presented, run.judge)
    return verdicts


def thresholds_of(run: JudgeRun) -> tuple[float, ...]:
    """Return the thresholds to try: none but 0 where verdicts don't tell how clear they are, or averages decide."""
    parsed = run.judgments.for_question(run.questions[0]).filter(status=Judgment.Status.PARSED)
    if run.judge.combine == Judge.Combine.PROBABILITY:
        return (0.0,)
    if parsed.exclude(p_b=None).exists():
        return THRESHOLDS["share"]
    return THRESHOLDS["points"] if parsed.exclude(score_a=None).exists() else (0.0,)


def best_threshold(run: JudgeRun, pairs: IntArray, votes: Votes) -> tuple[float, float, int]:
    """Return the threshold with the most agreement (of equal ones the lowest), the agreement, and the votes behind it.

    A vote on a pair without a verdict is not agreed with: a candidate gains nothing by answers that can't be read.
    """
    counts = counts_of(pairs, votes)
    cast = int(counts.sum())
    tried = [(float(equal_to(verdicts_at(run, pairs, at), counts).sum()) / cast, -at) for at in thresholds_of(run)]
    agreement, at = max(tried)
    return -at + 0.0, agreement, cast


def counts_of(pairs: IntArray, votes: Votes) -> FloatArray:
    """(n, 3) people's votes for -1, 0, +1 on each pair."""
    votes_of_pairs = [(pair, vote) for pair in pairs.tolist() for vote in votes.get(pair, ())]
    rows = np.array(votes_of_pairs, dtype=np.float64).reshape(-1, 2)
    return vote_counts(pairs, rows[:, 0].astype(np.int64), rows[:, 1])


def equal_to(verdict: FloatArray, counts: FloatArray) -> FloatArray:
    """(n,) votes that are the verdict on their pair."""
    equal: FloatArray = np.where(verdict[:, np.newaxis] == VALUES, counts, 0.0).sum(axis=1)
    return equal


def compared(tuned: FloatArray, untuned: FloatArray, pairs: IntArray, votes: Votes) -> dict[str, Any]:
    """Return the comparison on the held-out part: both judges, their difference by vote, and people among themselves.

    A judge's agreement counts votes on pairs with its verdict, the difference those with verdicts of both; people's is the
    mean over votes of the share of the other people who gave the same. Intervals are over instances.
    """
    instance = _instances(pairs)
    counts = counts_of(pairs, votes)
    cast = counts.sum(axis=1)
    people = vote_table([votes.get(pair, ()) for pair in pairs.tolist()])
    result: dict[str, Any] = {"instances": len(np.unique(instance)), "pairs": len(pairs), "level": LEVEL}
    for name, verdict in (("tuned", tuned), ("untuned", untuned)):
        has = ~np.isnan(verdict)
        rows = _votes_of(equal_to(verdict, counts)[has], cast[has])
        result[name] = asdict(proportion(rows[0], instance[has][rows[1]], left_out=int(cast[~has].sum())))
    both = ~np.isnan(tuned) & ~np.isnan(untuned)
    gap = equal_to(tuned, counts) - equal_to(untuned, counts)
    spread = ratio_spread(np.stack([gap[both], cast[both]], axis=1), instance[both])
    bounds = mean_interval(spread, floor=-1.0, ceiling=1.0, level=LEVEL)
    result["difference"] = {
        "value": number(spread.value), "low": number(bounds.low), "high": number(bounds.high), "n": int(cast[both].sum()),
        "left_out": int(cast[~both].sum()),
    }  # fmt: skip
    sums = leave_one_out_sums(people)
    result["people"] = asdict(mean_proportion(sums, instance, left_out=int(cast.sum() - sums[:, 1].sum())))
    return result


def _votes_of(equal: FloatArray, cast: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return a row (equal, 1) for each vote, and the place of its pair."""
    row = np.repeat(np.arange(len(cast)), cast.astype(np.int64))
    index = np.arange(len(row)) - np.repeat(np.cumsum(cast) - cast, cast.astype(np.int64))
    return np.stack([(index < equal[row]).astype(np.float64), np.ones(len(row))], axis=1), row


def _instances(pairs: IntArray) -> IntArray:
    instance_of = dict(Pair.objects.filter(pk__in=pairs.tolist()).values_list("pk", "matchup__instance_id"))
    return np.array([instance_of[pair] for pair in pairs.tolist()], dtype=np.int64)
