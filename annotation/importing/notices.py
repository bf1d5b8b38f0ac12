"""Notices of an import: what a file's content lets expect, though nothing in it is wrong."""

from collections.abc import Iterable, Iterator, Sequence

from annotation.core.names import addresses
from annotation.importing.formats.study_file import LONGEST_SYSTEM, InstanceRow
from annotation.studies.sources import SourceCounts

_MOST_LISTED = 5
MARK = "\nnotice: "  # begins each notice after the line on what was added


class InstanceNotices:
    """Notices about instances and their texts, which are counted some at a time."""

    def __init__(self) -> None:
        self._sources = SourceCounts()
        self._systems: set[str] = set()
        self._texts = self._names = 0

    def add(self, rows: Sequence[InstanceRow]) -> None:
        """Count further instances of a file."""
        self._sources.add(row.source for row in rows)
        for row in rows:
            self._systems.update(map(_folded, row.generations))
            texts = [text for own in row.generations.values() for text in own]
            self._texts += len(texts)
            self._names += sum(len(text) <= LONGEST_SYSTEM and _folded(text) in self._systems for text in texts)

    def listed(self) -> Iterator[str]:
        """Yield the notices."""
        if self._sources.different == 1 < self._sources.instances:
            yield f"{self._sources.instances:,} instances have the same source"
        elif self._sources.is_repeated:
            yield f"{self._sources.instances:,} instances have {self._sources.different:,} different sources"
        if self._names:
            yield f"{self._names:,} of {self._texts:,} texts are names of systems: the texts may be in another column"


def notices_of_raters(codes: Iterable[str]) -> Iterator[str]:
    """Yield the notice about codes of raters that name people."""
    if notice := addresses(codes):
        listed = ", ".join(notice[:_MOST_LISTED]) + (", …" if len(notice) > _MOST_LISTED else "")
        yield f"rater codes look like e-mail addresses and appear in every export ({len(notice):,}): {listed}"


def with_notices(summary: str, notices: Iterable[str]) -> str:
    """Return the line on what was added, and a line for each notice."""
    return "".join([summary, *(f"{MARK}{notice}" for notice in notices)])


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()
