"""Storing instances with their systems, generations, matchups and pairs."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from django.db import transaction
from django.db.models import Max

from annotation.core.conversations import is_same_content, stored_content, stored_messages
from annotation.core.database.aggregates import grouped
from annotation.core.errors import BadFile, BadLine
from annotation.core.files.lines import text_problem
from annotation.core.markdown import is_blank
from annotation.core.names import lookalike_lines
from annotation.core.reasons import Reason
from annotation.core.refusals import refusal
from annotation.importing.formats.study_file import (
    LONGEST_DATASET,
    LONGEST_ID,
    LONGEST_SYSTEM,
    MOST_SYSTEMS,
    MOST_TEXTS,
    InstanceRow,
)
from annotation.importing.notices import notices_of
from annotation.importing.staging import Target
from annotation.models import Generation, Instance, Matchup, Pair, Study, System

_CHUNK = 500


@dataclass(frozen=True)
class StoredInstances:
    """Numbers of instances added, extended by systems, and unchanged.

    blank   : added generations without a visible character
    notices : about the file's instances, see `annotation.importing.notices`
    """

    added: int = 0
    extended: int = 0
    unchanged: int = 0
    blank: int = 0
    notices: tuple[str, ...] = ()
    instances: dict[str, Instance] = field(default_factory=dict, compare=False)

    @property
    def counts(self) -> dict[str, int]:
        """The numbers by name."""
        return {"added": self.added, "extended": self.extended, "unchanged": self.unchanged}


@dataclass(frozen=True)
class _Existing:
    """The stored ones of a file's instances."""

    instances: dict[str, Instance]
    texts: dict[tuple[int, str], list[str]]  # (instance, system name) → its generations


@transaction.atomic
def store_instances(*, study: Study, rows: Sequence[InstanceRow], name: str) -> StoredInstances:
    """Add all instances of a file to a study in one transaction, or none. See `stage_instances`."""
    Study._base_manager.select_for_update().get(pk=study.pk)
    return stage_instances(target=Target(study, study), rows=rows, name=name)


def stage_instances(*, target: Target, rows: Sequence[InstanceRow], name: str) -> StoredInstances:
    """Add all instances of a file to the target of an import.

    A stored instance must be equal; it may get further systems.
    Raises: BadFile listing the rows that contradict stored ones.
    """
    study = target.study
    if bad := [BadLine(row.number, problem) for row in rows for problem in _invalid_names(row)]:
        raise BadFile(name, bad)
    existing = _existing(study, rows)
    bad = [BadLine(row.number, problem) for row in rows if (problem := _contradiction(row, existing))]
    if bad := [*bad, *_lookalikes(study, rows)]:
        raise BadFile(name, bad)
    if bad := _too_many(rows, existing):
        raise BadFile(name, bad)
    fresh = [row for row in rows if row.instance_id not in existing.instances]
    repeated = [row for row in rows if row.instance_id in existing.instances]
    extended = [row for row in repeated if _new_systems(row, existing)]
    paired = _newly_paired(study, [row for row in repeated if not _new_systems(row, existing)], existing)
    systems = _ensure_systems(target, [system for row in fresh + extended for system in row.generations])
    instances = existing.instances | _add_instances(target, fresh)
    parents = instances | _copies(target, [instances[row.instance_id] for row in extended + paired])
    _add_generations(target, fresh + extended, parents, systems, existing)
    _add_pairs(target, fresh + extended + paired, instances, parents, systems)
    blank = sum(
        is_blank(text)
        for row in fresh + extended
        for system in _new_systems(row, existing)
        for text in row.generations[system]
    )
    unchanged = len(rows) - len(fresh) - len(extended)
    notices = tuple(notices_of(rows)) if fresh or extended else ()
    return StoredInstances(len(fresh), len(extended), unchanged, blank, notices, instances)


def row_of(
    instance: Instance, number: int, generations: dict[str, list[str]], matchups: Iterable[tuple[str, str]]
) -> InstanceRow:
    """Return a stored instance as a row of a study file, with these generations and matchups."""
    return InstanceRow(
        number=number,
        instance_id=instance.instance_id,
        dataset=instance.dataset,
        source=instance.content,
        generations=generations,
        gold=instance.gold,
        metadata=instance.metadata,
        matchups=tuple(matchups),
    )


def _ensure_systems(target: Target, names: Iterable[str]) -> dict[str, System]:
    """Return the study's systems by name, with new ones added in this order."""
    existing = {system.name: system for system in target.study.systems.all()}
    fresh = [name for name in dict.fromkeys(names) if name not in existing]
    start = max((system.position for system in existing.values()), default=-1) + 1
    created = [System(study=target.staged, name=name, position=start + offset) for offset, name in enumerate(fresh)]
    target.create(created)
    return existing | {system.name: system for system in created}


