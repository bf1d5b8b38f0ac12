"""Keeping a HIT's slots for the arms, so that each pair is rated by as many raters of every arm."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from random import Random

from annotation.models import Slot, Study
from annotation.models.study import ArmUnit
from annotation.models.work import SlotQuerySet
from annotation.services.displays import derived_seed

_CHUNK = 1000


def are_kept(study: Study) -> bool:
    """Tell whether slots of a study are kept for arms: raters are split into them, and the study wants a balance."""
    return study.is_two_stage and study.arm_unit == ArmUnit.RATER and study.balance_arms


def keep(slots: SlotQuerySet) -> None:
    """Say again whom the free ones of these slots are kept for; of a HIT, all slots are to be among them.

    Of R slots every arm gets R // arms, those included that its raters hold already; what is left over is for anybody.
    So two arms differ by no more than the rest on any HIT, and a HIT is never full of one arm.
    """
    rows = (
        slots.select_for_update(of=("self",)).select_related("assignment", "batch__study").order_by("hit_id", "number")
    )
    changed = []
    for hit_id, group in groupby(rows, key=lambda slot: slot.hit_id):
        own = list(group)
        study = own[0].batch.study
        free = [slot for slot in own if slot.assignment is None]
        held = [slot.assignment.arm for slot in own if slot.assignment is not None]
        names = labels(study, hit_id, len(own), held) if are_kept(study) else [""] * len(free)
        for slot, arm in zip(free, names, strict=True):
            if slot.arm != arm:
                slot.arm = arm
                changed.append(slot)
    Slot.objects.bulk_update(changed, ["arm"], batch_size=_CHUNK)


def labels(study: Study, hit_id: int, places: int, held: Iterable[str]) -> Sequence[str]:
    """Return whom the free ones of a HIT's places are kept for, in an order drawn from the study's seed.

    places : how many slots the HIT has
    held   : the arms of those who fill or hold one
    """
    have = Counter(held)
    free = places - have.total()
    share = places // len(study.arms)
    rng = Random(derived_seed(study.seed, "slots", hit_id))
    lacking = [(place, arm) for arm in study.arms for place in range(have[arm], share)]
    rng.shuffle(lacking)
    # Held by too many of one arm, a HIT has fewer places than its arms lack: then whoever has fewest comes first.
    lacking.sort(key=lambda one: one[0])
    kept = [arm for _, arm in lacking[:free]]
    rng.shuffle(kept)
    return kept + [""] * (free - len(kept))


def keep_all(study: Study) -> None:
    """Say again whom a study's free slots are kept for, after its arms have changed."""
    keep(Slot.objects.filter(batch__study=study))
