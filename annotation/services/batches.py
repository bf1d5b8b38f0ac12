"""Making batches: which instances, N pairs a HIT, R raters, and what the raters' answers are for."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import transaction
from django.db.models import Count, Q

from analysis import selection
from analysis.errors import AnalysisError
from annotation.configurations import Configuration, configuration
from annotation.errors import NotChosen
from annotation.gold import gold_verdict
from annotation.keys import new_seed
from annotation.models import Batch, Hit, HitPair, Matchup, Pair, SeparabilityRun, Study
from annotation.services.arm_tables import pairs_shown, refuse_missing_tables
from annotation.services.separability import needed_run
from annotation.services.slots import make_slots
from annotation.services.studies import validate
from annotation.tables import Selection, separabilities

_CHUNK = 500
MOST_RATERS = 1000
LONGEST_LEASE = 24 * 60  # minutes
MOST_CHECKS = 0.5  # of a rater's HITs, both kinds of hidden checks together
_SPEC = re.compile(
    r"all|ids|(?P<kind>random|top|importance):(?P<count>[1-9][0-9]{0,8})|stratified:(?P<bins>[1-9][0-9]{0,3})x(?P<per_bin>[1-9][0-9]{0,8})"
)


@dataclass(frozen=True)
class _Chosen:
    """Places in the pool, with each one's chance of being there where that is known."""

    places: Sequence[int]
    probabilities: Sequence[float] | None = None
    run: SeparabilityRun | None = None


@dataclass(frozen=True)
class _Pool:
    """Matchups that a HIT can be made of, in the order of the instances, and how many can't and why."""

    configuration: Configuration
    matchup_ids: tuple[int, ...]
    instance_ids: tuple[str, ...]
    left_out: dict[str, int]


@transaction.atomic
def create_batch(
    *,
    study: Study,
    name: str,
    dataset: str,
    systems: tuple[str, str],
    pairs: int,
    raters: int,
    select: str = "all",
    seed: int | None = None,
    instance_ids: Sequence[str] = (),
    similarity: str | None = None,
    purpose: str = Batch.Purpose.RATING,
    gold_rate: float = 0.0,
    repeat_rate: float = 0.0,
    lease_minutes: int = 60,
) -> tuple[Batch, bool]:
    """Make a batch of chosen instances, `pairs` pairs a HIT, `raters` slots a HIT; returns it and whether it is new.

    select  : all, random:N, top:N, stratified:BxN (N from each of B equal-width bins of separability),
              importance:N, or ids (with `instance_ids`)
    seed    : recorded; drawn when left out
    purpose : rating; or qualification or gold, which take only instances whose gold prefers one of the two systems,
              and whose HITs go to any number of raters, whatever `raters` says
    gold_rate, repeat_rate : shares of a rater's HITs that are hidden checks, of a batch for rating
    lease_minutes : how long a HIT stays claimed without activity
    Asking for the same batch again changes nothing.
    Raises: NotChosen saying why not; UnknownName when the study has no such configuration.
    """
    study = Study.objects.select_for_update().get(pk=study.pk)
    _refuse_purpose(purpose, gold_rate, repeat_rate)
    chosen_configuration = configuration(study, dataset=dataset, systems=systems)
    spec = {"spec": select, "instance_ids": sorted(instance_ids), "similarity": similarity}
    wanted: dict[str, Any] = {
        "dataset": dataset,
        "system_a": chosen_configuration.system_a,
        "system_b": chosen_configuration.system_b,
        "pairs_per_hit": pairs,
        "raters_per_hit": raters if purpose == Batch.Purpose.RATING else 1,
        "purpose": purpose,
        "gold_rate": gold_rate,
        "repeat_rate": repeat_rate,
        "lease_minutes": lease_minutes,
    }
    if existing := study.batches.filter(name=name).first():
        _refuse_other(existing, {**wanted, "seed": existing.seed if seed is None else seed}, spec)
        return existing, False
    batch = Batch(study=study, name=name, seed=new_seed() if seed is None else seed, **wanted)
    _refuse_numbers(pairs, raters, batch.seed, lease_minutes)
    _fill(batch, _pool(chosen_configuration, batch), spec)
    return batch, True


def _fill(batch: Batch, pool: _Pool, spec: dict[str, Any]) -> None:
    """Choose from the pool, and store the batch with its HITs."""
    rng = np.random.default_rng(batch.seed)
    chosen = _choose(pool, spec["spec"], spec["instance_ids"], spec["similarity"], rng)
    batch.selection = {
        "asked": spec,
        "spec": spec["spec"],
        "similarity": chosen.run.similarity if chosen.run else None,
        "pool": len(pool.matchup_ids),
        "left_out": pool.left_out,
    }
    validate(batch)
    batch.save()
    _make_hits(batch, pool, chosen, rng)
    if batch.study.is_two_stage:
        refuse_missing_tables(batch.study, batch.study.arms, pairs_shown(Batch.objects.filter(pk=batch.pk)))


