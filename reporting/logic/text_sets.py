"""Sets of texts that can be ranked: those of an instance that pairs connect, and which pair holds which two."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from analysis.ranking.refinement import connected_items
from annotation.core.database.aggregates import grouped
from annotation.models import Instance, Pair, Study
from judging.audits.on_demand import Asked
from judging.models import Judge, Judgment
from judging.outcomes.tuned import tuned_pairs
from reporting.logic.preferences import read_texts

Pairs = dict[tuple[int, int], int]  # by the generations of A and B


@dataclass(frozen=True)
class TextSet:
    """Texts of an instance that pairs connect.

    name  : the same on every server
    texts : primary keys of the generations, in the study's order
    """

    instance: int
    name: str
    texts: tuple[int, ...]


def read_text_sets(
    study: Study, *, judge: Judge | None = None, dataset: str = "", instances: Collection[str] = ()
) -> tuple[list[TextSet], Pairs]:
    """Read the sets of two texts or more, in the study's order, and the pairs by their texts.

    judge : instances that it was tuned on are left out
    dataset, instances : only of these; all when empty
    """
    rows = Pair.objects.filter(matchup__instance__study=study).order_by("pk")
    if dataset:
        rows = rows.filter(matchup__instance__dataset=dataset)
    if instances:
        rows = rows.filter(matchup__instance__instance_id__in=instances)
    pairs: Pairs = {}
    used = set() if judge is None else set(tuned_pairs(study, judge).tolist())
    for pk, a, b in rows.values_list("pk", "generation_a_id", "generation_b_id"):
        if pk not in used:
            pairs.setdefault((a, b), pk)
    compared = read_texts(study).items(np.array(list(pairs), dtype=np.int64).reshape(-1, 2))
    generation, code, keys = compared.generation, compared.instance, compared.instances
    component = connected_items(*compared.shown.T, n_items=len(generation))
    named = {
        pk: f"{name}\x00{description}"
        for pk, name, description in Instance.objects.filter(study=study).values_list("pk", "dataset", "instance_id")
    }
    sets = []
    for first, items in grouped(zip(component.tolist(), range(len(component)), strict=True)).items():
        instance = int(keys[code[first]])
        numbered = f"{named[instance]}\x00{first - int(np.searchsorted(code, code[first]))}"
        sets.append(TextSet(instance, numbered, tuple(generation[items].tolist())))
    return sets, pairs


def presentation_of(texts_shown: tuple[int, int], pairs: Pairs) -> Asked | None:
    """Return the pair and the order that show two texts, the first one first, or None where no pair has them."""
    if texts_shown in pairs:
        return pairs[texts_shown], Judgment.Order.AB
    turned = pairs.get(texts_shown[::-1])
    return None if turned is None else (turned, Judgment.Order.BA)
