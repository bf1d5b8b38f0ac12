"""Batches over all systems of a data set by a design: one batch for each pair of systems, whose HITs come in one common order."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
from django.contrib.auth.models import User
from django.db import transaction

from analysis.errors import AnalysisError
from analysis.planning.designs import balanced_design, neighbour_design
from analysis.planning.selection import choose_random
from analysis.planning.workload import combined
from analysis.ranking.bradley_terry import bradley_terry
from analysis.types import BoolArray, IntArray
from annotation.batches.forecast import NO_FEE, BatchForecast, work_of
from annotation.batches.sampling import (
    BatchSpec,
    Choice,
    HitPlan,
    InstanceSample,
    Pool,
    SelectionSpec,
    own_settings,
    places_of,
    plan_hits,
    pool_of,
    validate_spec,
)
from annotation.batches.services import may_become, refuse_archived, refuse_slots, set_batch_status, store_batch
from annotation.core.errors import InvalidSelection, UnknownName
from annotation.core.reasons import Reason, reason
from annotation.models import Batch, Study
from annotation.studies.configurations import Configuration, configurations
from annotation.studies.outcomes import human_answers_on_each, select_each

ALL, BALANCED, SWISS = "all", "balanced", "swiss"
DESIGNS = "all, balanced:N (N pairs of systems on each instance) or swiss (neighbours in people's ranking so far)"
_DESIGN = re.compile(r"all|swiss|balanced:(?P<per_instance>[1-9][0-9]{0,3})")


@dataclass(frozen=True)
class Part:
    """The part of a design that one pair of systems has."""

    spec: BatchSpec
    choice: Choice
    plans: list[HitPlan]


@dataclass(frozen=True)
class Layout:
    """A design on instances of a data set.

    parts : for each pair of systems that is compared
    order : the ranking whose neighbours meet, the best first; none for other designs
    """

    design: str
    instance_ids: Sequence[str]
    available: int
    left_out: dict[Reason, int]
    parts: list[Part]
    order: Sequence[str] = ()

    @property
    def hits(self) -> int:
        """Number of HITs of all batches."""
        return sum(len(part.plans) for part in self.parts)


def lay_out(spec: BatchSpec, design: str) -> Layout:
    """Choose instances, and pairs of systems for each, by the seed. Only the data set of `spec.configuration` counts.

    Raises: InvalidSelection saying why not
    """
    validate_spec(spec)
    match = _DESIGN.fullmatch(design)
    if match is None:
        raise InvalidSelection(f"the design is {design!r}; it must be {DESIGNS}")
    if not spec.for_rating:
        raise InvalidSelection(
            "a design is for ratings; create qualifications and hidden checks for one pair of systems"
        )
    study, dataset = spec.configuration.study, spec.configuration.dataset
    compared = [item for item in configurations(study) if item.dataset == dataset]
    if len(compared) < 2:
        raise InvalidSelection(f"only two systems are compared in {dataset}; a design is for more")
    pools = [pool_of(replace(spec, configuration=item)) for item in compared]
    rng = np.random.default_rng(spec.seed)
    names_of_instances = {name for pool in pools for name in pool.instance_ids}
    in_order = study.instances.filter(dataset=dataset).order_by("position").values_list("instance_id", flat=True)
    ids = [name for name in in_order if name in names_of_instances]
    selected = [ids[index] for index in _instances(ids, spec.selection, dataset, rng)]
    ids_of_pools = [set(pool.instance_ids) for pool in pools]
    has = np.array([[name in item for item in ids_of_pools] for name in selected], dtype=bool).reshape(-1, len(pools))
    names = sorted({system.name for item in compared for system in (item.system_a, item.system_b)})
    ends = np.array([[names.index(item.system_a.name), names.index(item.system_b.name)] for item in compared])
    order = _ranking(study, names, rng) if design == SWISS else np.empty(0, dtype=np.int64)
    used = has
    if match["per_instance"]:
        used = balanced_design(has, ends, int(match["per_instance"]), rng)
    elif design == SWISS:
        used = neighbour_design(has, ends, order)
    left_out = {
        reason("of_configuration", why=why, configuration=str(pool.configuration)): number
        for pool in pools
        for why, number in pool.left_out.items()
    }
    parts = _parts(spec, pools, selected, used, rng)
    return Layout(design, selected, len(ids), left_out, parts, [names[code] for code in order])


def _instances(ids: Sequence[str], selection: SelectionSpec, dataset: str, rng: np.random.Generator) -> Sequence[int]:
    """Return the indexes of the selected instances. Separability can't be used: each pair of systems has another."""
    match = selection.match
    if selection.spec == "all":
        return range(len(ids))
    if selection.spec == "ids":
        return sorted(places_of(selection.instance_ids, ids, dataset))
    if match["kind"] != "random":
        raise InvalidSelection(
            f"a design takes all instances, random:N or ids, got {selection.spec}: each pair of systems has its "
            "own separability"
        )
    try:
        indexes: list[int] = choose_random(len(ids), int(match["count"]), rng).tolist()
    except AnalysisError as error:
        raise InvalidSelection(f"{selection.spec} of {dataset}: {error}") from None
    return indexes


def _parts(
    spec: BatchSpec, pools: Sequence[Pool], ids: Sequence[str], used: BoolArray, rng: np.random.Generator
) -> list[Part]:
    """Plan the HITs of each pair of systems. Positions are drawn for all together, so that raters meet pairs mixed."""
    positions = iter(rng.permutation(int(used.sum())).tolist())
    parts = []
    for pool, column in zip(pools, used.T, strict=True):
        own = [name for name, has in zip(ids, column.tolist(), strict=True) if has]
        if own:
            choice = Choice(pool, InstanceSample(places_of(own, pool.instance_ids, pool.configuration)), rng)
            part = replace(spec, configuration=pool.configuration, selection=SelectionSpec("ids", own))
            parts.append(Part(part, choice, plan_hits(choice, spec.pairs, [next(positions) for _ in own])))
    return parts


