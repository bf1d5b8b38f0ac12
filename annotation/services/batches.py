"""Making batches, and opening, pausing and closing them."""

from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from annotation.configurations import configuration
from annotation.errors import NotChosen
from annotation.keys import new_seed
from annotation.models import Batch, Event, Hit, HitPair, Study
from annotation.services.arm_tables import pairs_shown, refuse_missing_tables
from annotation.services.choosing import (
    LONGEST_LEASE,
    MOST_CHECKS,
    MOST_RATERS,
    Asked,
    LaidOut,
    Wanted,
    choose,
    lay_out,
)
from annotation.services.log import log
from annotation.services.slots import make_slots
from annotation.services.studies import validate

__all__ = ["LONGEST_LEASE", "MOST_CHECKS", "MOST_RATERS", "add_hits", "create_batch", "lacks_gold", "set_batch_status"]

MOST_SLOTS = 100_000

_CHUNK = 500
_AT_FIRST = (Batch.Status.OPEN, Batch.Status.DRAFT)
# Nothing leads back to a draft: what was launched has been seen.
_NEXT: dict[str, tuple[str, ...]] = {
    Batch.Status.DRAFT: (Batch.Status.OPEN, Batch.Status.CLOSED),
    Batch.Status.OPEN: (Batch.Status.PAUSED, Batch.Status.CLOSED),
    Batch.Status.PAUSED: (Batch.Status.OPEN, Batch.Status.CLOSED),
    Batch.Status.CLOSED: (Batch.Status.OPEN,),
}
_LOGGED = {
    Batch.Status.OPEN: Event.Kind.LAUNCHED,
    Batch.Status.PAUSED: Event.Kind.PAUSED,
    Batch.Status.CLOSED: Event.Kind.CLOSED,
}


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
    most_hits_per_rater: int | None = None,
    status: str = Batch.Status.OPEN,
    by: User | None = None,
) -> tuple[Batch, bool]:
    """Make a batch of chosen instances, `pairs` pairs a HIT, `raters` slots a HIT; returns it and whether it is new.

    select  : all, random:N, top:N, stratified:BxN (N from each of B equal-width bins of separability),
              importance:N, or ids (with `instance_ids`)
    seed    : recorded; drawn when left out
    purpose : rating; or qualification or gold, which take only instances whose gold prefers one of the two systems,
              and whose HITs go to any number of raters, whatever `raters` says
    gold_rate, repeat_rate : shares of a rater's HITs that are hidden checks, of a batch for rating
    lease_minutes : how long a HIT stays claimed without activity
    most_hits_per_rater : of this batch; no limit when left out
    status  : open; or draft, of which nothing is given out until it is launched
    Asking for the same batch again changes nothing, whatever has become of it since.
    Raises: NotChosen saying why not; UnknownName when the study has no such configuration.
    """
    study = Study.objects.select_for_update().get(pk=study.pk)
    wanted = Wanted(
        configuration=configuration(study, dataset=dataset, systems=systems),
        pairs=pairs,
        raters=raters,
        seed=new_seed() if seed is None else seed,
        asked=Asked(select, instance_ids, similarity),
        purpose=purpose,
        gold_rate=gold_rate,
        repeat_rate=repeat_rate,
        lease_minutes=lease_minutes,
        most_hits_per_rater=most_hits_per_rater,
    )
    if existing := study.batches.filter(name=name).first():
        _refuse_other(existing, wanted, same_seed=seed is None)
        return existing, False
    if status not in _AT_FIRST:
        raise NotChosen(f"a new batch can't be {status!r}; it is open or a draft")
    refuse_archived(study)
    return _make(study, name, wanted, status, by), True


def _make(study: Study, name: str, wanted: Wanted, status: str, by: User | None) -> Batch:
    choice = choose(wanted)
    batch = Batch(study=study, name=name, status=status, seed=wanted.seed, **_columns(wanted))
    batch.selection = {
        "asked": wanted.asked.stored,
        "spec": wanted.asked.spec,
        **choice.chosen.by,
        "pool": len(choice.pool.matchup_ids),
        "left_out": choice.pool.left_out,
    }
    if status == Batch.Status.OPEN:
        batch.launched_at = timezone.now()
    validate(batch)
    batch.save()
    refuse_slots(len(choice.chosen.places) * batch.raters_per_hit, by)
    add_hits(batch=batch, laid_out=lay_out(choice, batch.pairs_per_hit))
    if status == Batch.Status.OPEN:
        _refuse_without_tables(batch)
        log(study=study, kind=Event.Kind.LAUNCHED, batch=batch, by=by, at=batch.launched_at)
    return batch


def _columns(wanted: Wanted) -> dict[str, Any]:
    """Return what a batch's columns hold of what was asked for."""
    return {
        "dataset": wanted.configuration.dataset,
        "system_a": wanted.configuration.system_a,
        "system_b": wanted.configuration.system_b,
        "pairs_per_hit": wanted.pairs,
        "raters_per_hit": wanted.raters if wanted.for_rating else 1,
        **{
            name: getattr(wanted, name)
            for name in ("purpose", "gold_rate", "repeat_rate", "lease_minutes", "most_hits_per_rater")
        },
    }


