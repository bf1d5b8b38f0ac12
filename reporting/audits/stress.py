"""Effects of changed texts on a judge's verdicts, overall and by people's agreement, and the names of changes."""

import math
from typing import Any

import numpy as np

from analysis.bias.stress import turn_sums, unanimity
from analysis.grouping import count_groups
from analysis.types import BoolArray, FloatArray, IntArray
from annotation.core.reasons import Reason
from annotation.models import Hit, Study
from annotation.studies.instances import instance_clusters
from annotation.studies.votes import read_votes
from judging.audits.stress import IDENTICAL, PLAIN
from judging.models import JudgeAudit, Judgment
from reporting.core.estimates import Basis, IntervalSettings, share_estimate

TIE_IS_VERDICT = "a tie is a verdict"
NO_VERDICTS = Reason("no_verdicts", "no pair has a verdict before and after")
NO_BEFORE = Reason("no_before", "identical texts have no verdict before")
STAYS, AWAY, EITHER, NONE = "stays", "goes to the other text", "stays, or goes to the other text", "has no preference"
SOUND = {
    "empty": AWAY,
    "truncated": AWAY,
    "sentence-order": EITHER,
    IDENTICAL: NONE,
}  # what a sound judge does; else it stays
PARTS = ("all", "people_agree", "people_disagree")
STATUS = Judgment.Status
Found = dict[str, Any]


def stress_tests(study: Study) -> list[JudgeAudit]:
    """Return the stress tests of a study's judges, the latest first."""
    audits = JudgeAudit.objects.filter(study=study).select_related("judge__endpoint", "study")
    return list(audits.order_by("-created_at", "-pk"))


def stress_findings(audit: JudgeAudit) -> Found:
    """Return the shares of each change, with what is left out and why.

    unread    : answers without a verdict, by status; `open`: those that are not given yet
    not_made  : pairs whose text can't be changed so
    """
    names = ("pair_id", "change", "order", "side", "status", "verdict", "pair__matchup__instance_id")
    rows = list(audit.answers.values_list(*names))
    instances = sorted({row[-1] for row in rows})
    clusters = instance_clusters(audit.study)
    of_code = clusters and np.array([clusters.by_key[instance] for instance in instances], dtype=np.int64)
    settings = IntervalSettings(clusters=of_code)
    code = {instance: number for number, instance in enumerate(instances)}
    rows = [(*row[:-1], code[row[-1]]) for row in rows]
    plain = {pair: (order, verdict) for pair, change, order, _, _, verdict, _ in rows if change == PLAIN}
    pairs = sorted(plain)
    unanimous = dict(zip(pairs, people_unanimity(audit.study, pairs, audit.question).tolist(), strict=True))
    return {
        "study": audit.study.slug,
        "judge": audit.judge.name,
        "question": audit.study.questions[audit.question].key,
        "model": audit.model,
        "dataset": audit.dataset,
        "seed": audit.seed,
        "level": settings.level,
        "pairs": len(pairs),
        "instances": len(instances),
        "clusters": None if of_code is None else count_groups(of_code),
        "people": {
            "agree": sum(value == 1 for value in unanimous.values()),
            "disagree": sum(value == 0 for value in unanimous.values()),
            "fewer_than_two_votes": sum(map(math.isnan, unanimous.values())),
        },
        "answers": len(rows),
        "open": sum(row[4] == STATUS.PENDING for row in rows),
        "unread": {
            str(status): sum(row[4] == status for row in rows)
            for status in (STATUS.UNPARSED, STATUS.REFUSED, STATUS.ERROR)
        },
        "calls": audit.calls,
        "cached": audit.cached,
        "cost": None if audit.cost is None else float(audit.cost),
        "currency": audit.currency,
        "software_version": audit.software_version,
        "changes": [
            _change(name, [row for row in rows if row[1] == name], plain, unanimous, settings) for name in audit.changes
        ],
    }


