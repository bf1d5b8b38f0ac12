"""From a pair to what a judge is shown, and from its verdict back to study order. No other code turns sides around."""

import hashlib
import json

from analysis.types import Verdict
from annotation.models import Pair
from judging.judges import Presentation
from judging.models import Judge, Judgment

AB, BA = Judgment.Order.AB, Judgment.Order.BA
IDENTITY_FIELDS = (
    "matchup__instance__study__slug",
    "matchup__instance__instance_id",
    "matchup__system_a__name",
    "matchup__system_b__name",
    "index",
)


def identity_of(*fields: object) -> str:
    """Name a pair by what it is in its study (`IDENTITY_FIELDS`), not by row numbers: it outlives the database."""
    return json.dumps(fields, ensure_ascii=False)


def orders_for(judge: Judge, identity: str) -> list[str]:
    """Return the orders in which this judge is shown a pair; a random one is drawn from the judge's seed."""
    if judge.order == Judge.Order.BOTH:
        return [AB, BA]
    if judge.order == Judge.Order.RANDOM:
        digest = hashlib.sha256(f"order\x00{judge.seed}\x00{identity}".encode()).digest()
        return [AB if digest[0] & 1 else BA]
    return [judge.order]


def present(pair: Pair, order: str) -> Presentation:
    """Show a pair (with its matchup, instance, study and generations loaded) in one order."""
    matchup = pair.matchup
    instance, study = matchup.instance, matchup.instance.study
    texts = (pair.generation_a.text, pair.generation_b.text)
    first, second = texts if order == AB else texts[::-1]
    identity = identity_of(study.slug, instance.instance_id, matchup.system_a.name, matchup.system_b.name, pair.index)
    return Presentation(
        task_kind=study.task_kind,
        question=study.question,
        source=instance.source,
        first=first,
        second=second,
        identity=f"{identity} {order}",
    )


def in_study_order(verdict: Verdict, order: str) -> Verdict:
    """Turn a verdict in screen order (A: the text shown first) into study order (A: the study's system A)."""
    return verdict if order == AB else Verdict(-verdict)
