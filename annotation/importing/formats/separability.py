"""Separability as it is exported, a matchup by one measure a row: the columns of writer and reader, and the parsing of rows."""

from dataclasses import dataclass
from typing import Any

from annotation.core.errors import BadLine
from annotation.core.files.record_fields import RecordFields, read_rows
from annotation.models.separability import LONGEST_MODEL

# Columns by the fields of a run that fill them.
MEASURE = ("similarity", "model", "model_fingerprint", "samples", "cross_pairs", "seed")
SCALE = ("group", "low", "high")
RUN = (*MEASURE, *SCALE)
ALIGNMENTS = ("self_a", "self_b", "cross", "separability")
PROVENANCE = ("short", "computed_at", "software_version")
COLUMNS = ("instance_id", "dataset", "system_a", "system_b", *RUN, *ALIGNMENTS, *PROVENANCE)
REQUIRED = ("instance_id", "system_a", "system_b", "similarity", *SCALE, *ALIGNMENTS)
_LONGEST = {"similarity": 60, "model": LONGEST_MODEL, "model_fingerprint": 64, "group": 60, "software_version": 40}
_MOST = {"samples": 2**31 - 1, "cross_pairs": 2**31 - 1, "seed": 2**63 - 1, "short": 2**31 - 1}


@dataclass(frozen=True, slots=True)
class SeparabilityRow:
    """Alignments of one matchup with the file's A and B, which may be the study's B and A.

    run    : what the rows of one run have in common: the columns of RUN and PROVENANCE
    values : those of ALIGNMENTS
    """

    number: int
    instance_id: str
    systems: tuple[str, str]
    run: dict[str, Any]
    values: tuple[float | None, float | None, float, float | None]


def parse_separability(data: bytes, name: str) -> tuple[list[SeparabilityRow], list[BadLine]]:
    """Parse exported separability, CSV or JSON Lines; return the rows and the bad lines.

    Raises: BadFile for a file without the columns.
    """
    return read_rows(data, name, _row, required=REQUIRED, what="separability")


def _row(number: int, cells: RecordFields) -> SeparabilityRow:
    run: dict[str, Any] = {
        **{
            name: (cells.needed if name in REQUIRED else cells.name)(name, longest=longest)
            for name, longest in _LONGEST.items()
        },
        **{name: cells.whole(name, most=most) for name, most in _MOST.items()},
        **{name: cells.number(name) for name in ("low", "high")},
        "computed_at": cells.moment("computed_at"),
    }
    if run["low"] is not None and run["high"] is not None and run["low"] >= run["high"]:
        cells.problems.append("low is not below high")
    self_a, self_b, value = (cells.number(name) for name in ("self_a", "self_b", "separability"))
    cross = cells.number("cross")
    missing = [name for name, value in (*run.items(), ("cross", cross)) if value is None and name in REQUIRED]
    cells.problems += [f"{name} is missing" for name in missing if not cells.in_trouble(name)]
    row = SeparabilityRow(
        number=number,
        instance_id=cells.needed("instance_id", longest=200),
        systems=(cells.needed("system_a", longest=200), cells.needed("system_b", longest=200)),
        run=run,
        values=(self_a, self_b, cross or 0.0, value),
    )
    if not cells.problems and (value is None) == (self_a is not None and self_b is not None):
        cells.problems.append("separability is there where self_a and self_b are, and only there")
    return row
