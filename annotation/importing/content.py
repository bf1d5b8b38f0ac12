"""Storing instances with their systems, generations, matchups and pairs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

from django.db import transaction
from django.db.models import Max

from annotation.core.conversations import is_same_content, stored_content, stored_messages
from annotation.core.database.aggregates import grouped
from annotation.core.errors import MOST_BAD_LINES, BadLine
from annotation.core.files.lines import refuse, text_problem
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
from annotation.importing.notices import InstanceNotices
from annotation.importing.staging import Target
from annotation.models import Generation, Instance, Matchup, Pair, Study, System

CHUNK = 500  # instances that are compared and stored together


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
    notices: tuple[Reason, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """The numbers by name."""
        return {"added": self.added, "extended": self.extended, "unchanged": self.unchanged}


@transaction.atomic
def store_instances(*, study: Study, rows: Sequence[InstanceRow], name: str) -> StoredInstances:
    """Add all instances of a file to a study in one transaction, or none. See `stage_instances`."""
    Study._base_manager.select_for_update().get(pk=study.pk)
    return stage_instances(target=Target(study, study), rows=rows, name=name)


@transaction.atomic
def store_generations(*, study: Study, system: str, texts: Mapping[int, Sequence[str]], name: str) -> set[int]:
    """Add a system's texts to instances, given by primary key. Return the instances that were changed.

    Deleted instances, and those with texts of this system, are skipped. A new system gets the last position; matchups
    and pairs are made as for a study file.
    name : of the texts' source, for errors
    Raises: BadFile for a system's name or a text that can't be stored.
    """
    Study.objects.select_for_update().get(pk=study.pk)
    order = list(study.systems.order_by("position").values_list("name", flat=True))
    order += [] if system in order else [system]
    stored = Generation.objects.filter(instance__in=list(texts), index=0).order_by()
    present = grouped(stored.values_list("instance_id", "system__name"))
    fresh = {}
    for number, instance in enumerate(study.instances.filter(pk__in=list(texts)).order_by("position"), start=1):
        existing = sorted(present.get(instance.pk, ()), key=order.index)
        if system not in existing:  # the earlier one of two systems is A
            matchups = [
                (opponent, system) if order.index(opponent) < order.index(system) else (system, opponent)
                for opponent in existing
            ]
            fresh[instance.pk] = row_of(instance, number, {system: list(texts[instance.pk])}, matchups)
    if fresh:
        store_instances(study=study, rows=[*fresh.values()], name=name)
    return {*fresh}


def stage_instances(
    *, target: Target, rows: Iterable[InstanceRow], name: str, bad: list[BadLine] | None = None
) -> StoredInstances:
    """Add all instances of a file, each with an id of its own, to the target of an import, some at a time.

    A stored instance must be equal; it may get further systems.
    bad : the file's bad lines, which are refused together with those of the instances
    Raises: BadFile listing the rows that contradict stored ones.
    """
    writer = _InstanceWriter(target, [] if bad is None else bad)
    remaining = iter(rows)
    while len(writer.bad) < MOST_BAD_LINES and (block := list(islice(remaining, CHUNK))):
        writer.add(block)
    refuse(name, writer.bad)
    notices = tuple(writer.notices.listed()) if writer.added or writer.extended else ()
    return StoredInstances(writer.added, writer.extended, writer.unchanged, writer.blank, notices)


class _InstanceWriter:
    """One import of instances. Bad lines are added to `bad`; after the first one nothing is stored."""

    def __init__(self, target: Target, bad: list[BadLine]) -> None:
        study = target.study
        self.target, self.bad, self.notices = target, bad, InstanceNotices()
        self.added = self.extended = self.unchanged = self.blank = 0
        self._systems = {system.name: system for system in study.systems.all()}
        self._names = dict.fromkeys(self._systems)
        self._datasets = dict.fromkeys(study.instances.order_by().values_list("dataset", flat=True).distinct())
        self._orders = orientations(study)
        last = study.instances.aggregate(last=Max("position"))["last"]
        self._position = 0 if last is None else last + 1

    def add(self, rows: Sequence[InstanceRow]) -> None:
        """Compare some instances with the study, and store what is new."""
        self.notices.add(rows)
        named = []
        reasons: dict[str, list[Reason]] = {}
        for row in rows:
            if problems := _invalid_names(row):
                reasons[row.instance_id] = problems
            else:
                named.append(row)
        instances, texts = _existing(self.target.study, named)
        new_systems: dict[str, list[str]] = {}
        for row in named:
            stored = texts.get(row.instance_id, {})
            new_systems[row.instance_id] = [system for system in row.generations if system not in stored]
            reasons[row.instance_id] = _contradictions(row, instances.get(row.instance_id), stored)
        self.bad += [BadLine(row.number, reason) for row in rows for reason in reasons[row.instance_id]]
        self.bad += self._lookalikes(named)
        fresh = [row for row in named if row.instance_id not in instances]
        repeated = [row for row in named if row.instance_id in instances]
        changed = [row for row in named if new_systems[row.instance_id]]
        extended = {row.instance_id for row in repeated if new_systems[row.instance_id]}
        self.added += len(fresh)
        self.extended += len(extended)
        self.unchanged += len(repeated) - len(extended)
        self.blank += sum(
            is_blank(text)
            for row in changed
            for system in new_systems[row.instance_id]
            for text in row.generations[system]
        )
        if self.bad:
            return
        self._ensure_systems(system for row in changed for system in row.generations)
        growing = extended | _newly_paired(repeated, instances)
        instances |= self._add_instances(fresh)
        parents = instances | self._copies(
            [instances[row.instance_id] for row in repeated if row.instance_id in growing]
        )
        self.target.create(
            Generation(
                instance=parents[row.instance_id],
                system=self._systems[system],
                index=index,
                text=str(text),
                messages=stored_messages(text),
            )
            for row in changed
            for system in new_systems[row.instance_id]
            for index, text in enumerate(row.generations[system])
        )
        growing.update(row.instance_id for row in fresh)
        self._add_pairs([row for row in named if row.instance_id in growing], instances, parents)

    def _lookalikes(self, rows: Sequence[InstanceRow]) -> list[BadLine]:
        """Find systems and data sets that differ from others by case or blanks only."""
        systems = [(row.number, system) for row in rows for system in row.generations]
        datasets = [(row.number, row.dataset) for row in rows]
        bad = lookalike_lines("system", systems, self._names) + lookalike_lines("data set", datasets, self._datasets)
        self._names.update(dict.fromkeys(system for _, system in systems))
        self._datasets.update(dict.fromkeys(dataset for _, dataset in datasets))
        return bad

    def _ensure_systems(self, names: Iterable[str]) -> None:
        """Create the systems that are missing, in this order."""
        fresh = [name for name in dict.fromkeys(names) if name not in self._systems]
        start = max((system.position for system in self._systems.values()), default=-1) + 1
        created = [
            System(study=self.target.staged, name=name, position=position)
            for position, name in enumerate(fresh, start=start)
        ]
        self.target.create(created)
        self._systems.update((system.name, system) for system in created)

    def _add_instances(self, rows: Sequence[InstanceRow]) -> dict[str, Instance]:
        created = [
            Instance(
                study=self.target.staged,
                instance_id=row.instance_id,
                dataset=row.dataset,
                source=str(row.source),
                messages=stored_messages(row.source),
                gold=row.gold,
                metadata=row.metadata,
                position=position,
            )
            for position, row in enumerate(rows, start=self._position)
        ]
        self._position += len(created)
        self.target.create(created)
        return {instance.instance_id: instance for instance in created}

    def _copies(self, stored: Sequence[Instance]) -> dict[str, Instance]:
        """Store instances that get further generations or matchups below the hidden study too, if there is one."""
        if not self.target.is_apart:
            return {}
        names = ("instance_id", "dataset", "gold", "position")
        copies = [
            Instance(study=self.target.staged, **{name: getattr(instance, name) for name in names})
            for instance in stored
        ]
        self.target.create(copies)
        return {instance.instance_id: instance for instance in copies}

    def _add_pairs(
        self, rows: Sequence[InstanceRow], instances: dict[str, Instance], parents: dict[str, Instance]
    ) -> None:
        """Add the missing matchups of these instances, and their pairs: the j-th generation of A with the j-th of B.

        parents : where those of an instance are stored; the instance, or its copy
        """
        ids = {of[row.instance_id].pk: row.instance_id for row in rows for of in (instances, parents)}
        stored = Generation.objects.filter(instance__in=list(ids)).order_by("index")
        generations = grouped(
            ((ids[instance], system), pk)
            for instance, system, pk in stored.values_list("instance_id", "system_id", "pk")
        )
        matched = Matchup.objects.filter(instance__in=list(ids)).order_by()
        existing = set(matched.values_list("instance_id", "system_a_id", "system_b_id"))
        matchups: list[tuple[str, Matchup]] = []
        for row in rows:
            key = row.instance_id
            if row.matchups is not None:
                orders = [(self._systems[a].pk, self._systems[b].pk) for a, b in row.matchups]
            else:
                present = [system for system in self._systems.values() if (key, system.pk) in generations]
                ordered = sorted(present, key=lambda system: system.position)
                orders = [(a.pk, b.pk) for a, b in combinations(ordered, 2)]
            for order in orders:
                a, b = self._orders.setdefault(frozenset(order), order)  # as stored, if it is
                if (instances[key].pk, a, b) not in existing:
                    matchups.append((key, Matchup(instance=parents[key], system_a_id=a, system_b_id=b)))
        self.target.create(matchup for _, matchup in matchups)
        self.target.create(
            Pair(matchup=matchup, index=index, generation_a_id=a, generation_b_id=b)
            for key, matchup in matchups
            for index, (a, b) in enumerate(
                zip(
                    generations[key, matchup.system_a_id],
                    generations[key, matchup.system_b_id],
                    strict=False,  # unequal counts: the smaller one is the number of pairs
                )
            )
        )


def row_of(
    instance: Instance, number: int, generations: dict[str, list[str]], matchups: Iterable[tuple[str, str]]
) -> InstanceRow:
    """Return a stored instance as a row of a study file, with these generations and matchups."""
    names = (instance.instance_id, instance.dataset, instance.content)
    return InstanceRow(number, *names, generations, instance.gold, instance.metadata, tuple(matchups))


def orientations(study: Study) -> dict[frozenset[int], tuple[int, int]]:
    """Map each set of two system ids with matchups in the study to its (A, B)."""
    rows = Matchup.objects.filter(instance__study=study).order_by().values_list("system_a", "system_b").distinct()
    return {frozenset((a, b)): (a, b) for a, b in rows}


def _existing(study: Study, rows: Sequence[InstanceRow]) -> tuple[dict[str, Instance], dict[str, dict[str, list[str]]]]:
    """Return the stored instances among some of a file, and the texts of their systems."""
    stored = Instance.objects.filter(study=study, instance_id__in=[row.instance_id for row in rows]).order_by()
    instances = {instance.pk: instance for instance in stored}
    texts: dict[str, dict[str, list[str]]] = {}
    generations = Generation.objects.filter(instance__in=list(instances)).order_by("instance_id", "index")
    for pk, system, text, messages in generations.values_list("instance_id", "system__name", "text", "messages"):
        of_instance = texts.setdefault(instances[pk].instance_id, {})
        of_instance.setdefault(system, []).append(stored_content(text, messages))
    return {instance.instance_id: instance for instance in instances.values()}, texts


def _invalid_names(row: InstanceRow) -> list[Reason]:
    """List the names that can't be stored. The parser doesn't check those given in a form or a command."""
    names = [("instance_id", row.instance_id, LONGEST_ID), ("the data set", row.dataset, LONGEST_DATASET)]
    names += [("the system name", system, LONGEST_SYSTEM) for system in row.generations]
    return [problem for subject, name, longest in names if (problem := text_problem(name, subject, longest=longest))]


def _newly_paired(rows: Sequence[InstanceRow], instances: dict[str, Instance]) -> set[str]:
    """Return the stored instances with matchups that are not stored."""
    matchups = Matchup.objects.filter(instance__in=[instances[row.instance_id] for row in rows]).order_by()
    columns = ("instance__instance_id", "system_a__name", "system_b__name")
    stored = {(instance, frozenset(systems)) for instance, *systems in matchups.values_list(*columns)}
    return {
        row.instance_id
        for row in rows
        if any((row.instance_id, frozenset(pair)) not in stored for pair in row.matchups or ())
    }


def _contradictions(row: InstanceRow, instance: Instance | None, texts: dict[str, list[str]]) -> list[Reason]:
    """Return how a row contradicts its stored instance, and where this would have more than a study file may hold."""
    reasons = []
    differing = []
    if instance is not None:
        names = ("dataset", "gold", "metadata")
        differing = [name for name in names if not _same(getattr(instance, name), getattr(row, name))]
        differing += [] if is_same_content(instance.content, row.source) else ["source"]
        for system, own in row.generations.items():
            stored = texts.get(system, own)
            if len(stored) != len(own) or not all(map(is_same_content, stored, own)):
                differing.append(f"the generations of {system}")
    if differing:
        reasons.append(refusal("other_instance", instance=repr(row.instance_id), differing=", ".join(differing)))
    if (number := len({*texts, *row.generations})) > MOST_SYSTEMS:
        reasons.append(refusal("too_many_systems", number=number, most=MOST_SYSTEMS))
    return reasons + [
        refusal("too_many_texts", system=repr(system), number=len(own), most=MOST_TEXTS)
        for system, own in row.generations.items()
        if len(own) > MOST_TEXTS
    ]


def _same(stored: object, value: object) -> bool:
    """Compare JSON values. PostgreSQL returns 1e23 as an integer."""
    if isinstance(stored, dict) and isinstance(value, dict):
        return stored.keys() == value.keys() and all(_same(stored[key], value[key]) for key in value)
    if isinstance(stored, list) and isinstance(value, list):
        return len(stored) == len(value) and all(map(_same, stored, value))
    if isinstance(stored, int) and isinstance(value, float):
        return float(stored) == value
    return stored == value