def _refuse_other(existing: Batch, wanted: dict[str, Any], spec: dict[str, Any]) -> None:
    same = all(getattr(existing, key) == value for key, value in wanted.items())
    if not same or existing.selection.get("asked") != spec:
        raise NotChosen(f"the study has a batch {existing.name!r} already, made otherwise; choose another name")


def _refuse_purpose(purpose: str, gold_rate: float, repeat_rate: float) -> None:
    if purpose not in Batch.Purpose.values:
        raise NotChosen(f"the purpose is {purpose!r}; it must be one of {', '.join(Batch.Purpose.values)}")
    for name, rate in (("gold", gold_rate), ("repeat", repeat_rate)):
        if not 0 <= rate <= MOST_CHECKS:
            raise NotChosen(f"the {name} rate is {rate}; it must be from 0 to {MOST_CHECKS}")
    if gold_rate + repeat_rate > MOST_CHECKS:
        total = round(gold_rate + repeat_rate, 6)
        raise NotChosen(f"the gold and the repeat rate make {total}; together they may be {MOST_CHECKS} at most")
    if purpose != Batch.Purpose.RATING and (gold_rate or repeat_rate):
        raise NotChosen(f"a batch for {purpose} has no hidden checks; leave the gold and the repeat rate at 0")


def _refuse_numbers(pairs: int, raters: int, seed: int, lease_minutes: int) -> None:
    if pairs < 1:
        raise NotChosen(f"{pairs} pairs a HIT; it must be 1 or more")
    if not 1 <= raters <= MOST_RATERS:
        raise NotChosen(f"{raters} raters a HIT; it must be from 1 to {MOST_RATERS}")
    if not 1 <= lease_minutes <= LONGEST_LEASE:
        raise NotChosen(f"a HIT stays claimed for {lease_minutes} min; it must be from 1 to {LONGEST_LEASE}")
    if not 0 <= seed < 2**31:
        raise NotChosen(f"the seed is {seed}; it must be from 0 to {2**31 - 1}")


def _pool(configuration: Configuration, batch: Batch) -> _Pool:
    """Find the matchups that a rater can be shown: with a source text, enough pairs, and gold where that is needed."""
    matchups, pairs = configuration.matchups(), batch.pairs_per_hit
    without_source = matchups.filter(instance__source="").count()
    counted = matchups.exclude(instance__source="").annotate(available=Count("pairs"))
    left_out = {
        "without source text": without_source,
        f"with fewer than {pairs} pairs": counted.filter(available__lt=pairs).count(),
    }
    rows = list(counted.filter(available__gte=pairs).values_list("pk", "instance__instance_id", "instance__gold"))
    taken = _taken(configuration, batch)
    left_out[_taken_reason(batch)] = sum(row[0] in taken for row in rows)
    rows = [row for row in rows if row[0] not in taken]
    if batch.purpose != Batch.Purpose.RATING:
        problems = [_gold_problem(configuration, gold) for _, _, gold in rows]
        left_out |= Counter(problem for problem in problems if problem)
        rows = [row for row, problem in zip(rows, problems, strict=True) if not problem]
    left_out = {reason: count for reason, count in left_out.items() if count}
    if not rows:
        reasons = "; ".join(f"{count} {reason}" for reason, count in left_out.items())
        raise NotChosen(f"no instance of {configuration} can be rated: {reasons or 'there is none'}")
    return _Pool(configuration, tuple(row[0] for row in rows), tuple(row[1] for row in rows), left_out)


def _taken(configuration: Configuration, batch: Batch) -> set[int]:
    """Return the matchups that are asked for the other reason: one seen in a check can't be rated unknowing, or after."""
    rating = Q(batch__purpose=Batch.Purpose.RATING)
    placed = Hit.objects.filter(batch__study=configuration.study, batch__origin=Batch.Origin.COLLECTED)
    placed = placed.filter(~rating if batch.purpose == Batch.Purpose.RATING else rating)
    return set(placed.filter(matchup__in=_of(configuration)).values_list("matchup_id", flat=True))


def _taken_reason(batch: Batch) -> str:
    if batch.purpose == Batch.Purpose.RATING:
        return "on HITs of a qualification or of hidden checks"
    return "on HITs for rating"


def _gold_problem(configuration: Configuration, gold: dict[str, Any] | None) -> str | None:
    """Say why raters can't be held to an instance's gold."""
    verdict = gold_verdict(gold, configuration.system_a.name, configuration.system_b.name)
    if verdict is None:
        return "without a gold preference for these systems"
    if verdict == 0 and not configuration.study.ties_allowed:
        return "whose gold is a tie, which this study does not offer"
    return None


