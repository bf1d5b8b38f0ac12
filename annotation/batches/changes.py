"""Extend batches by raters and HITs, and copy them."""

from dataclasses import replace
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Max

from annotation.batches.sampling import (
    MOST_RATERS,
    ONE_DRAW,
    BatchSpec,
    SelectionSpec,
    choose_instances,
    own_settings,
    plan_hits,
)
from annotation.batches.services import add_hits, create_batch, refuse_archived, refuse_slots
from annotation.core.errors import InvalidSelection
from annotation.core.keys import new_seed
from annotation.hits.slots import make_slots
from annotation.models import Batch, Event, Study
from annotation.studies.configurations import Configuration
from annotation.studies.log import log
from annotation.studies.services import refuse_missing_tables


@transaction.atomic
def extend_batch(
    *,
    batch: Batch,
    reason: str,
    more_raters: int = 0,
    selection: SelectionSpec | None = None,
    seed: int | None = None,
    known_raters: int | None = None,
    known_hits: int | None = None,
    by: User | None = None,
) -> Batch:
    """Give every HIT of a batch more raters, add HITs of instances that are not in it yet, or both, and log it.

    New slots are numbered after the old ones, and new HITs queue after the old ones in a seeded random order, so
    existing assignments don't change and raters may be at work meanwhile.

    selection : from the remaining instances; None adds no HIT
    seed      : of the selection; recorded, drawn when left out
    known_raters, known_hits : the numbers that the sender saw; refused when they have changed
    Raises: InvalidSelection for a batch that can't grow so, or when nothing fits.
    """
    study = Study.objects.select_for_update().get(pk=batch.study_id)  # no other batch takes the same instances
    batch = Batch.objects.select_for_update(of=("self",)).select_related("system_a", "system_b").get(pk=batch.pk)
    batch.study = study
    spec = None if selection is None else extension_spec(batch, selection, more_raters, seed)
    refuse_extension(batch, more_raters, spec)
    hits = batch.hits.count()
    _refuse_outdated(batch, hits, known_raters, known_hits)
    changes: dict[str, Any] = {}
    refuse_slots(hits * more_raters, by)
    if more_raters:
        changes["raters_per_hit"] = [batch.raters_per_hit, batch.raters_per_hit + more_raters]
        _add_raters(batch, more_raters)
    if spec is not None:
        changes["hits"] = [hits, hits + _add_hits(batch, spec, by)]
    log(study=study, kind=Event.Kind.EXTENDED, batch=batch, by=by, reason=reason, changes=changes)
    return batch


def extension_spec(batch: Batch, selection: SelectionSpec, more_raters: int, seed: int | None) -> BatchSpec:
    """Return the specification of a batch's further HITs: like its own, for as many raters as it will have."""
    return BatchSpec(
        configuration=Configuration(batch.study, batch.dataset, batch.system_a, batch.system_b),
        pairs=batch.pairs_per_hit,
        raters=batch.raters_per_hit + more_raters,
        seed=new_seed() if seed is None else seed,
        selection=selection,
        **own_settings(batch),
    )


def refuse_extension(batch: Batch, more_raters: int, spec: BatchSpec | None) -> None:
    """Refuse what can't be added to a batch.

    Inclusion probabilities of `importance` and `active` belong to one draw: such a batch takes more raters but no more HITs,
    and no batch is extended by them. A stratified batch may grow: its HITs keep their inclusion probabilities,
    and added ones have none.
    Raises: InvalidSelection saying why.
    """
    refuse_growth(batch)
    if not more_raters and spec is None:
        raise InvalidSelection("nothing to add: give more raters or instances")
    if more_raters and batch.purpose != Batch.Purpose.RATING:
        raise InvalidSelection(f"batch {batch.name} goes to every rater ({batch.purpose}); there are no more to add")
    if more_raters < 0 or batch.raters_per_hit + more_raters > MOST_RATERS:
        limit = MOST_RATERS - batch.raters_per_hit
        raise InvalidSelection(f"{more_raters} more raters per HIT; allowed are 1 to {limit}")
    if spec is not None:
        _refuse_hits(batch, spec.selection)


