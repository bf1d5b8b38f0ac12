"""Source texts that several instances share."""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b

from annotation.models import Study

CHUNK = 500


@dataclass(frozen=True)
class SourceCounts:
    """Numbers of instances with a source text, and of different texts among these. White space makes no difference."""

    instances: int
    different: int

    @classmethod
    def of(cls, sources: Iterable[str]) -> "SourceCounts":
        """Count source texts, of which empty ones are left out."""
        instances, digests = 0, set()
        for source in sources:
            if words := source.split():
                instances += 1
                digests.add(blake2b(" ".join(words).encode(), digest_size=16).digest())
        return cls(instances, len(digests))

    @property
    def is_repeated(self) -> bool:
        """True where some instances share a text."""
        return self.different < self.instances


def source_counts(study: Study) -> SourceCounts:
    """Count the source texts of a study's instances."""
    return SourceCounts.of(study.instances.order_by("pk").values_list("source", flat=True).iterator(chunk_size=CHUNK))
