"""Selection and order of disagreements by a request, among the pairs of a study, which are kept in memory."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

import numpy as np
from django.http import QueryDict

from analysis.types import FloatArray, IntArray
from annotation.core.errors import UnknownName
from annotation.models import Rating, Study
from reporting.core.data_version import version_of
from reporting.core.kept import Kept
from reporting.disagreements.pair_table import KINDS, PEOPLE, PairTable, of_person, pair_table, sizes_between
from reporting.findings.data.asked import filters_of, query_of
from reporting.findings.data.inputs import Filters
from reporting.findings.data.reading import read_study


@dataclass(frozen=True)
class PageFilters:
    """Filters of the page.

    filters : those it shares with findings: batches, arms, judges, question, similarity, exclusions
    kind    : one of KINDS; all when empty
    datasets: names; systems : names of one or both; empty for all
    bin     : separability bin of a configuration, from 1; 0 for all
    raters  : codes of people: only pairs on which one of them voted, and how far that one is from the others
    """

    filters: Filters
    kind: str = ""
    datasets: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()
    bin: int = 0
    raters: tuple[str, ...] = ()

    def query(self) -> str:
        """Encode them as a URL query."""
        own = [("kind", self.kind), ("bin", str(self.bin or ""))]
        own += [("dataset", name) for name in self.datasets]
        own += [("system", name) for name in self.systems]
        own += [("rater", code) for code in self.raters]
        return "&".join(filter(None, [urlencode([item for item in own if item[1]]), query_of(self.filters)]))


def asked_of(study: Study, query: QueryDict) -> PageFilters:
    """Read `kind`, `bin` and the filters of findings.

    Data sets, systems and raters choose among the pairs, beside which all votes are shown, those of both stages.

    Raises: UnknownName for an unknown name, or a bin that is no number.
    """
    kind, bin_ = query.get("kind", ""), query.get("bin", "")
    if kind and kind not in KINDS:
        raise UnknownName(f"there is no kind of disagreement {kind}; there are: {', '.join(KINDS)}")
    if bin_ and not (bin_.isascii() and bin_.isdecimal() and len(bin_) < 4 and int(bin_)):
        raise UnknownName(f"bins are numbers from 1, not {bin_}")
    typed = query.copy()
    typed.setlist("rater", [code.strip() for code in query.getlist("rater")])
    filters = filters_of(study, typed)
    return PageFilters(
        filters=replace(filters, datasets=None, systems=None, raters=None, stage=Rating.Stage.FIRST.value),
        kind=kind,
        datasets=filters.datasets or (),
        systems=filters.systems or (),
        bin=int(bin_ or 0),
        raters=filters.raters or (),
    )


def sizes(table: PairTable, page_filters: PageFilters) -> dict[str, FloatArray]:
    """Return how far apart raters are on each pair, from 0 to 1, by kind."""
    judges = page_filters.filters.judges
    names = [name for name in table.judges if judges is None or name.removeprefix("judge:") in judges]
    sizes_of_raters = sizes_between(table, names)
    if page_filters.raters:
        sizes_of_raters[PEOPLE] = np.nan_to_num(_of_raters(table, page_filters.raters))
    return {kind: size for kind, size in sizes_of_raters.items() if page_filters.kind in ("", kind)}


def chosen(table: PairTable, page_filters: PageFilters, distances: dict[str, FloatArray]) -> IntArray:
    """Return the rows with a disagreement that the filters let through: the largest first, then in the study's order.

    Raises: UnknownName for a separability bin that no configuration has.
    """
    if page_filters.bin > table.bins:
        raise UnknownName(f"there is no separability bin {page_filters.bin}; there are {table.bins}, numbered from 1")
    fits = [
        (not page_filters.datasets or data.dataset in page_filters.datasets)
        and set(page_filters.systems) <= set(data.systems)
        for data in table.configurations
    ]
    is_kept = np.array(fits, dtype=bool)[table.configuration]
    if page_filters.bin:
        is_kept &= table.bin == page_filters.bin - 1
    if page_filters.raters:
        is_kept &= ~np.isnan(_of_raters(table, page_filters.raters))
    largest = np.max(list(distances.values()), axis=0)
    rows = np.flatnonzero(is_kept & (largest > 0))
    return rows[np.argsort(-largest[rows].round(9), kind="stable")]


def _of_raters(table: PairTable, raters: Sequence[str]) -> FloatArray:
    """(n,) largest distance of one of these people from the others on the pair, NaN without votes."""
    distances: FloatArray = np.fmax.reduce([of_person(table, code) for code in raters])
    return distances


_kept: Kept[PairTable] = Kept(2)  # each takes 32 bytes a vote


def read_table(study: Study, filters: Filters) -> PairTable:
    """Read the pairs of a study with all votes and verdicts. `filters` are those of findings, without `judges`.

    Raises: UnknownName for an unknown batch.
    """
    filters = replace(filters, judges=None)
    return _kept.get((study.key, filters), version_of(study), lambda: _read(study, filters))


def _read(study: Study, filters: Filters) -> PairTable:
    first = read_study(study, filters).configurations
    if not study.is_two_stage:
        return pair_table(first)
    return pair_table(first, read_study(study, replace(filters, stage=Rating.Stage.REVISED, judges=())).configurations)
