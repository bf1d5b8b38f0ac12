"""Which disagreements a request asks for, and their order."""

from dataclasses import dataclass
from urllib.parse import urlencode

import numpy as np
from django.http import QueryDict

from analysis.types import FloatArray, IntArray
from annotation.core.errors import UnknownName
from annotation.models import Study
from reporting.disagreements.pair_table import PairTable, before_and_after, between_people, from_majority, of_person
from reporting.findings.data.asked import datasets_named, filters_of, query_of, raters_named, systems_named
from reporting.findings.data.inputs import Filters

JUDGE, PEOPLE, REVISED = KINDS = ("judge", "people", "revised")


@dataclass(frozen=True)
class PageFilters:
    """Filters of the page.

    filters : those it shares with findings: batches, judges, question, similarity
    kind    : one of KINDS; all when empty
    dataset : name; systems : names of one or both; empty for all
    bin     : separability bin of a configuration, from 1; 0 for all
    rater   : code of a person: only pairs on which they voted, and how far they are from the others
    """

    filters: Filters
    kind: str = ""
    dataset: str = ""
    systems: tuple[str, ...] = ()
    bin: int = 0
    rater: str = ""

    def query(self) -> str:
        """Encode them as a URL query."""
        own = [("kind", self.kind), ("dataset", self.dataset), *(("system", name) for name in self.systems)]
        own += [("bin", str(self.bin or "")), ("rater", self.rater)]
        return "&".join(filter(None, [urlencode([one for one in own if one[1]]), query_of(self.filters)]))


def asked_of(study: Study, query: QueryDict) -> PageFilters:
    """Read `kind`, `dataset`, `system` (once or twice), `bin`, `rater` and the filters of findings.

    Raises: UnknownName for an unknown name, or a bin that is no number.
    """
    kind, bin_ = query.get("kind", ""), query.get("bin", "")
    if kind and kind not in KINDS:
        raise UnknownName(f"there is no kind of disagreement {kind}; there are: {', '.join(KINDS)}")
    if bin_ and not (bin_.isascii() and bin_.isdecimal() and len(bin_) < 4 and int(bin_)):
        raise UnknownName(f"bins are numbers from 1, not {bin_}")
    shared = query.copy()
    for own in ("dataset", "system", "rater", "stage"):  # choose among the pairs, beside which all votes are shown
        shared.pop(own, None)
    dataset, rater = query.get("dataset", ""), query.get("rater", "").strip()
    datasets_named(study, [dataset] if dataset else [])
    raters_named(study, [rater] if rater else [])
    return PageFilters(
        filters=filters_of(study, shared),
        kind=kind,
        dataset=dataset,
        systems=systems_named(study, [name for name in query.getlist("system") if name]) or (),
        bin=int(bin_ or 0),
        rater=rater,
    )


def sizes(table: PairTable, asked: PageFilters) -> dict[str, FloatArray]:
    """Return how far apart raters are on each pair, from 0 to 1, by kind."""
    people = between_people(table) if not asked.rater else np.nan_to_num(of_person(table, asked.rater))
    judges = asked.filters.judges
    names = [name for name in table.judges if judges is None or name.removeprefix("judge:") in judges]
    found = {
        JUDGE: from_majority(table, names),
        PEOPLE: people,
        REVISED: before_and_after(table),
    }
    return {kind: size for kind, size in found.items() if asked.kind in ("", kind)}


def chosen(table: PairTable, asked: PageFilters, apart: dict[str, FloatArray]) -> IntArray:
    """Return the rows with a disagreement that the filters let through: the largest first, then in the study's order.

    Raises: UnknownName for a separability bin that no configuration has.
    """
    if asked.bin > table.bins:
        raise UnknownName(f"there is no separability bin {asked.bin}; there are {table.bins}, numbered from 1")
    fits = [
        asked.dataset in ("", data.dataset) and set(asked.systems) <= set(data.systems) for data in table.configurations
    ]
    kept = np.array(fits, dtype=bool)[table.configuration]
    if asked.bin:
        kept &= table.bin == asked.bin - 1
    if asked.rater:
        kept &= ~np.isnan(of_person(table, asked.rater))
    largest = np.max(list(apart.values()), axis=0)
    rows = np.flatnonzero(kept & (largest > 0))
    return rows[np.argsort(-largest[rows].round(9), kind="stable")]
