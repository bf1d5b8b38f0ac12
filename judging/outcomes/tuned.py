"""The instances that a judge was tuned on, which count for nothing with it."""

import numpy as np

from analysis.types import IntArray
from annotation.models import Pair, Study
from judging.models import Judge


def tuned_pairs(study: Study, judge: Judge) -> IntArray:
    """Return the pairs of a study, ascending, on whose instances a judge was tuned.

    An instance is known again by its data set and id, also in a copy of the study.
    """
    used = {(dataset, instance_id) for dataset, instance_id in judge.tuned.get("instances", ())}
    if not used:
        return np.empty(0, dtype=np.int64)
    rows = Pair.objects.filter(matchup__instance__study=study).order_by("pk")
    names = ("pk", "matchup__instance__dataset", "matchup__instance__instance_id")
    return np.array([pk for pk, *key in rows.values_list(*names) if tuple(key) in used], dtype=np.int64)
