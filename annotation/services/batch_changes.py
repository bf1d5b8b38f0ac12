"""What becomes of a batch later: more raters, more HITs, and others made after its pattern."""

from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Max

from annotation.configurations import Configuration
from annotation.errors import NotChosen, Unacceptable
from annotation.keys import new_seed
from annotation.models import Batch, Event, Study
from annotation.services.arm_tables import pairs_shown, refuse_missing_tables
from annotation.services.batches import add_hits, create_batch, refuse_archived, refuse_slots
from annotation.services.choosing import MOST_RATERS, Asked, Wanted, choose, lay_out
from annotation.services.log import log
from annotation.services.slots import make_slots

LONGEST_REASON = 2000


@transaction.atomic
def extend_batch(
    *,
    batch: Batch,
    reason: str,
    more_raters: int = 0,
    select: str | None = None,
    instance_ids: Sequence[str] = (),
    similarity: str | None = None,
    seed: int | None = None,
    known_raters: int | None = None,
    known_hits: int | None = None,
    by: User | None = None,
) -> Batch:
    """Give every HIT of a batch more raters, add HITs of instances that are not in it yet, or both; it is logged.

    New places have the numbers after the old ones, and new HITs stand after the old ones in a seeded random order, so
    nothing that was given out changes, and raters may be at work meanwhile.

    select : as for `create_batch`, from the instances left; None adds no HIT
    seed   : of the choice; recorded, drawn when left out
    known_raters, known_hits : what the sender knows the batch to have; where that is no longer so, nothing is done
    Raises: Unacceptable without a reason; NotChosen for a batch that can't grow so, or when nothing fits.
    """
    reason = reason.replace("\x00", "").strip()
    if not reason:
        raise Unacceptable("please say why the batch is extended: it is shown with the results")
    if len(reason) > LONGEST_REASON:
        raise Unacceptable(f"the reason is longer than {LONGEST_REASON} characters")
    study = Study.objects.select_for_update().get(pk=batch.study_id)  # so that no other batch takes the same instances
    batch = Batch.objects.select_for_update(of=("self",)).select_related("system_a", "system_b").get(pk=batch.pk)
    batch.study = study
    wanted = None if select is None else wanted_more(batch, Asked(select, instance_ids, similarity), more_raters, seed)
    refuse_extension(batch, more_raters, wanted)
    hits = batch.hits.count()
    _refuse_outdated(batch, hits, known_raters, known_hits)
    changes: dict[str, Any] = {}
    refuse_slots(hits * more_raters, by)
    if more_raters:
        changes["raters_per_hit"] = [batch.raters_per_hit, batch.raters_per_hit + more_raters]
        _add_raters(batch, more_raters)
    if wanted is not None:
        changes["hits"] = [hits, hits + _add_hits(batch, wanted, by)]
    log(study=study, kind=Event.Kind.EXTENDED, batch=batch, by=by, reason=reason, changes=changes)
    return batch


def wanted_more(batch: Batch, asked: Asked, more_raters: int, seed: int | None) -> Wanted:
    """Return what HITs a batch is to be extended by: as those that it has, for as many raters as it will have."""
    return Wanted(
        configuration=Configuration(batch.study, batch.dataset, batch.system_a, batch.system_b),
        pairs=batch.pairs_per_hit,
        raters=batch.raters_per_hit + more_raters,
        seed=new_seed() if seed is None else seed,
        asked=asked,
        purpose=batch.purpose,
        gold_rate=batch.gold_rate,
        repeat_rate=batch.repeat_rate,
        lease_minutes=batch.lease_minutes,
        most_hits_per_rater=batch.most_hits_per_rater,
    )


def refuse_extension(batch: Batch, more_raters: int, wanted: Wanted | None) -> None:
    """Refuse what can't be added to a batch.

    Chances of importance sampling are those of one draw: a batch that was drawn so takes more raters but no more HITs,
    and no batch is extended by such a draw. Make another batch of the instances that are left. One by strata may grow:
    what it had keeps the chances of its draw, and what is added has none.
    Raises: NotChosen saying why.
    """
    refuse_growth(batch)
    if not more_raters and wanted is None:
        raise NotChosen("nothing to add: name more raters, or instances to be added")
    if more_raters and batch.purpose != Batch.Purpose.RATING:
        raise NotChosen(f"batch {batch.name} goes to every rater ({batch.purpose}); there are no more to add")
    if more_raters < 0 or batch.raters_per_hit + more_raters > MOST_RATERS:
        most = MOST_RATERS - batch.raters_per_hit
        raise NotChosen(
            f"{more_raters} more raters a HIT; it must be from 1 to {most}, since {MOST_RATERS} are the most"
        )
    if wanted is not None:
        _refuse_hits(batch, wanted.asked)