def _refuse_other(existing: Batch, wanted: Wanted, *, same_seed: bool) -> None:
    columns = {**_columns(wanted), "seed": existing.seed if same_seed else wanted.seed}
    made = {name: getattr(existing, name) for name in columns}
    made["raters_per_hit"] = existing.selection.get("raters_at_first", existing.raters_per_hit)
    if made != columns or existing.selection.get("asked") != wanted.asked.stored:
        raise NotChosen(f"the study has a batch {existing.name!r} already, made otherwise; choose another name")


def refuse_slots(slots: int, by: User | None) -> None:
    """Refuse to make more slots for a person's request than can be made while raters wait; a command may.

    Raises: NotChosen.
    """
    if by is not None and slots > MOST_SLOTS:
        raise NotChosen(
            f"{slots:,} slots (HITs × raters) are more than a page makes at once, which is {MOST_SLOTS:,}; "
            "choose fewer instances or raters, or make it with manage.py create_batch or extend_batch"
        )


def refuse_archived(study: Study) -> None:
    """Refuse to give out work of a study that was put away.

    Raises: NotChosen.
    """
    if study.archived_at is not None:
        raise NotChosen(f"study {study.slug} is in the archive; take it out first")


def add_hits(*, batch: Batch, laid_out: Sequence[LaidOut], after: int = 0) -> list[Hit]:
    """Store a batch's HITs with their pairs and R free slots each, from the place `after` of its queue on."""
    hits = Hit.objects.bulk_create(
        (
            Hit(
                batch=batch,
                matchup_id=one.matchup_id,
                position=after + one.place,
                inclusion_probability=one.probability,
            )
            for one in laid_out
        ),
        batch_size=_CHUNK,
    )
    HitPair.objects.bulk_create(
        (
            HitPair(hit=hit, pair_id=pair_id, position=position)
            for hit, one in zip(hits, laid_out, strict=True)
            for position, pair_id in enumerate(one.pair_ids)
        ),
        batch_size=_CHUNK,
    )
    if batch.purpose == Batch.Purpose.RATING:  # the others go to every rater
        make_slots(batch=batch, hits=hits, numbers=range(1, batch.raters_per_hit + 1))
    return hits


@transaction.atomic
def set_batch_status(*, batch: Batch, status: str, by: User | None = None, reason: str = "") -> Batch:
    """Open, pause or close a batch, and log it; claims already made may be finished.

    A draft is launched or closed, an open batch paused or closed, a paused one opened or closed, and a closed one
    opened again; the state that it is in already changes nothing.
    Raises: NotChosen for an unknown state or a step that there is not, for a batch whose ratings were imported, for
    opening one of a study in the archive, or one whose pairs lack comparison tables: the study may have become one of
    two stages since.
    """
    if status not in Batch.Status.values:
        raise NotChosen(f"{status!r} is no state of a batch")
    if batch.origin == Batch.Origin.IMPORTED:
        raise NotChosen(f"the ratings of batch {batch.name} were imported; it can't be opened here")
    now = Batch.objects.select_for_update(of=("self",)).select_related("study").get(pk=batch.pk)
    before = now.status
    if status != before:
        if status not in _NEXT[before]:
            raise NotChosen(f"batch {now.name} is {before}; it can become {' or '.join(_NEXT[before])}, not {status}")
        if status == Batch.Status.OPEN:
            refuse_archived(now.study)
            _refuse_without_tables(now)
        _step(now, status)
        log(
            study=now.study,
            kind=_LOGGED[Batch.Status(status)],
            batch=now,
            by=by,
            reason=reason,
            changes={"status": [before, status]},
        )
    for name in ("status", "launched_at", "closed_at"):
        setattr(batch, name, getattr(now, name))
    return batch


def _step(batch: Batch, status: str) -> None:
    at = timezone.now()
    batch.status = status
    if status == Batch.Status.OPEN and batch.launched_at is None:
        batch.launched_at = at
    batch.closed_at = at if status == Batch.Status.CLOSED else None
    batch.save(update_fields=["status", "launched_at", "closed_at"])


def _refuse_without_tables(batch: Batch) -> None:
    if batch.study.is_two_stage:
        refuse_missing_tables(batch.study, batch.study.arms, pairs_shown(Batch.objects.filter(pk=batch.pk)))


def lacks_gold(batch: Batch) -> bool:
    """Tell whether a batch asks for gold HITs and there is no open batch, of pages as long, that they could come from."""
    if not batch.gold_rate:
        return False
    gold = batch.study.batches.open().filter(purpose=Batch.Purpose.GOLD, pairs_per_hit=batch.pairs_per_hit)
    return not gold.exists()
