"""Notices of an import: what a file's content lets expect, though nothing in it is wrong."""

from collections.abc import Iterable, Iterator, Sequence

from annotation.core.names import addresses
from annotation.importing.formats.study_file import LONGEST_SYSTEM, InstanceRow
from annotation.studies.sources import SourceCounts

_MOST_LISTED = 5
MARK = "\nnotice: "  # begins each notice after the line on what was added


def notices_of(rows: Sequence[InstanceRow]) -> Iterator[str]:
    """Yield the notices about instances and their texts."""
    sources = SourceCounts.of(row.source for row in rows)
    if sources.is_repeated:
        if sources.different == 1:
            yield f"{sources.instances:,} instances have the same source"
        else:
            yield f"{sources.instances:,} instances have {sources.different:,} different sources"
    systems = {_folded(system) for row in rows for system in row.generations}
    texts = [text for row in rows for own in row.generations.values() for text in own]
    if names := sum(len(text) <= LONGEST_SYSTEM and _folded(text) in systems for text in texts):
        yield f"{names:,} of {len(texts):,} texts are names of systems: the texts may be in another column"


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
