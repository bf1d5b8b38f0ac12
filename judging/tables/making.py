"""Making comparison tables of a study's pairs: an SC² judge, and a run that publishes its tables."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.db import transaction

from annotation.models import Batch, Study
from annotation.questions.questions import MAIN
from judging.calls.store import publication_of, publish_tables, refuse_other_makers
from judging.core.errors import BadSettings
from judging.methods.options import ASKED, FIXED, OFFLINE, ONLINE
from judging.models import Endpoint, Judge, JudgeRun
from judging.runs.judges import add_judge, check_judge, fitted_params
from judging.runs.pair_filters import EVERY_PAIR, PairFilter
from judging.runs.services import queue_run, start_run

METHOD, SAMPLES = "sc2", 8
OWN = frozenset({"samples", "budget", "scheme", "aspects"})


@dataclass(frozen=True)
class TableSettings:
    """The settings of a run that creates tables.

    samples : tables drawn per pair; replaced by `budget` if that is set
    aspects : `online`, `offline`, or a list of texts
    params  : further options of the method, and parameters of each call
    """

    samples: int = SAMPLES
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
        """The default name of the variant."""
        how = f"b{self.budget}" if self.budget is not None else f"c{self.samples}"
        scheme = "" if self.scheme == "tournament" else f"-{self.scheme}"
        return f"{how}{scheme}{'-online' if self.aspects in (ONLINE, ASKED) else ''}"


def build_tables_judge(*, endpoint: Endpoint, settings: TableSettings, seed: int = 1, name: str = "") -> Judge:
    """Return the stored judge, or an unsaved one, for an estimate.

    Raises: BadSettings for settings that don't fit together.
    """
    _check(settings)
    name = name or judge_name(endpoint, settings, seed)
    existing = Judge.objects.select_related("endpoint", "prompt_file").filter(name=name).first()
    judge = Judge(name=name, method=METHOD, endpoint=endpoint, params=settings.options, seed=seed)
    judge.params = fitted_params(judge, existing)
    check_judge(judge)
    return existing or judge


def _check(settings: TableSettings) -> None:
    if twice := OWN & settings.params.keys():
        raise BadSettings(f"{', '.join(sorted(twice))} can't be given as a parameter as well")
    if not isinstance(settings.aspects, tuple) and settings.aspects not in (ONLINE, OFFLINE, ASKED, FIXED):
        raise BadSettings(f"aspects are {ONLINE} or {OFFLINE}, got {settings.aspects!r}")


def default_variant(settings: TableSettings, aspects_name: str) -> str:
    """Return the default variant for these settings, with the version of the offline aspects if there is one."""
    version = aspects_name.rpartition(".")[2] if settings.aspects not in (ONLINE, ASKED) else ""
    return f"{settings.variant}-{version}" if re.fullmatch(r"v\d+", version) else settings.variant


def judge_name(endpoint: Endpoint, settings: TableSettings, seed: int) -> str:
    """Name a judge by its settings, with a hash of all of them."""
    settings_text = json.dumps([settings.options, seed], sort_keys=True)
    return f"sc2-{settings.variant}-{endpoint.name}"[:70] + f"-{hashlib.sha256(settings_text.encode()).hexdigest()[:6]}"


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
    """Start a run that creates a table of every pair and publishes it under a variant.

    seed, name : of the judge; by default a name derived from its settings
    queued : leave the work to a worker; `limit`: presentations to fill this time

    Tables that the same judge made before are published at once.
    Raises: BadSettings if the variant has tables of another judge, and as `start_run`; no judge is stored then.
    """
    Study.objects.select_for_update().get(pk=study.pk)  # serialises starts of the same variant
    _check(settings)
    name = name or judge_name(endpoint, settings, seed)
    judge, _ = add_judge(name=name, method=METHOD, endpoint=endpoint, params=settings.options, seed=seed)
    same = JudgeRun.objects.filter(study=study, judge=judge, batch=batch, filter_key=only.key, questions=[MAIN])
    if before := same.exclude(tables_as__in=["", variant]).values_list("tables_as", flat=True).first():
        raise BadSettings(f"the same tables exist as variant {before}; use another seed")
    run_settings: dict[str, Any] = {"batch": batch, "only": only, "in_flight": in_flight, "max_cost": max_cost}
    run_settings |= {"study": study, "judge": judge, "tables_as": variant}
    run = queue_run(**run_settings, limit=limit) if queued else start_run(**run_settings)
    publication = publication_of(run, "")
    if publication is not None:
        refuse_other_makers(publication)
    publish_tables(run)
    return run
