"""Statistics of a study's data sets: numbers of rows, gold, and lengths of texts."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from django.db.models import Count, QuerySet

from analysis.similarity.content_words import Lengths, length_in_words
from annotation.models import Generation, Pair, Study

CHUNK = 500
COLUMNS = (
    *("dataset", "instances", "gold", "systems", "generations", "pairs"),
    *(f"{of}_{name}" for of in ("source", "text") for name in ("n", "mean", "median", "shortest", "longest")),
)


@dataclass
class DataSet:
    """One data set of a study, or all of them.

    name        : `None` of all
    gold        : instances with a gold verdict
    sources     : of the instances that have one
    texts       : of the generations; of some of them, where a bound was given
    """

    name: str | None = None
    instances: int = 0
    gold: int = 0
    systems: int = 0
    generations: int = 0
    pairs: int = 0
    sources: Lengths = field(default_factory=Lengths)
    texts: Lengths = field(default_factory=Lengths)

    @property
    def lengths(self) -> tuple[Lengths, Lengths]:
        """Lengths of sources and of texts."""
        return self.sources, self.texts

    def as_row(self) -> dict[str, Any]:
        """Return all figures, by the names of `COLUMNS`."""
        values = [getattr(self, name) for name in COLUMNS[1:6]]
        return {
            **dict(zip(COLUMNS[:6], [self.name, *values], strict=True)),
            **{
                f"{of}_{name}": getattr(lengths, name)
                for of, lengths in zip(("source", "text"), self.lengths, strict=True)
                for name in ("n", "mean", "median", "shortest", "longest")
            },
        }


def data_sets(study: Study, *, sample_size: int | None = None) -> list[DataSet]:
    """Return the figures of each data set, in the order of the instances, and where there are several, of all.

    sample_size : sources and texts of a data set whose words are counted, drawn with the study's seed; `None`: all of them
    """
    datasets: dict[str, DataSet] = {}
    gold = study.instances.exclude(gold=None).exclude(gold={})
    for name in study.instances.order_by("position").values_list("dataset", flat=True):
        datasets.setdefault(name, DataSet(name)).instances += 1
    generations = Generation.objects.filter(instance__study=study)
    systems = set(generations.order_by().values_list("instance__dataset", "system").distinct())
    counts = {
        "gold": _count(gold, "dataset"),
        "systems": Counter(name for name, _system in systems),
        "generations": _count(generations, "instance__dataset"),
        "pairs": _count(Pair.objects.filter(matchup__instance__study=study), "matchup__instance__dataset"),
    }
    sources = _lengths(study, study.instances.exclude(source=""), "dataset", "source", sample_size)
    texts = _lengths(study, generations, "instance__dataset", "text", sample_size)
    for name, dataset in datasets.items():
        for figure, by_name in counts.items():
            setattr(dataset, figure, by_name.get(name, 0))
        dataset.sources, dataset.texts = sources.get(name, Lengths()), texts.get(name, Lengths())
    return [
        *datasets.values(),
        *([_together(list(datasets.values()), len({of for _, of in systems}))] * (len(datasets) > 1)),
    ]


def _count(rows: QuerySet[Any], dataset: str) -> dict[str, int]:
    return dict(rows.order_by().values_list(dataset).annotate(Count("pk")))


def _lengths(study: Study, rows: QuerySet[Any], dataset: str, text: str, sample_size: int | None) -> dict[str, Lengths]:
    counts: dict[str, list[int]] = defaultdict(list)
    for name, text_of_row in _texts(study, rows.order_by("pk"), dataset, text, sample_size):
        counts[name].append(length_in_words(text_of_row))
    return {name: Lengths(tuple(lengths)) for name, lengths in counts.items()}


def _texts(
    study: Study, rows: QuerySet[Any], dataset: str, text: str, sample_size: int | None
) -> Iterator[tuple[str, str]]:
    """Yield data set and text, of all rows or of those that are drawn."""
    if sample_size is None:
        yield from rows.values_list(dataset, text).iterator(chunk_size=CHUNK)
        return
    by_name: dict[str, list[int]] = defaultdict(list)
    for name, pk in rows.values_list(dataset, "pk"):
        by_name[name].append(pk)
    names = {pk: name for name, ids in by_name.items() for pk in _drawn(study, ids, sample_size)}
    ids = list(names)
    for start in range(0, len(ids), CHUNK):
        # By primary key alone: with the study's condition SQLite goes through all of its rows for each part.
        for pk, text_of_row in rows.model._default_manager.filter(pk__in=ids[start : start + CHUNK]).values_list(
            "pk", text
        ):
            yield names[pk], text_of_row


def _drawn(study: Study, ids: list[int], sample_size: int) -> list[int]:
    if len(ids) <= sample_size:
        return ids
    return sorted(np.random.default_rng([study.seed]).choice(ids, sample_size, replace=False).tolist())


def _together(datasets: list[DataSet], systems: int) -> DataSet:
    """Return the figures of all data sets: lengths are those of all texts, not means of means."""
    total = DataSet(None, systems=systems)
    for dataset in datasets:
        for name in ("instances", "gold", "generations", "pairs", "sources", "texts"):
            setattr(total, name, getattr(total, name) + getattr(dataset, name))
    return total
