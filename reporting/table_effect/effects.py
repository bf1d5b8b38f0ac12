"""The effect of comparison tables: people's votes before and after one, by arm, and differences between arms."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from analysis.bias.revision import BY_CHANGE, BY_MOVE, BY_TABLE, SCORES, Decisions, difference, joint_sums, revised_sums
from analysis.intervals.bootstrap import mean_rows, median_difference_interval, median_interval
from analysis.types import FloatArray, IntArray
from annotation.core.arms import Arm, BadArm
from annotation.core.reasons import Reason
from annotation.core.version import VERSION
from reporting.core.estimates import (
    Basis,
    Estimate,
    IntervalSettings,
    bounded_estimate,
    build_estimate,
    mean_estimate,
    share_estimate,
)
from reporting.core.instance_selection import selection_note
from reporting.core.text import SCRIPTED
from reporting.table_effect.arrays import SecondVotes, TableEffectFilters

TIE_IN_SCORE = "a tie scores 0, or 1 where the gold is a tie"
TIE_IN_CHANGE = "a tie is right where the gold is a tie, else a tie"
TIE_IN_MOVE = "a tie is a vote of its own"
TIE_IN_AGREEMENT = "a tie agrees with a tie only"
TIE_IN_TABLE = "a tie lies between A and B"
TIE_IN_TIME = "a tie is a vote"
NO_GOLD = Reason("no_gold", "none of these pairs has a gold label")
NO_OTHERS = Reason("no_others", "no other rater voted on these pairs")
NO_TABLE = Reason("no_table", "no table is recorded as shown")
NO_VERDICT = Reason("no_verdict", "no table whose judge's verdict is known")
NO_CHANGE = Reason("no_change", "no vote changed beside a table whose judge's verdict is known")
NO_TIME = Reason("no_time", "no time was recorded")
NO_DECISION = Reason("no_decision", "no second vote")
ONE_STAGE = Reason(
    "one_stage", "the study asks for one vote on each pair; only two-stage studies show comparison tables"
)
NO_SECOND_VOTES = Reason("no_second_votes", "no second vote has been submitted yet")
ONE_ARM = Reason(
    "one_arm",
    "there are second votes in one arm only; an effect needs another arm to compare with, such as none",
)
AGREEMENTS = ("agreement_before", "agreement_after", "agreement_change")
SECONDS = ("first_seconds", "second_seconds")
COMPARED = (  # measures to compare between arms, grouped by the decisions that they count
    ("gold", ("score_change", "wrong_to_right", "right_to_wrong")),
    ("others", ("agreement_change",)),
    ("all", ("revised",)),
    ("table", ("towards_table",)),
)
TIMED = "second_seconds"  # compared too, as a median
SHARES = frozenset({*BY_CHANGE, *BY_MOVE, *BY_TABLE, "revised"})
RANGES = {  # of the means, and of the shares that arms are compared by
    "score_before": (-1.0, 1.0),
    "score_after": (-1.0, 1.0),
    "score_change": (-2.0, 2.0),
    "agreement_before": (0.0, 1.0),
    "agreement_after": (0.0, 1.0),
    "agreement_change": (-1.0, 1.0),
    **dict.fromkeys(SHARES, (0.0, 1.0)),
}
Rows = dict[str, tuple[FloatArray, Basis]]  # sums per decision, and their basis


def effect_of(study: str, votes: SecondVotes, filters: TableEffectFilters, *, is_two_stage: bool) -> dict[str, Any]:
    """Compute what the second stage changed in each arm, and the differences between arms.

    study : its name in addresses
    votes : those that the filters choose
    """
    scripted = len(votes.scripted & set(votes.annotator.tolist()))
    settings = replace(filters.intervals, clusters=votes.clusters)
    measured = {name: _compared(votes, name, settings) for name in votes.arms}
    result: dict[str, Any] = {
        "study": study,
        "version": VERSION,
        "filters": filters.as_json(),
        "decisions": len(votes),
        "excluded": votes.excluded,
        "scripted_raters": scripted,
        "chosen": votes.chosen,
        "arms": [_arm(votes, name, settings) for name in votes.arms],
        "differences": [
            {
                "arm": arm,
                "control": control,
                **_difference(measured[arm], measured[control], settings),
                TIMED: _median_difference(votes, arm, control, settings),
            }
            for control, arm in combinations(votes.arms, 2)
        ],
    }
    if votes.chosen:
        result["chosen_note"] = selection_note(votes.chosen)
    if scripted:
        result["note"] = SCRIPTED
    if len(votes.arms) < 2:
        result |= (ONE_ARM if len(votes) else NO_SECOND_VOTES if is_two_stage else ONE_STAGE).as_json()
    return result


def arm_fields(arm: str) -> dict[str, str]:
    """Return an arm's name with its kind and variant. Imported names of another form have neither."""
    try:
        parsed = Arm.parse(arm)
    except BadArm:
        return {"arm": arm, "kind": "", "variant": ""}
    return {"arm": arm, "kind": parsed.kind, "variant": parsed.variant}


