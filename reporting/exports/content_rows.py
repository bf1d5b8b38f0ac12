"""A study's content as rows: texts with gold, comparison tables, separability, raters and settings."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import groupby
from math import comb
from operator import itemgetter
from typing import Any

from annotation.core.conversations import raw_content, stored_content
from annotation.importing.formats.long_form import RATER_COLUMNS
from annotation.models import Alignment, Annotator, ComparisonTable, Generation, Matchup, Study
from annotation.studies.data_sets import data_sets
from annotation.studies.instances import CLUSTER, instance_clusters, tags_of
from reporting.exports.rows import CHUNK, Row, read_rows

TEXT_COLUMNS = ("instance_id", "dataset", "source", "generations", "gold", "metadata", "matchups")


def text_rows(study: Study, *, texts: bool = True) -> Iterator[Row]:
    """Yield the instances as in a study file.

    texts : without them, how many generations there are is all that is said of them, and all of the metadata are tags and the
            cluster of instances that share it with others
    """
    clusters = None if texts else instance_clusters(study)
    sizes = Counter(clusters.by_id.values()) if clusters else Counter()
    generations = groupby(
        Generation.objects.filter(instance__study=study)
        .order_by("instance__position", "system__position", "index")
        .values_list("instance_id", "system__name", *(("text", "messages") if texts else ("index",)))
        .iterator(chunk_size=CHUNK),
        key=itemgetter(0),
    )
    of, rows_of = next(generations, (None, iter(())))
    for instance in study.instances.order_by("position").iterator(chunk_size=CHUNK):
        by_system: dict[str, list[Any]] = {}
        if of == instance.pk:
            for _, system, *content in rows_of:
                by_system.setdefault(system, []).append(raw_content(stored_content(*content)) if texts else None)
            of, rows_of = next(generations, (None, iter(())))
        gold = instance.gold
        if gold and not texts:
            gold = {name: value for name, value in gold.items() if name != "why"}
        metadata = instance.metadata
        if not texts:
            tags = list(tags_of(metadata))
            metadata = {"tags": tags} if tags else {}
            if clusters and sizes[code := clusters.by_id[instance.instance_id]] > 1:
                metadata[CLUSTER] = code
        yield {
            "instance_id": instance.instance_id,
            "dataset": instance.dataset,
            "source": raw_content(instance.content) if texts else None,
            "generations": by_system,
            "gold": gold,
            "metadata": metadata,
        }


def study_file_rows(study: Study) -> Iterator[Row]:
    """Yield the instances as in a study file, with their `matchups` where not all systems are compared with each other."""
    compared = groupby(
        Matchup.objects.filter(instance__study=study)
        .order_by("instance__position", "system_a__position", "system_b__position")
        .values_list("instance__instance_id", "system_a__name", "system_b__name")
        .iterator(chunk_size=CHUNK),
        key=itemgetter(0),
    )
    of, rows_of = next(compared, (None, iter(())))
    for row in text_rows(study):
        matchups: list[list[str]] = []
        if of == row["instance_id"]:
            matchups = [[a, b] for _, a, b in rows_of]
            of, rows_of = next(compared, (None, iter(())))
        is_complete = len(matchups) == comb(len(row["generations"]), 2)
        yield {**row, "matchups": None if is_complete else matchups}


def data_set_rows(study: Study) -> Iterator[Row]:
    """Yield the figures of each data set."""
    yield from (data_set.as_row() for data_set in data_sets(study) if data_set.name is not None)


TABLE_FIELDS = {
    "table_id": "table_id",
    "instance_id": "pair__matchup__instance__instance_id",
    "system_a": "pair__matchup__system_a__name",
    "system_b": "pair__matchup__system_b__name",
    "pair_index": "pair__index",
    **{name: name for name in ("variant", "aspects", "rows", "made_by")},
}


def table_rows(study: Study) -> Iterator[Row]:
    """Yield the comparison tables in the form that `import_tables` reads."""
    tables = ComparisonTable.objects.filter(study=study).order_by("pk")
    yield from read_rows(tables, TABLE_FIELDS)


SEPARABILITY_FIELDS = {
    "instance_id": "matchup__instance__instance_id",
    "dataset": "matchup__instance__dataset",
    "system_a": "matchup__system_a__name",
    "system_b": "matchup__system_b__name",
    **{name: f"run__{name}" for name in ("similarity", "model", "model_fingerprint", "samples", "cross_pairs", "seed")},
    **{name: f"run__{name}" for name in ("group", "low", "high")},
    **{name: name for name in ("self_a", "self_b", "cross", "separability")},
    **{name: f"run__{name}" for name in ("short", "computed_at", "software_version")},
}
SEPARABILITY_RECORDS = {"run": "run_id", "matchup": "matchup_id"}


def separability_rows(study: Study, more: Mapping[str, str] | None = None) -> Iterator[Row]:
    """Yield each matchup's alignments by each measure, before normalisation between `low` and `high`, and its separability.

    more : `SEPARABILITY_RECORDS`, or nothing
    """
    rows = Alignment.objects.filter(run__study=study).order_by("run_id", "matchup_id")
    for row in read_rows(rows, {**SEPARABILITY_FIELDS, **(more or {})}):
        row["computed_at"] = row["computed_at"].isoformat()
        yield row


RATER_FIELDS = {name: "code" if name == "rater" else name for name in RATER_COLUMNS}


def rater_rows(study: Study) -> Iterator[Row]:
    """Yield the raters under their pseudonyms."""
    people = Annotator.objects.present().filter(study=study).order_by("joined_at", "pk")
    for row in read_rows(people, RATER_FIELDS):
        row = {name: value.isoformat() if name.endswith("_at") and value else value for name, value in row.items()}
        yield {**row, "block_reason": str(row["block_reason"])}


IDENTITY = frozenset({"id", "key", "group", "slug", "importer", "merging"})  # which a copy of a study has of its own
NOT_SETTINGS = IDENTITY | {"created_at", "archived_at"}


def setting_rows(study: Study) -> Iterator[Row]:
    """Yield the settings by name, their values as JSON."""
    for field in study._meta.fields:
        if field.name not in NOT_SETTINGS:
            value = field.value_from_object(study)
            yield {"setting": field.name, "value": json.dumps(value, ensure_ascii=False, default=str)}
