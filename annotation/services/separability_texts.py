"""The texts that alignments are of: their digests for all instances, cheaply, and the texts of those that need them."""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Aggregate, CharField

from annotation.models import Generation, Instance
from annotation.services.separability_measure import Measure

READ_AT_ONCE = 64  # instances whose texts are asked for together
MOST_CHARACTERS = (
    200_000  # of texts that are compared together: what a model makes of them is a thousand times as large
)
_DIGEST = 32  # characters, of one text
_WINDOW = 2000  # instances whose digests are held at a time

Key = tuple[int, int]  # instance, system


@dataclass
class InstanceTexts:
    """One instance's texts by system, in the order of their index, with the digest of each system's."""

    pk: int
    instance_id: str
    dataset: str
    texts: dict[int, list[str]] = field(default_factory=dict)
    digests: dict[int, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What an error calls it."""
        return f"instance {self.instance_id} of {self.dataset}"

    @property
    def characters(self) -> int:
        """How much there is to compare."""
        return sum(len(text) for texts in self.texts.values() for text in texts)


def count_of(digest: str) -> int:
    """Return of how many texts this is the digest: of each there is one of the same length."""
    return len(digest) // _DIGEST


def matchup_digest(measure_sha256: str, digest_a: str, digest_b: str) -> str:
    """Return what tells whether an alignment is still that of its texts under its measure."""
    return hashlib.sha256(f"{measure_sha256} {digest_a} {digest_b}".encode()).hexdigest()


class _InOrder(Aggregate):
    """The values of the first expression, one after another, in the order of the second."""

    # SQLite takes them as the index on instance, system and index has them, which is this order; if it ever took them in
    # another one, no more would come of it than alignments computed anew.
    arity = 2
    output_field = CharField()

    def as_sql(  # type: ignore[override]  # it takes nothing from outside
        self, compiler: Any, connection: Any, **extra: Any
    ) -> tuple[str, tuple[str | int, ...]]:
        """Write it for this database."""
        first, place = (compiler.compile(expression)[0] for expression in self.get_source_expressions()[:2])
        if connection.vendor == "postgresql":
            return f"STRING_AGG({first}, '' ORDER BY {place})", ()
        return f"GROUP_CONCAT({first}, '')", ()


def system_digests(
    instance_pks: Sequence[int], system_pks: Collection[int]
) -> Iterator[tuple[Sequence[int], dict[Key, str]]]:
    """Yield a part of the instances at a time, with the digests of their texts, one after another, by (instance, system).

    instance_pks : sorted
    """
    for start in range(0, len(instance_pks), _WINDOW):
        window = instance_pks[start : start + _WINDOW]
        # Systems are a study's own, so that this finds no other study's rows between these.
        rows = Generation.objects.filter(system__in=system_pks, instance__gte=window[0], instance__lte=window[-1])
        grouped = rows.order_by("instance_id", "system_id").values_list("instance_id", "system_id")
        listed = grouped.annotate(digests=_InOrder("text_md5", "index"))
        yield window, {(instance, system): digest for instance, system, digest in listed.iterator(chunk_size=_WINDOW)}


def read_texts(
    instance_pks: Sequence[int], systems: Mapping[int, str], measure: Measure
) -> Iterator[list[InstanceTexts]]:
    """Yield instances with the texts of these systems, as many at a time as are to be compared together.

    systems : their names by pk
    """
    for start in range(0, len(instance_pks), READ_AT_ONCE):
        chunk = instance_pks[start : start + READ_AT_ONCE]
        named = Instance.objects.filter(pk__in=chunk).order_by("pk").values_list("pk", "instance_id", "dataset")
        found = {pk: InstanceTexts(pk, instance_id, dataset) for pk, instance_id, dataset in named}
        rows = Generation.objects.filter(instance__in=chunk, system__in=systems.keys()).order_by("index")
        for instance, system, text, digest in rows.values_list("instance_id", "system_id", "text", "text_md5"):
            one = found[instance]
            one.texts.setdefault(system, []).append(text)
            one.digests[system] = one.digests.get(system, "") + digest
        for one in found.values():
            _draw(one, systems, measure)
        yield from _portions(found.values())


def _draw(one: InstanceTexts, systems: Mapping[int, str], measure: Measure) -> None:
    """Keep the generations that the measure draws: the same ones in every pair of systems that a system is in."""
    if measure.samples is None:
        return
    for system, texts in one.texts.items():
        if len(texts) > measure.samples:
            rng = measure.generator("generations", one.dataset, one.instance_id, systems[system])
            places = sorted(rng.choice(len(texts), size=measure.samples, replace=False).tolist())
            one.texts[system] = [texts[place] for place in places]


def _portions(instances: Iterable[InstanceTexts]) -> Iterator[list[InstanceTexts]]:
    portion: list[InstanceTexts] = []
    characters = 0
    for one in instances:
        if portion and characters + one.characters > MOST_CHARACTERS:
            yield portion
            portion, characters = [], 0
        portion.append(one)
        characters += one.characters
    if portion:
        yield portion