def orientations(study: Study) -> dict[frozenset[int], tuple[int, int]]:
    """Map each set of two system ids with matchups in the study to its (A, B)."""
    rows = Matchup.objects.filter(instance__study=study).order_by().values_list("system_a", "system_b").distinct()
    return {frozenset((a, b)): (a, b) for a, b in rows}


def _existing(study: Study, rows: Sequence[InstanceRow]) -> _Existing:
    instance_ids = {row.instance_id for row in rows}
    instances: dict[str, Instance] = {}
    texts: dict[tuple[int, str], list[str]] = {}
    ids = sorted(instance_ids)
    for start in range(0, len(ids), _CHUNK):
        part = Instance.objects.filter(study=study, instance_id__in=ids[start : start + _CHUNK])
        instances.update({instance.instance_id: instance for instance in part})
        generations = Generation.objects.filter(instance__in=part.order_by()).order_by("instance_id", "index")
        columns = ("instance_id", "system__name", "text", "messages")
        for instance_pk, system, text, messages in generations.values_list(*columns):
            texts.setdefault((instance_pk, system), []).append(stored_content(text, messages))
    return _Existing(instances, texts)


def _invalid_names(row: InstanceRow) -> list[Reason]:
    """List the names that can't be stored. The parser doesn't check those given in a form or a command."""
    names = [("instance_id", row.instance_id, LONGEST_ID), ("the data set", row.dataset, LONGEST_DATASET)]
    names += [("the system name", system, LONGEST_SYSTEM) for system in row.generations]
    return [problem for subject, name, longest in names if (problem := text_problem(name, subject, longest=longest))]


def _lookalikes(study: Study, rows: Sequence[InstanceRow]) -> list[BadLine]:
    """Find systems and data sets that differ from others by case or blanks only."""
    systems = ((row.number, system) for row in rows for system in row.generations)
    datasets = ((row.number, row.dataset) for row in rows)
    existing = study.instances.order_by().values_list("dataset", flat=True).distinct()
    return [
        *lookalike_lines("system", systems, study.systems.values_list("name", flat=True)),
        *lookalike_lines("data set", datasets, existing),
    ]


def _new_systems(row: InstanceRow, existing: _Existing) -> list[str]:
    instance = existing.instances.get(row.instance_id)
    if instance is None:
        return list(row.generations)
    return [system for system in row.generations if (instance.pk, system) not in existing.texts]


def _newly_paired(study: Study, rows: Sequence[InstanceRow], existing: _Existing) -> list[InstanceRow]:
    """Return the rows with matchups that are not stored."""
    matchups = Matchup.objects.filter(instance__study=study).order_by()
    stored = {
        (instance, frozenset((a, b)))
        for instance, a, b in matchups.values_list("instance_id", "system_a__name", "system_b__name").iterator()
    }
    return [
        row
        for row in rows
        if any((existing.instances[row.instance_id].pk, frozenset(pair)) not in stored for pair in row.matchups or ())
    ]


def _contradiction(row: InstanceRow, existing: _Existing) -> Reason | None:
    instance = existing.instances.get(row.instance_id)
    if instance is None:
        return None
    stored = {name: getattr(instance, name) for name in ("dataset", "gold", "metadata")}
    differing = [name for name, value in stored.items() if not _same(value, getattr(row, name))]
    differing += [] if is_same_content(instance.content, row.source) else ["source"]
    differing += [
        f"the generations of {system}"
        for system, texts in row.generations.items()
        if not _are_same(existing.texts.get((instance.pk, system), texts), texts)
    ]
    if not differing:
        return None
    return refusal("other_instance", instance=repr(row.instance_id), differing=", ".join(differing))


def _too_many(rows: Sequence[InstanceRow], existing: _Existing) -> list[BadLine]:
    """List the rows whose instance would have more systems or texts than a study file may hold, as it is exported."""
    systems = Counter(instance for instance, _ in existing.texts)
    bad = []
    for row in rows:
        instance = existing.instances.get(row.instance_id)
        number = len(_new_systems(row, existing)) + (systems[instance.pk] if instance else 0)
        if number > MOST_SYSTEMS:
            bad.append(BadLine(row.number, refusal("too_many_systems", number=number, most=MOST_SYSTEMS)))
        bad += [
            BadLine(row.number, refusal("too_many_texts", system=repr(system), number=len(texts), most=MOST_TEXTS))
            for system, texts in row.generations.items()
            if len(texts) > MOST_TEXTS
        ]
    return bad


