"""Texts of alignments: digests of all instances, and the texts of those to compute."""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Aggregate, CharField

from annotation.models import Generation, Instance
from annotation.separability.measure import AlignmentMeasure

READ_AT_ONCE = 64  # instances per query of texts
MOST_CHARACTERS = 200_000  # of texts that are compared together; their vectors are a thousand times as large
_DIGEST = 32  # characters of one text's digest
_WINDOW = 2000  # instances per query of digests

Key = tuple[int, int]  # instance, system


@dataclass
class InstanceTexts:
    """One instance's texts by system, ordered by index, and the digests of each system's texts."""

    pk: int
    instance_id: str
    dataset: str
    texts: dict[int, list[str]] = field(default_factory=dict)
    digests: dict[int, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name for errors."""
        return f"instance {self.instance_id} of {self.dataset}"

    @property
    def characters(self) -> int:
        """Number of characters of all texts."""
        return sum(len(text) for texts in self.texts.values() for text in texts)


def count_of(digest: str) -> int:
    """Return the number of texts in a concatenated digest."""
    return len(digest) // _DIGEST


def matchup_digest(measure_sha256: str, digest_a: str, digest_b: str) -> str:
    """Return a hash of measure and texts, which tells whether a stored alignment is valid."""
    return hashlib.sha256(f"{measure_sha256} {digest_a} {digest_b}".encode()).hexdigest()


class _OrderedConcat(Aggregate):
    """Concatenates the values of the first expression in the order of the second."""

    # SQLite reads them in the order of the index (instance, system, index), which is this one. In another order, the
    # alignments would be recomputed.
    arity = 2
    output_field = CharField()

    def as_sql(  # type: ignore[override]  # no further arguments
        self, compiler: Any, connection: Any, **extra: Any
    ) -> tuple[str, tuple[str | int, ...]]:
        """Return the SQL of this database."""
        first, position = (compiler.compile(expression)[0] for expression in self.get_source_expressions()[:2])
        if connection.vendor == "postgresql":
            return f"STRING_AGG({first}, '' ORDER BY {position})", ()
        return f"GROUP_CONCAT({first}, '')", ()


def system_digests(
    instance_pks: Sequence[int], system_pks: Collection[int]
) -> Iterator[tuple[Sequence[int], dict[Key, str]]]:
    """Yield windows of instances, with the concatenated digests of their texts by (instance, system).

    instance_pks : sorted
    """
    for start in range(0, len(instance_pks), _WINDOW):
        window = instance_pks[start : start + _WINDOW]
        # The systems exclude other studies' rows within the range of ids.
        rows = Generation.objects.filter(system__in=system_pks, instance__gte=window[0], instance__lte=window[-1])
        grouped = rows.order_by("instance_id", "system_id").values_list("instance_id", "system_id")
        listed = grouped.annotate(digests=_OrderedConcat("text_md5", "index"))
        yield window, {(instance, system): digest for instance, system, digest in listed.iterator(chunk_size=_WINDOW)}


def read_texts(
    instance_pks: Sequence[int], systems: Mapping[int, str], measure: AlignmentMeasure
) -> Iterator[list[InstanceTexts]]:
    """Yield lists of instances to be compared together, with the texts of these systems.

    systems : names by primary key
    """
    for start in range(0, len(instance_pks), READ_AT_ONCE):
        chunk = instance_pks[start : start + READ_AT_ONCE]
        named = Instance.objects.filter(pk__in=chunk).order_by("pk").values_list("pk", "instance_id", "dataset")
        by_instance = {pk: InstanceTexts(pk, instance_id, dataset) for pk, instance_id, dataset in named}
        rows = Generation.objects.filter(instance__in=chunk, system__in=systems.keys()).order_by("index")
        for instance, system, text, digest in rows.values_list("instance_id", "system_id", "text", "text_md5"):
            texts_of_instance = by_instance[instance]
            texts_of_instance.texts.setdefault(system, []).append(text)
            texts_of_instance.digests[system] = texts_of_instance.digests.get(system, "") + digest
        for texts_of_instance in by_instance.values():
            _draw(texts_of_instance, systems, measure)
        yield from _portions(by_instance.values())


def _draw(instance: InstanceTexts, systems: Mapping[int, str], measure: AlignmentMeasure) -> None:
    """Sample generations by the measure. A system's sample is the same in all of its matchups."""
    if measure.samples is None:
        return
    for system, texts in instance.texts.items():
        if len(texts) > measure.samples:
            rng = measure.generator("generations", instance.dataset, instance.instance_id, systems[system])
            indexes = sorted(rng.choice(len(texts), size=measure.samples, replace=False).tolist())
            instance.texts[system] = [texts[index] for index in indexes]


def _portions(instances: Iterable[InstanceTexts]) -> Iterator[list[InstanceTexts]]:
    portion: list[InstanceTexts] = []
    characters = 0
    for instance in instances:
        if portion and characters + instance.characters > MOST_CHARACTERS:
            yield portion
            portion, characters = [], 0
        portion.append(instance)
        characters += instance.characters
    if portion:
        yield portion