def _choose(
    pool: _Pool, spec: str, instance_ids: Sequence[str], similarity: str | None, rng: np.random.Generator
) -> _Chosen:
    match = _SPEC.fullmatch(spec)
    if match is None:
        raise NotChosen(
            f"selection is {spec!r}; it must be all, random:N, top:N, stratified:BxN, importance:N or ids:FILE"
        )
    if spec == "all":
        return _Chosen(range(len(pool.matchup_ids)))
    if spec == "ids":
        return _Chosen(_by_id(pool, instance_ids))
    try:
        return _by_rule(pool, match, similarity, rng)
    except AnalysisError as error:
        raise NotChosen(f"{spec} of {pool.configuration}: {error}") from None


def _by_rule(pool: _Pool, match: re.Match[str], similarity: str | None, rng: np.random.Generator) -> _Chosen:
    if match["kind"] == "random":
        return _Chosen(selection.choose_random(len(pool.matchup_ids), int(match["count"]), rng).tolist())
    run = needed_run(pool.configuration, similarity)
    values = separabilities(Selection(pool.configuration, pool.matchup_ids, pool.instance_ids, frozenset()), run)
    if match["kind"] == "top":
        return _Chosen(selection.choose_top(values, int(match["count"])).tolist(), run=run)
    if match["kind"] == "importance":
        sample = selection.choose_importance(values, int(match["count"]), rng)
        return _Chosen(sample.indices.tolist(), sample.probabilities.tolist(), run)
    places = selection.choose_stratified(values, int(match["bins"]), int(match["per_bin"]), rng)
    return _Chosen(places.tolist(), run=run)


def _by_id(pool: _Pool, instance_ids: Sequence[str]) -> list[int]:
    places = {instance_id: place for place, instance_id in enumerate(pool.instance_ids)}
    if unknown := [instance_id for instance_id in instance_ids if instance_id not in places]:
        shown = ", ".join(unknown[:10])
        raise NotChosen(f"{len(unknown)} of the ids can't be rated or are not in {pool.configuration}: {shown}")
    if not instance_ids:
        raise NotChosen("the list of ids is empty")
    return [places[instance_id] for instance_id in dict.fromkeys(instance_ids)]


def _make_hits(batch: Batch, pool: _Pool, chosen: _Chosen, rng: np.random.Generator) -> None:
    """Lay out the HITs in a seeded random order, each with its sample of pairs and R free slots."""
    probabilities: Sequence[float | None] = chosen.probabilities or [None] * len(chosen.places)
    order = rng.permutation(len(chosen.places))
    hits = Hit.objects.bulk_create(
        (
            Hit(
                batch=batch,
                matchup_id=pool.matchup_ids[place],
                position=int(position),
                inclusion_probability=probability,
            )
            for place, probability, position in zip(chosen.places, probabilities, order, strict=True)
        ),
        batch_size=_CHUNK,
    )
    pairs: dict[int, list[int]] = {}
    rows = Pair.objects.filter(matchup__in=_of(pool.configuration)).order_by("matchup_id", "index")
    for matchup_id, pair_id in rows.values_list("matchup_id", "pk"):
        pairs.setdefault(matchup_id, []).append(pair_id)
    links = []
    for hit in hits:
        available = pairs[hit.matchup_id]
        sample = sorted(rng.choice(len(available), size=batch.pairs_per_hit, replace=False))
        links += [HitPair(hit=hit, pair_id=available[place], position=p) for p, place in enumerate(sample)]
    HitPair.objects.bulk_create(links, batch_size=_CHUNK)
    if batch.purpose == Batch.Purpose.RATING:  # the others go to every rater
        make_slots(batch=batch, hits=hits, numbers=range(1, batch.raters_per_hit + 1))


def _of(configuration: Configuration) -> Any:
    return Matchup.objects.filter(pk__in=configuration.matchups().order_by().values("pk"))


def set_batch_status(*, batch: Batch, status: str) -> Batch:
    """Open, pause or close a batch; claims already made may be finished.

    Raises: NotChosen for an unknown state, for a batch whose ratings were imported, and for opening one whose pairs
    lack comparison tables: the study may have become one of two stages since.
    """
    if status not in Batch.Status.values:
        raise NotChosen(f"{status!r} is no state of a batch")
    if batch.origin == Batch.Origin.IMPORTED:
        raise NotChosen(f"the ratings of batch {batch.name} were imported; it can't be opened here")
    if status == Batch.Status.OPEN and batch.study.is_two_stage:
        refuse_missing_tables(batch.study, batch.study.arms, pairs_shown(Batch.objects.filter(pk=batch.pk)))
    batch.status = status
    batch.save(update_fields=["status"])
    return batch


def lacks_gold(batch: Batch) -> bool:
    """Tell whether a batch asks for gold HITs and there is no open batch, of pages as long, that they could come from."""
    if not batch.gold_rate:
        return False
    gold = batch.study.batches.open().filter(purpose=Batch.Purpose.GOLD, pairs_per_hit=batch.pairs_per_hit)
    return not gold.exists()
