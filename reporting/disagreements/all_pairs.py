"""Distances between raters on all pairs of a study, by kind of disagreement."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from analysis.types import FloatArray
from annotation.core.version import VERSION
from reporting.disagreements.pair_table import PairTable, before_and_after, between_people, from_majority, pair_table
from reporting.findings.data.inputs import StudyData

JUDGE, PEOPLE, REVISED = KINDS = ("judge", "people", "revised")


def sizes_between(table: PairTable, judges: Collection[str]) -> dict[str, FloatArray]:
    """Return how far people and some judges are apart on each pair, from 0 to 1, by kind."""
    return {JUDGE: from_majority(table, judges), PEOPLE: between_people(table), REVISED: before_and_after(table)}


def disagreements(first: StudyData, revised: StudyData | None = None) -> dict[str, Any]:
    """Return all that the page lists when it is opened, in columns: an entry for each pair of a configuration.

    Pairs are in the order of instances; on those that are left out, all agree. Edges are those of the separability bins,
    which are numbered from 1.

    revised : people's votes after the second stage, if there is one
    """
    table = pair_table(first.configurations, None if revised is None else revised.configurations)
    sizes = sizes_between(table, table.judges)
    listed = np.max(list(sizes.values()), axis=0) > 0
    counts = dict(zip(("a", "tie", "b"), table.counts.astype(np.int64).T, strict=True))
    configurations = []
    for number, configuration in enumerate(table.configurations):
        rows = np.flatnonzero(listed & (table.configuration == number))
        configurations.append(
            {
                "dataset": configuration.dataset,
                "system_a": configuration.systems[0],
                "system_b": configuration.systems[1],
                "edges": list(configuration.edges),
                "instance": [configuration.instance_ids[code] for code in table.instance[rows].tolist()],
                "pair": table.index[rows].tolist(),
                "bin": [bin_index + 1 or None for bin_index in table.bin[rows].tolist()],
                "votes": {name: column[rows].tolist() for name, column in counts.items()},
                "sizes": {kind: size[rows].tolist() for kind, size in sizes.items()},
                "judges": {name: _verdicts(verdict[rows]) for name, verdict in table.judges.items()},
            }
        )
    return {"study": first.slug, "version": VERSION, "count": int(listed.sum()), "configurations": configurations}


def _verdicts(values: FloatArray) -> Sequence[int | None]:
    return [None if np.isnan(value) else int(value) for value in values.tolist()]
