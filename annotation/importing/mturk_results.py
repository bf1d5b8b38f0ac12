"""Importing Mechanical Turk results: instances, pairs and ratings from one file."""

from collections.abc import Mapping, Sequence
from typing import Any

from annotation.core.errors import BadFile, BadLine
from annotation.core.files.file_bounds import FOR_COMMANDS, Bound
from annotation.core.files.lines import FileData
from annotation.core.names import trim
from annotation.core.refusals import refusal
from annotation.importing.comparisons import stored_pairs
from annotation.importing.content import StoredInstances, orientations, stage_instances
from annotation.importing.formats.mturk import MturkRow, parse_mturk
from annotation.importing.formats.study_file import InstanceRow
from annotation.importing.rating_rows import RatingRow, default_batch
from annotation.importing.ratings import StoredRatings, stage_ratings
from annotation.importing.staging import open_import
from annotation.models import Study
from annotation.models.studies import FirstReason
from annotation.questions.questions import MAIN


def import_mturk(
    *,
    data: FileData,
    name: str,
    slug: str,
    system_1: str,
    system_2: str,
    dataset: str,
    batch: str | None = None,
    columns: Mapping[str, str] | None = None,
    bound: Bound = FOR_COMMANDS,
    **settings: Any,
) -> tuple[Study, StoredInstances, StoredRatings]:
    """Import a results CSV, whole or not at all. System 1, whose `Input.id` is 1, is A.

    A later export of the same HITs adds its new rows; the same file again changes nothing.
    Raises: BadFile listing the bad lines.
    """
    system_1, system_2, dataset = trim(system_1), trim(system_2), trim(dataset)
    existing = Study.objects.filter(slug=slug).first()
    known_questions = {"questions": existing.questions} if existing else {}
    rows = parse_mturk(data, name, columns=columns, bound=bound, **known_questions)
    with open_import(slug, rows=sum(len(row.pairs) for row in rows), settings=settings) as target:
        study = target.study
        _refuse_systems(study, name, system_1, system_2)
        ids = _instance_ids(study, dataset, rows)
        instances = {
            row.hit: InstanceRow(
                number=row.number,
                instance_id=ids[row.hit],
                dataset=dataset,
                source=row.source,
                generations={
                    system_1: [pair.text_1 for pair in row.pairs],
                    system_2: [pair.text_2 for pair in row.pairs],
                },
                metadata={"mturk_hit": row.hit},
                matchups=((system_1, system_2),),
            )
            for row in reversed(rows)
        }
        in_order = sorted(instances.values(), key=lambda row: row.number)
        stored = stage_instances(target=target, rows=in_order, name=name)
        pairs = dict(stored_pairs(target, set(ids.values())))
        batch = batch or default_batch(dataset, system_1, system_2)
        has_reasons = study.first_reason != FirstReason.OFF
        rated = [
            RatingRow(
                number=row.number,
                batch=batch,
                hit=row.hit if row.named_hit else ids[row.hit],
                pair=pairs[ids[row.hit], system_1, system_2, index],
                # Worker ids identify people within one file only, so the batch is added.
                rater=f"{row.worker}@{batch}",
                verdict=answer.verdict if answer else None,
                a_is_left=pair.first_is_1,
                reason=pair.reason if has_reasons and question == MAIN and answer else "",
                work_seconds=row.seconds,
                excluded=row.rejected,
                exclusion_reason="rejected on MTurk" if row.rejected else "",
                question=question,
                strength=answer.strength if answer else None,
                tie_kind=answer.tie_kind if answer else "",
            )
            for row in rows
            for index, pair in enumerate(row.pairs)
            for question, answer in ((MAIN, pair.answer), *pair.further)
        ]
        ratings = stage_ratings(target=target, rows=rated, name=name)
        if stored.added or ratings.added:
            counts = {"instances": stored.added, "ratings": ratings.added}
            systems = {"system_1": system_1, "system_2": system_2}
            target.record(kind="mturk", name=name, data=data, counts=counts, dataset=dataset, **systems)
    return target.study, stored, ratings


def _refuse_systems(study: Study, name: str, system_1: str, system_2: str) -> None:
    if system_1 == system_2:
        raise BadFile(name, [BadLine(1, refusal("same_systems", system=repr(system_1)))])
    keys = dict(study.systems.values_list("name", "pk"))
    a, b = keys.get(system_1, 0), keys.get(system_2, 0)
    if orientations(study).get(frozenset((a, b)), (a, b)) != (a, b):
        reason = refusal("systems_turned", study=study.slug, system_2=repr(system_2), system_1=repr(system_1))
        raise BadFile(name, [BadLine(1, reason)])


def _instance_ids(study: Study, dataset: str, rows: Sequence[MturkRow]) -> dict[str, str]:
    """Return each HIT's instance id: its own id, else data set and number in order of appearance."""
    stored = study.instances.filter(dataset=dataset).values_list("metadata__mturk_hit", "instance_id")
    existing = {hit: instance_id for hit, instance_id in stored if hit}
    used = set(study.instances.values_list("instance_id", flat=True))
    ids: dict[str, str] = {}
    number = 0
    for row in rows:
        if row.hit in ids:
            continue
        instance_id = existing.get(row.hit) or (row.hit if row.named_hit else "")
        while not instance_id:
            number += 1
            if (numbered := f"{dataset}-{number:04d}") not in used:
                instance_id = numbered
        ids[row.hit] = instance_id
        used.add(instance_id)
    return ids