def refuse_growth(batch: Batch) -> None:
    """Refuse a batch that can't be extended by anything.

    Raises: NotChosen saying why.
    """
    refuse_archived(batch.study)
    if batch.origin == Batch.Origin.IMPORTED:
        raise NotChosen(f"the ratings of batch {batch.name} were imported; it can't be extended here")
    if batch.status == Batch.Status.CLOSED:
        raise NotChosen(f"batch {batch.name} is closed; open it again first")


def _refuse_hits(batch: Batch, asked: Asked) -> None:
    if batch.purpose == Batch.Purpose.QUALIFICATION:
        raise NotChosen(f"batch {batch.name} is a qualification: every rater is to be asked the same; make another one")
    if asked.match["kind"] == "importance":
        raise NotChosen(
            "a batch can't be extended by importance: the chances would be those of no one draw; make another batch"
        )
    if batch.selection.get("asked", {}).get("spec", "").startswith("importance:"):
        raise NotChosen(
            f"batch {batch.name} was drawn by importance, and with other instances its chances would no longer hold; "
            "make another batch"
        )


def _refuse_outdated(batch: Batch, hits: int, known_raters: int | None, known_hits: int | None) -> None:
    for known, has, what in ((known_raters, batch.raters_per_hit, "raters a HIT"), (known_hits, hits, "HITs")):
        if known is not None and known != has:
            raise NotChosen(f"batch {batch.name} has been extended meanwhile: it has {has} {what}, not {known}")


def _add_raters(batch: Batch, more: int) -> None:
    first = batch.raters_per_hit + 1
    batch.selection.setdefault("raters_at_first", batch.raters_per_hit)
    batch.raters_per_hit += more
    batch.save(update_fields=["raters_per_hit", "selection"])
    make_slots(batch=batch, hits=batch.hits.order_by("position"), numbers=range(first, first + more))


def _add_hits(batch: Batch, wanted: Wanted, by: User | None) -> int:
    choice = choose(wanted, batch)
    refuse_slots(len(choice.chosen.places) * batch.raters_per_hit, by)
    after = (batch.hits.aggregate(last=Max("position"))["last"] or 0) + 1
    hits = add_hits(batch=batch, laid_out=lay_out(choice, batch.pairs_per_hit), after=after)
    if batch.study.is_two_stage:
        refuse_missing_tables(batch.study, batch.study.arms, pairs_shown(Batch.objects.filter(pk=batch.pk)))
    batch.selection.setdefault("extensions", []).append(
        {
            "asked": wanted.asked.stored,
            "seed": wanted.seed,
            **choice.chosen.by,
            "pool": len(choice.pool.matchup_ids),
            "left_out": choice.pool.left_out,
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
    """Make a batch after the pattern of another one, of the same or another configuration; a draft unless told otherwise.

    Everything is as it is with the pattern now, extensions by raters included, but the seed, so that instances, pairs
    and order are drawn anew. HITs that were added to the pattern later are not added here.
    Raises: NotChosen saying why it can't be; UnknownName for another study's configuration.
    """
    settings = settings_of(batch)
    if configuration is not None:
        settings |= {
            "dataset": configuration.dataset,
            "systems": (configuration.system_a.name, configuration.system_b.name),
        }
    return create_batch(study=batch.study, name=name, seed=seed, status=status, by=by, **settings)


def settings_of(batch: Batch) -> dict[str, Any]:
    """Return what `create_batch` would be asked for to make such a batch again, but for name, seed and state.

    Raises: NotChosen for a batch whose ratings were imported: nothing says how it was chosen.
    """
    asked = batch.selection.get("asked")
    if batch.origin == Batch.Origin.IMPORTED or asked is None:
        raise NotChosen(f"the ratings of batch {batch.name} were imported; there is nothing to copy")
    return {
        "dataset": batch.dataset,
        "systems": (batch.system_a.name, batch.system_b.name),
        "pairs": batch.pairs_per_hit,
        "raters": batch.raters_per_hit,
        "select": asked["spec"],
        "instance_ids": asked["instance_ids"],
        "similarity": asked["similarity"],
        **{
            name: getattr(batch, name)
            for name in ("purpose", "gold_rate", "repeat_rate", "lease_minutes", "most_hits_per_rater")
        },
    }