def _are_same(stored: Sequence[str], texts: Sequence[str]) -> bool:
    return len(stored) == len(texts) and all(map(is_same_content, stored, texts))


def _same(stored: object, value: object) -> bool:
    """Compare JSON values. PostgreSQL returns 1e23 as an integer."""
    if isinstance(stored, dict) and isinstance(value, dict):
        return stored.keys() == value.keys() and all(_same(stored[key], value[key]) for key in value)
    if isinstance(stored, list) and isinstance(value, list):
        return len(stored) == len(value) and all(map(_same, stored, value))
    if isinstance(stored, int) and isinstance(value, float):
        return float(stored) == value
    return stored == value


def _add_instances(target: Target, rows: Sequence[InstanceRow]) -> dict[str, Instance]:
    last = target.study.instances.aggregate(last=Max("position"))["last"]
    start = 0 if last is None else last + 1
    created = [
        Instance(
            study=target.staged,
            instance_id=row.instance_id,
            dataset=row.dataset,
            source=str(row.source),
            messages=stored_messages(row.source),
            gold=row.gold,
            metadata=row.metadata,
            position=start + offset,
        )
        for offset, row in enumerate(rows)
    ]
    target.create(created)
    return {instance.instance_id: instance for instance in created}


def _copies(target: Target, stored: Sequence[Instance]) -> dict[str, Instance]:
    """Store instances that get further generations or matchups below the hidden study too, if there is one."""
    if not target.is_apart:
        return {}
    names = ("instance_id", "dataset", "gold", "position")
    copies = [Instance(study=target.staged, **{name: getattr(item, name) for name in names}) for item in stored]
    target.create(copies)
    return {instance.instance_id: instance for instance in copies}


def _add_generations(
    target: Target,
    rows: Sequence[InstanceRow],
    parents: dict[str, Instance],
    systems: dict[str, System],
    existing: _Existing,
) -> None:
    target.create(
        Generation(
            instance=parents[row.instance_id],
            system=systems[system],
            index=index,
            text=str(text),
            messages=stored_messages(text),
        )
        for row in rows
        for system in _new_systems(row, existing)
        for index, text in enumerate(row.generations[system])
    )


def _add_pairs(
    target: Target,
    rows: Sequence[InstanceRow],
    instances: dict[str, Instance],
    parents: dict[str, Instance],
    systems: dict[str, System],
) -> None:
    """Add the missing matchups of these instances, and their pairs: the j-th generation of A with the j-th of B.

    parents : where those of an instance are stored; the instance, or its copy
    """
    known_orders = orientations(target.study)
    for start in range(0, len(rows), _CHUNK):
        chunk = rows[start : start + _CHUNK]
        ids = {
            index.pk: row.instance_id
            for row in chunk
            for index in (instances[row.instance_id], parents[row.instance_id])
        }
        stored = Generation.objects.filter(instance__in=list(ids)).order_by("index")
        generations = grouped(((ids[item.instance_id], item.system_id), item) for item in stored)
        matched = Matchup.objects.filter(instance__in=list(ids))
        existing = set(matched.values_list("instance_id", "system_a_id", "system_b_id"))
        matchups: list[tuple[str, Matchup]] = []
        for row in chunk:
            instance_id, instance = row.instance_id, instances[row.instance_id]
            present = [system for system in systems.values() if (instance_id, system.pk) in generations]
            for a, b in _orders(row, present, systems, known_orders):
                if (instance.pk, a, b) not in existing:
                    matchup = Matchup(instance=parents[instance_id], system_a_id=a, system_b_id=b)
                    matchups.append((instance_id, matchup))
        target.create(matchup for _, matchup in matchups)
        target.create(
            Pair(matchup=matchup, index=index, generation_a=a, generation_b=b)
            for instance_id, matchup in matchups
            for index, (a, b) in enumerate(
                zip(
                    generations[instance_id, matchup.system_a_id],
                    generations[instance_id, matchup.system_b_id],
                    strict=False,  # unequal counts: the smaller one is the number of pairs
                )
            )
        )


def _orders(
    row: InstanceRow,
    present: list[System],
    systems: dict[str, System],
    known_orders: dict[frozenset[int], tuple[int, int]],
) -> list[tuple[int, int]]:
    """List the (A, B) ids of a row's matchups: oriented as stored, else as given, else by the systems' positions."""
    if row.matchups is not None:
        orders = [(systems[a].pk, systems[b].pk) for a, b in row.matchups]
    else:
        ordered = sorted(present, key=lambda system: system.position)
        orders = [(a.pk, b.pk) for a, b in combinations(ordered, 2)]
    return [known_orders.setdefault(frozenset(order), order) for order in orders]