def _arm(votes: SecondVotes, name: str, settings: IntervalSettings) -> dict[str, Any]:
    rows = votes.rows_of(name)
    instance, decided = votes.instance[rows], votes.votes.of(rows)
    numbers: dict[str, Estimate] = {}
    for measured in _groups(votes, rows).values():
        numbers |= _estimates(measured, instance, settings)
    return {
        **arm_fields(name),
        **_counts(votes, rows),
        **{key: numbers[key] for key in (*SCORES, *AGREEMENTS, "revised")},
        "changes": {kind: numbers[kind] for kind in BY_CHANGE},
        "moves": {kind: numbers[kind] for kind in BY_MOVE},
        "table_verdict": {
            "known": int((~np.isnan(decided.implied)).sum()),
            **{kind: numbers[kind] for kind in BY_TABLE},
        },
        **{key: _median(getattr(votes, key)[rows], instance, settings) for key in SECONDS},
    }


def _counts(votes: SecondVotes, rows: IntArray) -> dict[str, int]:
    decided = votes.votes.of(rows)
    with_gold = int(decided.scored.sum())
    return {
        "raters": len(np.unique(votes.annotator[rows])),
        "instances": len(np.unique(votes.instance[rows])),
        "pairs": len(np.unique(votes.pair[rows])),
        "decisions": len(rows),
        "with_gold": with_gold,
        "without_gold": len(rows) - with_gold,
        "with_others": int((~np.isnan(votes.others_before[rows])).sum()),
        "with_table": int(votes.shown[rows].sum()),
        "with_reason": int(votes.reasoned[rows].sum()),
    }


def _groups(votes: SecondVotes, rows: IntArray) -> dict[str, Rows]:
    """Return the ratio measures of some decisions, grouped by the decisions that they count."""
    decided = votes.votes.of(rows)
    unscored, silent = int((~decided.scored).sum()), int(np.isnan(decided.implied).sum())
    scored = {name: (sums(decided), TIE_IN_SCORE) for name, sums in SCORES.items()}
    changed = {kind: (sums(decided), TIE_IN_CHANGE) for kind, sums in BY_CHANGE.items()}
    moved = {kind: (sums(decided), TIE_IN_MOVE) for kind, sums in BY_MOVE.items()}
    return {
        "gold": {
            name: (sums, Basis(_n(sums), "decisions with gold", tie_rule, unscored, NO_GOLD))
            for name, (sums, tie_rule) in {**scored, **changed}.items()
        },
        "all": {
            name: (sums, Basis(_n(sums), "decisions", tie_rule, why=NO_DECISION))
            for name, (sums, tie_rule) in {**moved, "revised": (revised_sums(decided), TIE_IN_MOVE)}.items()
        },
        "others": _agreement_group(votes, rows),
        "table": _table_group(decided, silent, bool(votes.shown[rows].any())),
    }


def _agreement_group(votes: SecondVotes, rows: IntArray) -> Rows:
    before, after = votes.others_before[rows], votes.others_after[rows]
    alone = int(np.isnan(before).sum())
    estimates = {}
    for name, values in zip(AGREEMENTS, (before, after, after - before), strict=True):
        sums = mean_rows(values)
        basis = Basis(_n(sums), "decisions on pairs that others voted on", TIE_IN_AGREEMENT, alone, NO_OTHERS)
        estimates[name] = (sums, basis)
    return estimates


def _table_group(decided: Decisions, silent: int, is_shown: bool) -> Rows:
    changed_silently = int((decided.changed & np.isnan(decided.implied)).sum())
    of = {
        "towards_table": ("changed votes", changed_silently),
        "away_from_table": ("changed votes", changed_silently),
        "reached_table": ("first votes other than the table's verdict", silent),
    }
    why = NO_CHANGE if silent < len(decided) else NO_VERDICT if is_shown else NO_TABLE
    rows = {}
    for name, sums_of in BY_TABLE.items():
        sums = sums_of(decided)
        unit, excluded = of[name]
        rows[name] = (sums, Basis(_n(sums), unit, TIE_IN_TABLE, excluded, why))
    return rows


