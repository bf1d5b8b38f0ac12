"""Whether a judge has changed: pinned pairs are asked again, past the cache, and compared with the time before."""

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from django.db import transaction

from analysis.intervals import Spread, mean_interval, ratio_spread, share_interval
from analysis.jackknife import MIN_CLUSTERS, Bounds
from analysis.stress import turn_sums
from analysis.types import FloatArray
from annotation.models import Study
from judging.audits.stress import AGAIN, PLAIN, Status, StressTest, draw_pairs, planned_answers, stored_like
from judging.models import AuditAnswer, Judge, JudgeAudit

LEVEL = 0.95
NO_PAIR = "no pinned pair has a verdict both times"
TOO_FEW = f"no interval: fewer than {MIN_CLUSTERS} instances"
TIES = "a tie is a verdict"
Found = dict[str, Any]


@transaction.atomic
def start_check(test: StressTest) -> JudgeAudit:
    """Return the next check of a judge's drift, or the last one while it is not done.

    The first draws the pairs and asks each twice, which shows what differs by chance; further ones ask the same pairs once.
    Raises: as `StressTest.as_audit` and `draw_pairs`
    """
    wanted = as_check(test)
    Study.objects.select_for_update().get(pk=test.study.pk)
    last = stored_like(wanted)
    if last is not None and last.ended_at is None:
        last.answers.filter(status=Status.ERROR).update(status=Status.PENDING, failure="", judged_at=None)
        return last
    if last is not None and last.found is None:  # a process that was killed at its end
        conclude(last)
    wanted.wave = 0 if last is None else last.wave + 1
    answers = answers_to_check(wanted, last)
    wanted.save()
    AuditAnswer.objects.bulk_create(answers, batch_size=500)
    return wanted


def as_check(test: StressTest) -> JudgeAudit:
    """Return the row of a check of drift, not stored.

    Raises: as `StressTest.as_audit`
    """
    return replace(test, changes=(AGAIN,)).as_audit(JudgeAudit.Kind.DRIFT)


def answers_to_check(audit: JudgeAudit, last: JudgeAudit | None) -> list[AuditAnswer]:
    """Return the answers to be given in a check, not stored.

    last : the check before, whose pairs are asked again; None: they are drawn
    """
    if last is None:
        return list(planned_answers(audit, draw_pairs(audit)))
    pinned = last.answers.filter(change=PLAIN).order_by("pk").values("pair_id", "order", "side", "change")
    return [AuditAnswer(audit=audit, **one) for one in pinned]


def settings_of(audit: JudgeAudit) -> StressTest:
    """Return the settings with which an audit was started."""
    named = ("study", "judge", "dataset", "pairs", "seed", "question")
    return StressTest(**{name: getattr(audit, name) for name in named}, changes=tuple(audit.changes))


def checks_of(study: Study, judge: Judge | None = None) -> list[JudgeAudit]:
    """Return the checks of drift in a study, of one judge or of all, in their order."""
    found = JudgeAudit.objects.filter(study=study, kind=JudgeAudit.Kind.DRIFT)
    related = found.select_related("study", "judge__endpoint", "judge__table_endpoint", "judge__prompt_file").order_by(
        "judge", "settings_key", "wave"
    )
    return list(related if judge is None else related.filter(judge=judge))


def pinned(checks: Iterable[JudgeAudit]) -> list[JudgeAudit]:
    """Return the last check of each set of pinned pairs."""
    return list({(one.judge_id, one.settings_key): one for one in checks}.values())


def conclude(audit: JudgeAudit) -> None:
    """Store the change of a check that is done, compared with the one before; the first has none."""
    if audit.kind != JudgeAudit.Kind.DRIFT or audit.ended_at is None or audit.wave == 0:
        return
    same = JudgeAudit.objects.filter(
        study=audit.study, judge=audit.judge, kind=audit.kind, settings_key=audit.settings_key
    )
    audit.found = change_since(audit, before=same.get(wave=audit.wave - 1), first=same.get(wave=0))
    audit.save(update_fields=["found"])


def change_since(audit: JudgeAudit, *, before: JudgeAudit, first: JudgeAudit) -> Found:
    """Return the share of pinned pairs whose verdict has changed, what changed by chance, and the difference.

    `drifted` where the interval of the difference is above 0; None where there is no interval.
    """
    now, then = _verdicts(audit, PLAIN), _verdicts(before, PLAIN)
    chance, again = _verdicts(first, PLAIN), _verdicts(first, AGAIN)
    pairs = sorted(now)
    instance = np.unique([now[pair][1] for pair in pairs], return_inverse=True)[1]
    changed = turn_sums(_column(then, pairs), _column(now, pairs))["turned"]
    by_chance = turn_sums(_column(chance, pairs), _column(again, pairs))["turned"]
    both = changed[:, 1] * by_chance[:, 1]
    beyond = np.column_stack([(changed[:, 0] - by_chance[:, 0]) * both, both])
    spread = ratio_spread(beyond, instance)
    difference = _estimate(beyond, spread, mean_interval(spread, floor=-1.0, level=LEVEL))
    return {
        "since": before.ended_at.isoformat() if before.ended_at else None,
        "changed": _share(changed, instance),
        "by_chance": _share(by_chance, instance),
        "beyond_chance": difference,
        "drifted": None if difference["low"] is None else difference["low"] > 0,
    }


def _verdicts(audit: JudgeAudit, change: str) -> dict[int, tuple[float, int]]:
    """Return verdict (NaN where there is none) and instance of each pair."""
    rows = audit.answers.filter(change=change).values_list("pair_id", "verdict", "pair__matchup__instance_id")
    return {pair: (math.nan if verdict is None else verdict, instance) for pair, verdict, instance in rows}


def _column(verdicts: dict[int, tuple[float, int]], pairs: list[int]) -> list[float]:
    return [verdicts.get(pair, (math.nan, 0))[0] for pair in pairs]


def _share(rows: FloatArray, instance: Any) -> Found:
    spread = ratio_spread(rows, instance)
    return _estimate(rows, spread, share_interval(spread, level=LEVEL))


def _estimate(rows: FloatArray, spread: Spread, bounds: Bounds) -> Found:
    n = int(rows[:, 1].sum())
    value, low, high = (None if math.isnan(one) else one for one in (spread.value, bounds.low, bounds.high))
    why = NO_PAIR if value is None else TOO_FEW if low is None else ""
    found = {"value": value, "low": low, "high": high, "n": n, "of": "pairs", "n_instances": spread.instances}
    found |= {"level": LEVEL, "tie_rule": TIES, "excluded": len(rows) - n}
    return found | ({"why": why} if why else {})