def _ranking(study: Study, names: Sequence[str], rng: np.random.Generator) -> IntArray:
    """Rank the systems by people's first votes so far, in all data sets, and equal ones at random."""
    everything = configurations(study, checks=False)
    votes = [answers.rated.outcomes.verdict for answers in human_answers_on_each(study, select_each(study, everything))]
    codes = {name: code for code, name in enumerate(names)}
    rows = [
        (codes[answers.system_a.name], codes[answers.system_b.name], verdict)
        for answers, verdict in zip(everything, votes, strict=True)
        if answers.system_a.name in codes and answers.system_b.name in codes
    ]
    sizes = [len(verdict) for *_, verdict in rows]
    a, b = (np.repeat(np.array([row[side] for row in rows], dtype=np.int64), sizes) for side in (0, 1))
    verdict = np.concatenate([np.empty(0), *(row[2] for row in rows)])
    strengths = bradley_terry(a, b, (1 - verdict) / 2, n_systems=len(names)).strengths.round(9)
    drawn = rng.permutation(len(names))
    ranked: IntArray = drawn[np.argsort(-strengths[drawn], kind="stable")]  # NaN, never compared, comes last
    return ranked


def design_forecast(spec: BatchSpec, design: str, *, fee_percent: Decimal = NO_FEE) -> BatchForecast:
    """Forecast the batches of a design. Made with the same seed they have the same HITs.

    Raises: InvalidSelection saying why they can't be made
    """
    layout = lay_out(spec, design)
    works = [work for part in layout.parts if (work := work_of(spec, len(part.plans), spec.raters, fee_percent))]
    return BatchForecast(
        seed=spec.seed,
        pool=layout.available,
        chosen=len(layout.instance_ids),
        left_out=layout.left_out,
        instance_ids=layout.instance_ids,
        hits=layout.hits,
        pairs=layout.hits * spec.pairs,
        work=combined(works, most_in_study=spec.configuration.study.most_hits_per_rater),
        currency=spec.configuration.study.currency,
        similarity=None,
        bars=(),
        by_systems=[(_systems(part.spec.configuration), len(part.plans)) for part in layout.parts],
    )


@transaction.atomic
def create_design(
    *,
    spec: BatchSpec,
    design: str,
    name: str,
    status: str = Batch.Status.OPEN,
    by: User | None = None,
    drawn: bool = False,
) -> tuple[list[Batch], bool]:
    """Create one batch, `NAME: A / B`, for each pair of systems of a design. Return them and whether they are new.

    drawn : the seed was drawn now: batches that were made with another one are the same
    Creating the same again changes nothing. A Swiss round depends on the ranking at that time, which the batches keep.
    Raises: InvalidSelection saying why not
    """
    study = Study.objects.select_for_update().get(pk=spec.configuration.study.pk)
    requested = {**_asked(spec), "design": design, **({} if drawn else {"seed": spec.seed})}
    if existing := batches_of_design(study, name):
        before = existing[0].selection["design"]["asked"]
        if {**before, **requested} != before:
            raise InvalidSelection(f"the study has a design {name} with other settings; choose another name")
        return existing, False
    refuse_archived(study)
    layout = lay_out(spec, design)
    refuse_slots(layout.hits * spec.raters, by)
    recorded = {"name": name, "asked": {**requested, "seed": spec.seed}, "order": list(layout.order)}
    batches = [
        store_batch(
            study=study,
            name=f"{name}: {_systems(part.spec.configuration)}",
            spec=part.spec,
            choice=part.choice,
            plans=part.plans,
            status=status,
            by=by,
            design=recorded,
        )
        for part in layout.parts
    ]
    return batches, True


def design_of(batch: Batch) -> str:
    """Return the name of the design that a batch belongs to, or an empty string if none."""
    name: str = batch.selection.get("design", {}).get("name", "")
    return name


def batches_of_design(study: Study, name: str) -> list[Batch]:
    """List the batches of a design."""
    return list(study.batches.filter(selection__design__name=name).select_related("study", "system_a", "system_b"))


@transaction.atomic
def set_design_status(
    *, study: Study, name: str, status: str = "", stop_rule: str = "", by: User | None = None, reason: str = ""
) -> list[Batch]:
    """Open, pause or close all batches of a design that allow it, or change their stop rule. Return them.

    Closed ones are opened again only when all are closed.
    Raises: UnknownName listing the study's designs; InvalidSelection as `set_batch_status`, also where no batch can change
    """
    batches = batches_of_design(study, name)
    if not batches:
        names = sorted(
            set(study.batches.exclude(selection__design=None).values_list("selection__design__name", flat=True))
        )
        raise UnknownName(f"study {study.slug} has no design {name!r}; it has: {', '.join(names) or 'none yet'}")
    running = [candidate for candidate in batches if candidate.status != Batch.Status.CLOSED] or batches
    able = [
        candidate for candidate in running if status in ("", candidate.status) or may_become(candidate.status, status)
    ]
    for batch in able or batches:
        set_batch_status(batch=batch, status=status, stop_rule=stop_rule, by=by, reason=reason)
    return able


def _asked(spec: BatchSpec) -> dict[str, Any]:
    settings = {"dataset": spec.configuration.dataset, "selection": spec.selection.as_json, **own_settings(spec)}
    del settings["purpose"]  # always rating
    return {**settings, "pairs": spec.pairs, "raters": spec.raters}


def _systems(configuration: Configuration) -> str:
    return f"{configuration.system_a.name} / {configuration.system_b.name}"
