"""The table of a study's pairs, kept in memory while what it is made from stays the same."""

from dataclasses import replace

from annotation.models import Rating, Study
from reporting.core.data_version import version_of
from reporting.core.kept import Kept
from reporting.disagreements.pair_table import PairTable, pair_table
from reporting.findings.data.inputs import Filters
from reporting.findings.data.reading import read_study

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
