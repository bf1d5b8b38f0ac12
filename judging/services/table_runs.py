"""Making comparison tables of a study's pairs: a judge that makes them on its way, and a run that hands them on."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.db import transaction

from annotation.models import Batch, Study
from judging.errors import BadSettings
from judging.judges.options import ASKED, FIXED, OFFLINE, ONLINE
from judging.models import Endpoint, Judge, JudgeRun
from judging.services.judges import add_judge, check_judge
from judging.services.pair_filters import EVERY_PAIR, PairFilter
from judging.services.runs import queue_run, start_run
from judging.services.tables import hand_on, handing_on, refuse_other_makers

METHOD = "sc2"
OWN = frozenset({"samples", "budget", "scheme", "aspects"})


@dataclass(frozen=True)
class TableSettings:
    """How tables are made.

    samples : tables drawn for each pair; `budget`, where it is set, says how many instead
    aspects : `online`, `offline`, or a list of texts
    params  : further options of the method, and what is sent with each call, as a judge's parameters
    """

    samples: int = 8
    scheme: str = "tournament"
    aspects: str | tuple[str, ...] = OFFLINE
    budget: int | None = None
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def options(self) -> dict[str, Any]:
        """Return them as a judge's parameters."""
        aspects = list(self.aspects) if isinstance(self.aspects, tuple) else self.aspects
        how_many = {"samples": self.samples} if self.budget is None else {"budget": self.budget}
        return {**self.params, "scheme": self.scheme, "aspects": aspects, **how_many}

    @property
    def variant(self) -> str:
        """Name the tables of these settings, where nobody names them."""
        how = f"b{self.budget}" if self.budget is not None else f"c{self.samples}"
        scheme = "" if self.scheme == "tournament" else f"-{self.scheme}"
        return f"{how}{scheme}{'-online' if self.aspects in (ONLINE, ASKED) else ''}"


def tables_judge(*, endpoint: Endpoint, settings: TableSettings, seed: int = 1, name: str = "") -> Judge:
    """Return the judge that makes tables with these settings, stored under a name that follows from them.

    Raises: BadSettings for settings that don't fit together, or for others under the name.
    """
    _check(settings)
    judge, _ = add_judge(
        name=name or judge_name(endpoint, settings, seed),
        method=METHOD,
        endpoint=endpoint,
        params=settings.options,
        seed=seed,
    )
    return judge


def tables_judge_to_be(*, endpoint: Endpoint, settings: TableSettings, seed: int = 1, name: str = "") -> Judge:
    """Return the same for an estimate: the stored one, or one that is not stored.

    Raises: BadSettings for settings that don't fit together.
    """
    _check(settings)
    name = name or judge_name(endpoint, settings, seed)
    known = Judge.objects.select_related("endpoint", "prompt_file").filter(name=name).first()
    judge = Judge(name=name, method=METHOD, endpoint=endpoint, params=settings.options, seed=seed)
    check_judge(judge)
    return known or judge


def _check(settings: TableSettings) -> None:
    if twice := OWN & settings.params.keys():
        raise BadSettings(f"{', '.join(sorted(twice))} can't be given as a parameter as well")
    if not isinstance(settings.aspects, tuple) and settings.aspects not in (ONLINE, OFFLINE, ASKED, FIXED):
        raise BadSettings(f"aspects are {ONLINE} or {OFFLINE}, got {settings.aspects!r}")


def default_variant(settings: TableSettings, aspects_name: str) -> str:
    """Name the tables of these settings, and of these offline aspects where they are a version of their own."""
    version = aspects_name.rpartition(".")[2] if settings.aspects not in (ONLINE, ASKED) else ""
    return f"{settings.variant}-{version}" if re.fullmatch(r"v\d+", version) else settings.variant


def judge_name(endpoint: Endpoint, settings: TableSettings, seed: int) -> str:
    """Name a judge by how it makes tables; what does not fit into a name is told apart by a hash."""
    told = json.dumps([settings.options, seed], sort_keys=True)
    return f"sc2-{settings.variant}-{endpoint.name}"[:70] + f"-{hashlib.sha256(told.encode()).hexdigest()[:6]}"


@transaction.atomic
def start_tables(
    *,
    study: Study,
    endpoint: Endpoint,
    settings: TableSettings,
    variant: str,
    seed: int = 1,
    name: str = "",
    batch: Batch | None = None,
    only: PairFilter = EVERY_PAIR,
    in_flight: int | None = None,
    max_cost: Decimal | None = None,
    limit: int | None = None,
    queued: bool = False,
) -> JudgeRun:
    """Start a run that makes a table of every pair and hands it on under a variant; refused, it leaves no judge behind.

    seed, name : of the judge that makes them, see `tables_judge`
    queued : leave the work to a worker; `limit`: presentations that it is to fill this time

    Tables that the same judge made before are handed on at once.
    Raises: BadSettings when the variant has tables that were made otherwise, and as `start_run` does.
    """
    if not variant or len(variant) > 40 or any(mark.isspace() or not mark.isprintable() for mark in variant):
        raise BadSettings(f"a variant is a name of up to 40 characters without spaces, got {variant!r}")
    Study.objects.select_for_update().get(pk=study.pk)  # two that start the same variant take turns
    judge = tables_judge(endpoint=endpoint, settings=settings, seed=seed, name=name)
    same = JudgeRun.objects.filter(study=study, judge=judge, batch=batch, filter_key=only.key)
    if before := same.exclude(tables_as__in=["", variant]).values_list("tables_as", flat=True).first():
        raise BadSettings(f"these very tables are there as variant {before} already; another seed makes others")
    asked: dict[str, Any] = {"batch": batch, "only": only, "in_flight": in_flight, "max_cost": max_cost}
    if queued:
        run = queue_run(study=study, judge=judge, tables_as=variant, limit=limit, **asked)
    else:
        run = start_run(study=study, judge=judge, tables_as=variant, **asked)
    handing = handing_on(run, "")
    if handing is not None:
        refuse_other_makers(handing)
    hand_on(run)
    return run
