"""Estimating and starting an audit: the judge that is asked, and the instances that it is asked about."""

import hashlib
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Count

from annotation.models import Study
from annotation.questions.questions import MAIN
from judging.core.errors import BadSettings
from judging.methods import AskingMethod, Baseline, find_method
from judging.models import Judge, JudgeRun, PromptFile
from judging.runs.estimates import RunEstimate, estimate
from judging.runs.judges import check_judge, store_judge, with_temperature
from judging.runs.pair_filters import PairFilter
from judging.runs.services import pairs_of, queue_run, start_run

REPEATS = 10
LEAST_MATCHUPS = 3  # of an instance: among fewer there is no cycle
LONGEST_NAME = 80
SHARED = (  # that a judge's audit shares with it, and on which instances it was tuned
    *("method", "endpoint", "combine", "task", "family", "seed", "tuned"),
    *("system_prompt", "table_endpoint", "table_variant", "texts_first"),
)


@dataclass(frozen=True)
class Audit:
    """The settings of an audit.

    judge     : one that asks all of this is asked itself, any other through one like it that does
    repeats   : of each question; None: as the judge, or 10 where it does not ask all of this
    negated   : whether the negated question is asked; not every wording can ask it
    wording   : a prompt file in place of the judge's own wording
    dataset   : only its instances; all when empty
    instances : how many are drawn; None: all
    seed      : draws them; more instances with the same seed include the fewer
    question  : of the study, by number
    """

    study: Study
    judge: Judge
    repeats: int | None = None
    negated: bool = True
    wording: PromptFile | None = None
    dataset: str = ""
    instances: int | None = None
    seed: int = 0
    question: int = MAIN

    @property
    def on(self) -> dict[str, Any]:
        """The pairs and the question, as keyword arguments of the services of runs.

        Raises: as `pairs_audited`
        """
        return {"study": self.study, "only": pairs_audited(self), "questions": [self.question]}


def pairs_audited(audit: Audit) -> PairFilter:
    """Return a filter for the pairs of an audit, whether they are on HITs or not.

    Raises: BadSettings where no instance has three matchups; UnknownName for a data set
    """
    every = PairFilter(dataset=audit.dataset, off_hits=True)
    by_instance = pairs_of(audit.study, None, every).order_by().values("matchup__instance__instance_id")
    counted = by_instance.annotate(matchups=Count("matchup", distinct=True)).filter(matchups__gte=LEAST_MATCHUPS)
    ids = list(counted.values_list("matchup__instance__instance_id", flat=True))
    if not ids:
        raise BadSettings(
            f"no instance of {audit.dataset or audit.study} has texts of three compared systems, so consistency "
            f"can't be tested; {settings.COMMAND} copy_study --each-text creates a study in which each text is "
            "a system of its own"
        )
    if audit.instances is None or audit.instances >= len(ids):
        return every
    return replace(
        every, instances=tuple(sorted(ids, key=lambda id_: place_in_draw(audit.seed, id_))[: audit.instances])
    )


def place_in_draw(seed: int, instance_id: str) -> bytes:
    """Return the place of an instance in the draw, which further instances don't change."""
    return hashlib.sha256(f"audit\x00{seed}\x00{instance_id}".encode("utf-8", "surrogatepass")).digest()


def auditor(audit: Audit) -> Judge:
    """Return the judge that is asked, stored or not.

    Raises: BadSettings for a judge that can't be asked, or settings that don't fit together
    """
    judge = audit.judge
    method = find_method(judge.method)
    if not isinstance(method, AskingMethod | Baseline):
        raise BadSettings(f"judge {judge} can't be audited: its verdicts are imported")
    asks_all = judge.order == Judge.OrderPolicy.BOTH and judge.negated == audit.negated
    if asks_all and audit.wording is None and audit.repeats in (None, judge.repeats):
        return judge
    repeats = audit.repeats or (judge.repeats if asks_all else REPEATS)
    auditor_ = Judge(
        **{name: getattr(judge, name) for name in SHARED},
        name=_name(judge, audit, repeats),
        order=Judge.OrderPolicy.BOTH,
        negated=audit.negated,
        repeats=repeats,
        prompt_file=audit.wording or judge.prompt_file,
        params=with_temperature(method, judge.params, repeats),
    )
    check_judge(auditor_)
    return auditor_


def _name(judge: Judge, audit: Audit, repeats: int) -> str:
    suffix = "" if audit.wording is None else f"-{audit.wording.name}-v{audit.wording.version}"
    name = f"{judge.name}{suffix}-{'audit' if audit.negated else 'plain'}{repeats}"
    return name if len(name) <= LONGEST_NAME else f"{name[:67]}-{hashlib.sha256(name.encode()).hexdigest()[:12]}"


def estimate_audit(audit: Audit, *, limit: int | None = None, way: str = JudgeRun.Way.CALLS) -> RunEstimate:
    """Estimate an audit. No call is made and no judge stored.

    Raises: as `auditor` and `pairs_audited`
    """
    judge = auditor(audit)
    stored = Judge.objects.select_related("endpoint", "prompt_file").filter(name=judge.name).first()
    return estimate(judge=stored or judge, **audit.on, limit=limit, way=way)


@transaction.atomic
def start_audit(
    audit: Audit,
    *,
    in_flight: int | None = None,
    max_cost: Decimal | None = None,
    way: str | None = None,
    limit: int | None = None,
    queued: bool = False,
) -> JudgeRun:
    """Start the run of an audit, or start it again, and store its judge if it is new.

    queued : leave the work to a worker; `limit`: presentations to fill this time
    Raises: as `auditor`, `pairs_audited` and `start_run`; BadSettings too where another judge has the auditor's name
    """
    judge = auditor(audit)
    if not judge.pk:
        judge = store_judge(judge)
    settings: dict[str, Any] = {**audit.on, "in_flight": in_flight, "max_cost": max_cost, "way": way}
    if queued:
        return queue_run(judge=judge, **settings, limit=limit)
    return start_run(judge=judge, **settings)