def people_unanimity(study: Study, pairs: list[int], question: int) -> FloatArray:
    """Return for each pair whether people's first counted votes agree, NaN below two votes."""
    batches = list(study.batches.for_rating().values_list("pk", flat=True))
    hits = Hit.objects.filter(batch__in=batches).order_by()
    votes_read = read_votes(study, hits, batches, stage="first", question=study.questions[question])
    index_of = {pair: number for number, pair in enumerate(pairs)}
    votes = {
        (index_of[pair], person): verdict
        for pair, person, verdict in zip(
            votes_read.pair.tolist()[::-1],
            votes_read.person.tolist()[::-1],
            votes_read.verdict.tolist()[::-1],
            strict=True,
        )
        if pair in index_of
    }
    unit = np.array([pair for pair, _ in votes], dtype=np.int64)
    return unanimity(unit, np.array(list(votes.values()), dtype=np.float64), len(pairs))


def _change(
    name: str,
    rows: list[Any],
    plain: dict[int, tuple[str, int | None]],
    unanimous: dict[int, float],
    settings: IntervalSettings,
) -> Found:
    answered = [row for row in rows if row[4] != STATUS.PENDING]
    before = np.array([_before(name, row, plain) for row in answered], dtype=np.float64)
    after = np.array([_for_changed(name, row[2], row[3], row[5]) for row in answered], dtype=np.float64)
    agree = np.array([unanimous[row[0]] for row in answered], dtype=np.float64)
    instance = np.array([row[-1] for row in answered], dtype=np.int64)
    parts = {"all": np.ones(len(answered), dtype=bool), "people_agree": agree == 1, "people_disagree": agree == 0}
    return {
        "change": name,
        "sound": SOUND.get(name, STAYS),
        "asked": len(answered),
        "open": len(rows) - len(answered),
        "not_made": len(plain) - len(rows),
        **{part: _shares(name, before, after, instance, selected, settings) for part, selected in parts.items()},
    }


def _before(name: str, row: Any, plain: dict[int, tuple[str, int | None]]) -> float:
    return 0.0 if name == IDENTICAL else _for_changed(name, row[2], row[3], plain[row[0]][1])


def _for_changed(name: str, order: str, side: str, verdict: int | None) -> float:
    """Turn a verdict in study order: +1 for the changed text, of identical ones for that shown first."""
    if verdict is None:
        return np.nan
    towards_a = order == Judgment.Order.AB if name == IDENTICAL else side == "a"
    return float(-verdict if towards_a else verdict)


def _shares(
    name: str,
    before: FloatArray,
    after: FloatArray,
    instance: IntArray,
    selected: BoolArray,
    settings: IntervalSettings,
) -> Found:
    shares = {}
    for turn, sums in turn_sums(before[selected], after[selected]).items():
        if name == IDENTICAL and turn == "to_tie":
            sums, where, why = sums[:0], instance[:0], NO_BEFORE
        else:
            where, why = instance[selected], NO_VERDICTS
        read = sums[:, 1] > 0
        basis = Basis(int(read.sum()), "pairs", TIE_IS_VERDICT, int((~read).sum()), why)
        shares[turn] = share_estimate(sums[read], where[read], basis, settings)
    return shares


CHANGE_NAMES = {
    "position": "Texts change places",
    "again": "Asked again, with another seed",
    "padding": "Longer by sentences without content",
    "list": "Sentences as a list",
    "bold": "Words in bold",
    "repetition": "One sentence twice",
    "authority": "“Experts agree”",
    "instruction": "An instruction to choose it",
    "model-name": "Name of a famous model",
    "empty": "Empty text",
    "truncated": "Second half cut off",
    "sentence-order": "Sentences in another order",
    "identical": "Identical texts",
}
TURN_NAMES = {
    "turned": "Turned",
    "towards": "Towards the changed text",
    "away": "Away from it",
    "to_tie": "To no preference",
}
PART_NAMES = {
    "all": "All pairs",
    "people_agree": "Pairs on which people agree",
    "people_disagree": "Pairs on which people disagree",
}
