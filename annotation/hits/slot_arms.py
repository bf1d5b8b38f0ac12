"""Reserving a HIT's slots for arms, so that each pair is rated by equally many raters of every arm."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from random import Random

from annotation.hits.displays import derived_seed
from annotation.models import Slot, Study
from annotation.models.hits import SlotQuerySet
from annotation.models.studies import ArmUnit

_CHUNK = 1000


def are_reserved(study: Study) -> bool:
    """Tell whether the study reserves slots for arms: raters are split into arms, which are to be balanced."""
    return study.is_two_stage and study.arm_unit == ArmUnit.RATER and study.balance_arms


def reserve(slots: SlotQuerySet) -> None:
    """Assign arms to the free ones of these slots, which must include all slots of each HIT.

    Of R slots every arm gets R // arms, counting those that its raters hold; the remainder is open to all arms.
    """
    rows = (
        slots.select_for_update(of=("self",)).select_related("assignment", "batch__study").order_by("hit_id", "number")
    )
    changed = []
    for hit_id, group in groupby(rows, key=lambda slot: slot.hit_id):
        own = list(group)
        study = own[0].batch.study
        free = [slot for slot in own if slot.assignment is None]
        held_arms = [slot.assignment.arm for slot in own if slot.assignment is not None]
        names = reserved_arms(study, hit_id, len(own), held_arms) if are_reserved(study) else [""] * len(free)
        for slot, arm in zip(free, names, strict=True):
            if slot.arm != arm:
                slot.arm = arm
                changed.append(slot)
    Slot.objects.bulk_update(changed, ["arm"], batch_size=_CHUNK)


def reserved_arms(study: Study, hit_id: int, slots: int, held_arms: Iterable[str]) -> Sequence[str]:
    """Return the arms of a HIT's free slots ("" for any), in an order drawn from the study's seed.

    slots     : number of the HIT's slots
    held_arms : the arms of the raters who hold or fill one
    """
    have = Counter(held_arms)
    free = slots - have.total()
    share = slots // len(study.arms)
    rng = Random(derived_seed(study.seed, "slots", hit_id))
    lacking = [(turn, arm) for arm in study.arms for turn in range(have[arm], share)]
    rng.shuffle(lacking)
    # If one arm holds too many slots, the others can't all get their share: those with the fewest come first.
    lacking.sort(key=lambda item: item[0])
    reserved = [arm for _, arm in lacking[:free]]
    rng.shuffle(reserved)
    return reserved + [""] * (free - len(reserved))


def reserve_all(study: Study) -> None:
    """Reserve a study's free slots after its arms have changed."""
    reserve(Slot.objects.filter(batch__study=study))
