"""Instances: the source texts that several share and the clusters that these make, gold verdicts, and tags."""

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any, NamedTuple

from annotation.models import Study

CHUNK = 500
CLUSTER = "cluster"  # key of an instance's metadata


class SourceCounts:
    """Numbers of instances with a source text, and of different texts among these. White space makes no difference."""

    def __init__(self, sources: Iterable[str] = ()) -> None:
        self.instances = 0
        self._digests: set[bytes] = set()
        self.add(sources)

    def add(self, sources: Iterable[str]) -> None:
        """Count source texts, of which empty ones are left out."""
        for source in sources:
            if digest := _digest(source):
                self.instances += 1
                self._digests.add(digest)

    @property
    def different(self) -> int:
        """The number of different texts."""
        return len(self._digests)

    @property
    def is_repeated(self) -> bool:
        """True where some instances share a text."""
        return self.different < self.instances


class Clusters(NamedTuple):
    """Codes of the instances' clusters, in the order of their first instance by data set and id."""

    by_id: dict[str, int]
    by_key: dict[int, int]


def instance_clusters(study: Study) -> Clusters | None:
    """Return the code of each instance's cluster by its id and by its primary key, or None where each instance is its own.

    A cluster is named by `cluster` in the metadata. Instances without it that share a source text are one.
    """
    columns = ("dataset", "instance_id", "pk", "source", f"metadata__{CLUSTER}")
    rows = study.instances.order_by("pk").values_list(*columns).iterator(chunk_size=CHUNK)
    keys = sorted((*names, pk, _cluster_key(names[1], source, cluster)) for *names, pk, source, cluster in rows)
    codes: dict[tuple[str, object], int] = {}
    by_id = {instance_id: codes.setdefault(key, len(codes)) for _, instance_id, _, key in keys}
    if len(codes) == len(by_id):
        return None
    return Clusters(by_id, {pk: by_id[instance_id] for _, instance_id, pk, _ in keys})


def _cluster_key(instance_id: str, source: str, name: object) -> tuple[str, object]:
    if isinstance(name, str | int) and name != "":
        return "named", str(name)
    return ("source", digest) if (digest := _digest(source)) else ("alone", instance_id)


def _digest(source: str) -> bytes:
    """Return the digest of a source text without regard to white space, or nothing for an empty one."""
    words = source.split()
    return blake2b(" ".join(words).encode(), digest_size=16).digest() if words else b""


def gold_verdict(gold: dict[str, Any] | None, system_a: str, system_b: str) -> int | None:
    """Return which of two systems the gold prefers: −1 A, +1 B, 0 a tie, or None if it doesn't say."""
    if not gold:
        return None
    if "better" in gold:
        return {system_a: -1, system_b: 1, "tie": 0}.get(gold["better"])
    scores = gold.get("scores") or {}
    a, b = scores.get(system_a), scores.get(system_b)
    if a is None or b is None:
        return None
    return int(b > a) - int(a > b)


def tags_of(metadata: dict[str, Any]) -> tuple[str, ...]:
    """Return the tags in an instance's metadata: texts, or one text, under `tags` or `tag`."""
    tags: list[str] = []
    for key in ("tags", "tag"):
        value = metadata.get(key)
        tags += [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return tuple(dict.fromkeys(tag for tag in tags if isinstance(tag, str) and tag))
