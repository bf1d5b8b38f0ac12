"""Notices of an import: what a file's content lets expect, though nothing in it is wrong."""

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce

from annotation.core.names import addresses
from annotation.core.reasons import Reason, reason, restored
from annotation.importing.formats.study_file import LONGEST_SYSTEM, InstanceRow
from annotation.studies.instances import SourceCounts

_MOST_LISTED = 5


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

    def listed(self) -> Iterator[Reason]:
        """Yield the notices."""
        if self._sources.different == 1 < self._sources.instances:
            yield reason("one_source", number=self._sources.instances)
        elif self._sources.is_repeated:
            yield reason("few_sources", number=self._sources.instances, sources=self._sources.different)
        if self._names:
            yield reason("names_of_systems", number=self._names, count=self._texts)


def notices_of_raters(codes: Iterable[str]) -> Iterator[Reason]:
    """Yield the notice about codes of raters that name people."""
    if notice := addresses(codes):
        listed = ", ".join(notice[:_MOST_LISTED]) + (", …" if len(notice) > _MOST_LISTED else "")
        yield reason("codes_like_addresses", number=len(notice), codes=listed)


def with_notices(summary: Reason | str, notices: Iterable[Reason]) -> Reason:
    """Return the line on what was added, and a line for each notice."""
    return reduce(lambda so_far, notice: reason("noticed", summary=so_far, notice=notice), notices, restored(summary))


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()