def refuse_growth(batch: Batch) -> None:
    """Refuse a batch that can't be extended at all.

    Raises: InvalidSelection saying why.
    """
    refuse_archived(batch.study)
    if batch.origin == Batch.Origin.IMPORTED:
        raise InvalidSelection(f"the ratings of batch {batch.name} were imported; it can't be extended here")
    if batch.status == Batch.Status.CLOSED:
        raise InvalidSelection(f"batch {batch.name} is closed; open it again first")


def _refuse_hits(batch: Batch, selection: SelectionSpec) -> None:
    if batch.purpose == Batch.Purpose.QUALIFICATION:
        raise InvalidSelection(
            f"batch {batch.name} is a qualification: every rater gets the same HITs; create another batch"
        )
    if (kind := selection.match["kind"]) in ONE_DRAW:
        raise InvalidSelection(
            f"a batch can't be extended by {kind}, since its chances hold for one draw only; create another batch"
        )
    if (kind := batch.selection.get("asked", {}).get("spec", "").partition(":")[0]) in ONE_DRAW:
        raise InvalidSelection(
            f"batch {batch.name} was drawn by {kind}, and with more instances its chances would no longer hold; "
            "create another batch"
        )


def _refuse_outdated(batch: Batch, hits: int, known_raters: int | None, known_hits: int | None) -> None:
    for expected, has, unit in ((known_raters, batch.raters_per_hit, "raters per HIT"), (known_hits, hits, "HITs")):
        if expected is not None and expected != has:
            raise InvalidSelection(
                f"batch {batch.name} has been extended meanwhile: it has {has} {unit}, not {expected}"
            )


def _add_raters(batch: Batch, more: int) -> None:
    first = batch.raters_per_hit + 1
    batch.selection.setdefault("raters_at_first", batch.raters_per_hit)
    batch.raters_per_hit += more
    batch.save(update_fields=["raters_per_hit", "selection"])
    make_slots(batch=batch, hits=batch.hits.order_by("position"), numbers=range(first, first + more))


def _add_hits(batch: Batch, spec: BatchSpec, by: User | None) -> int:
    choice = choose_instances(spec, batch)
    refuse_slots(len(choice.sample.places) * batch.raters_per_hit, by)
    after = (batch.hits.aggregate(last=Max("position"))["last"] or 0) + 1
    hits = add_hits(batch=batch, plans=plan_hits(choice, batch.pairs_per_hit), after=after)
    refuse_missing_tables(batch.study, batch.study.batches.filter(pk=batch.pk))
    batch.selection.setdefault("extensions", []).append(
        {
            "asked": spec.selection.as_json,
            "seed": spec.seed,
            **choice.sample.provenance,
            "pool": len(choice.pool.matchup_ids),
            "left_out": choice.pool.stored_left_out,
            "from_position": after,
            "hits": len(hits),
        }
    )
    batch.save(update_fields=["selection"])
    return len(hits)


def copy_batch(
    *,
    batch: Batch,
    name: str,
    configuration: Configuration | None = None,
    seed: int | None = None,
    status: str = Batch.Status.DRAFT,
    by: User | None = None,
) -> tuple[Batch, bool]:
    """Create a batch, a draft by default, with the settings of another one, for the same or another configuration.

    The copy has the present settings, extensions by raters included, and a seed of its own, so that instances, pairs
    and order are drawn again. HITs added by extensions are not copied.
    Raises: InvalidSelection saying why it can't be copied; UnknownName for another study's configuration.
    """
    spec = replace(spec_of(batch), seed=new_seed() if seed is None else seed)
    if configuration is not None:
        spec = replace(spec, configuration=configuration)
    return create_batch(spec=spec, name=name, status=status, by=by, drawn=seed is None)


def spec_of(batch: Batch) -> BatchSpec:
    """Return the specification by which such a batch is created.

    Raises: InvalidSelection for a batch of imported ratings, whose selection is unknown.
    """
    requested = batch.selection.get("asked")
    if batch.origin == Batch.Origin.IMPORTED or requested is None:
        raise InvalidSelection(f"the ratings of batch {batch.name} were imported; there is nothing to copy")
    selection = SelectionSpec(requested["spec"], requested["instance_ids"], requested["similarity"])
    return extension_spec(batch, selection, 0, batch.seed)
