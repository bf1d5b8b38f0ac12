"""Importing Mechanical Turk results: instances, pairs and ratings from one file."""

from collections.abc import Mapping, Sequence
from typing import Any

from annotation.core.errors import BadFile, BadLine
from annotation.core.files.file_bounds import FOR_COMMANDS, Bound
from annotation.core.files.lines import FileData
from annotation.core.names import trim
from annotation.core.refusals import refusal
from annotation.importing.content import StoredInstances, orientations, stage_instances
from annotation.importing.formats.mturk import MturkRow, parse_mturk
from annotation.importing.formats.study_file import InstanceRow
from annotation.importing.rating_rows import RatedPair, RatingRow, default_batch
from annotation.importing.ratings import StoredRatings, stage_ratings
from annotation.importing.staging import Target, open_import
from annotation.models import Instance, Pair, Study
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
        instances = list(
            {row.hit: _instance(row, ids[row.hit], dataset, system_1, system_2) for row in reversed(rows)}.values()
        )
        instances.sort(key=lambda row: row.number)
        stored = stage_instances(target=target, rows=instances, name=name)
        named = batch or default_batch(dataset, system_1, system_2)
        ratings = _ratings(rows, ids, _pairs(target, ids), named, reasons=study.first_reason != FirstReason.OFF)
        stored_ratings = stage_ratings(target=target, rows=ratings, name=name)
        if stored.added or stored_ratings.added:
            target.record(
                kind="mturk",
                name=name,
                data=data,
                counts={"instances": stored.added, "ratings": stored_ratings.added},
                dataset=dataset,
                system_1=system_1,
                system_2=system_2,
            )
    return target.study, stored, stored_ratings


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
    existing = {
        hit: instance_id
        for instance_id, hit in Instance.objects.filter(study=study, dataset=dataset).values_list(
            "instance_id", "metadata__mturk_hit"
        )
        if hit
    }
    used = set(study.instances.values_list("instance_id", flat=True))
    ids: dict[str, str] = {}
    number = 0
    for row in rows:
        if row.hit in ids:
            continue
        if row.hit in existing:
            ids[row.hit] = existing[row.hit]
            continue
        instance_id = row.hit
        while not row.named_hit and (instance_id == row.hit or instance_id in used):
            number += 1
            instance_id = f"{dataset}-{number:04d}"
        ids[row.hit] = instance_id
        used.add(instance_id)
    return ids


def _instance(row: MturkRow, instance_id: str, dataset: str, system_1: str, system_2: str) -> InstanceRow:
    return InstanceRow(
        number=row.number,
        instance_id=instance_id,
        dataset=dataset,
        source=row.source,
        generations={
            system_1: [pair.text_1 for pair in row.pairs],
            system_2: [pair.text_2 for pair in row.pairs],
        },
        metadata={"mturk_hit": row.hit},
        matchups=((system_1, system_2),),
    )


def _ratings(
    rows: Sequence[MturkRow],
    ids: Mapping[str, str],
    pairs: Mapping[tuple[str, int], Pair],
    batch: str,
    *,
    reasons: bool,
) -> list[RatingRow]:
    """Return a row for each pair and answer. `reasons` says whether the study takes them."""
    return [
        RatingRow(
            number=row.number,
            batch=batch,
            hit=row.hit if row.named_hit else ids[row.hit],
            pair=RatedPair.of(pairs[ids[row.hit], index]),
            # Worker ids identify people within one file only, so the batch is added.
            rater=f"{row.worker}@{batch}",
            verdict=answer.verdict if answer else None,
            a_is_left=pair.first_is_1,
            reason=pair.reason if reasons and question == MAIN and answer else "",
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


def _pairs(target: Target, ids: Mapping[str, str]) -> dict[tuple[str, int], Pair]:
    instance_ids = set(ids.values())
    related = Pair.objects.filter(matchup__instance__study__in=target.studies).select_related("matchup__instance")
    return {
        (pair.matchup.instance.instance_id, pair.index): pair
        for pair in related.defer("matchup__instance__source").iterator(chunk_size=2000)
        if pair.matchup.instance.instance_id in instance_ids
    }