def _estimates(measured: Rows, instance: IntArray, settings: IntervalSettings) -> dict[str, Estimate]:
    estimates = {}
    for name, (rows, basis) in measured.items():
        if name in SHARES:
            share = share_estimate(rows, instance, basis, settings)
            estimates[name] = {**share, "count": int(rows[:, 0].sum())}
        else:
            floor, ceiling = RANGES[name]
            estimates[name] = mean_estimate(rows, instance, basis, settings, floor=floor, ceiling=ceiling)
    return estimates


def _median(seconds: FloatArray, instance: IntArray, settings: IntervalSettings) -> Estimate:
    basis = _time_basis(seconds)
    if not basis.n:
        return build_estimate(float("nan"), None, basis, settings, 0)
    cluster = settings.cluster(instance)
    interval = median_interval(seconds, cluster, rng=settings.rng(), rounds=settings.rounds, level=settings.level)
    clusters = len(np.unique(cluster[~np.isnan(seconds)]))
    return build_estimate(float(np.nanmedian(seconds)), interval, basis, settings, clusters)


def _time_basis(seconds: FloatArray) -> Basis:
    count = int((~np.isnan(seconds)).sum())
    return Basis(count, "votes with a time", TIE_IN_TIME, len(seconds) - count, NO_TIME)


def _compared(votes: SecondVotes, arm: str, settings: IntervalSettings) -> dict[str, tuple[Rows, IntArray]]:
    """Return the measures to compare of an arm, by group, with the clusters of its decisions."""
    rows = votes.rows_of(arm)
    groups = _groups(votes, rows)
    cluster = settings.cluster(votes.instance[rows])
    return {group: ({name: groups[group][name] for name in names}, cluster) for group, names in COMPARED}


def _difference(
    arm: Mapping[str, tuple[Rows, IntArray]],
    control: Mapping[str, tuple[Rows, IntArray]],
    settings: IntervalSettings,
) -> dict[str, Estimate]:
    """Return each measure of an arm less that of its control, paired where a cluster has decisions in both."""
    differences = {}
    for group, (measured, cluster) in arm.items():
        of_control, cluster_of_control = control[group]
        for name, (rows, basis) in measured.items():
            control_rows, control_basis = of_control[name]
            counted, control_counted = rows[:, 1] > 0, control_rows[:, 1] > 0
            sums = joint_sums(
                rows[counted], cluster[counted], control_rows[control_counted], cluster_of_control[control_counted]
            )
            floor, ceiling = RANGES[name]
            differences[name] = bounded_estimate(
                sums,
                difference,
                _joint_basis(basis, control_basis),
                settings,
                floor=floor - ceiling,
                ceiling=ceiling - floor,
                clusters=int((sums[..., 1] > 0).sum(axis=0).min()) if len(sums) else 0,
            )
    return differences


def _median_difference(votes: SecondVotes, arm: str, control: str, settings: IntervalSettings) -> Estimate:
    """Return the median time of an arm less that of its control. Both share the resampled clusters."""
    rows_of_arms = [votes.rows_of(arm), votes.rows_of(control)]
    (seconds, cluster), (of_control, cluster_of_control) = [
        (getattr(votes, TIMED)[rows], settings.cluster(votes.instance[rows])) for rows in rows_of_arms
    ]
    timed = [_time_basis(seconds), _time_basis(of_control)]
    basis = _joint_basis(*timed)
    if not all(item.n for item in timed):
        return build_estimate(float("nan"), None, basis, settings, 0)
    interval = median_difference_interval(
        seconds,
        cluster,
        of_control,
        cluster_of_control,
        rng=settings.rng(),
        rounds=settings.rounds,
        level=settings.level,
    )
    rows = np.concatenate(rows_of_arms)
    clusters = len(np.unique(settings.cluster(votes.instance[rows])[~np.isnan(getattr(votes, TIMED)[rows])]))
    return build_estimate(float(np.nanmedian(seconds) - np.nanmedian(of_control)), interval, basis, settings, clusters)


def _joint_basis(arm: Basis, control: Basis) -> Basis:
    """Return the basis of a difference: the decisions of both arms."""
    return Basis(
        arm.n + control.n, arm.of, arm.tie_rule, arm.excluded + control.excluded, control.why if arm.n else arm.why
    )


def _n(sums: FloatArray) -> int:
    return int(sums[:, 1].sum())
