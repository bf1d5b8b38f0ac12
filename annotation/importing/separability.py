"""Importing separability that was computed elsewhere, as it is exported."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from django.db import transaction
from django.utils import timezone

from analysis.separability import normalise, separability
from annotation.core.errors import MOST_BAD_LINES, BadLine
from annotation.core.files import lines
from annotation.importing.formats.separability import ALIGNMENTS, MEASURE, SCALE, SeparabilityRow, parse_separability
from annotation.models import Alignment, Matchup, SeparabilityRun, Study
from annotation.studies.services import find_study, record_import

ROUNDING = 1e-9  # of a separability that is computed again from its alignments
_CHUNK = 500
Key = tuple[Any, ...]  # data set, A and B, and the measure


@dataclass
class _Run:
    """A run of the file: what its rows have in common, and their alignments by matchup."""

    settings: dict[str, Any]
    rows: dict[int, SeparabilityRow] = field(default_factory=dict)
    values: dict[int, tuple[float | None, ...]] = field(default_factory=dict)


def import_separability(*, data: bytes, name: str, slug: str) -> tuple[Study, int, int]:
    """Import exported separability, whole or not at all; return the study and how many matchups were added and unchanged.

    Each value is computed again from its alignments; the similarities of the texts are not: `compute_separability` does that,
    and takes nothing that was read from a file for its own.
    Raises: BadFile listing the bad lines; UnknownStudy.
    """
    rows, bad = parse_separability(data, name)
    return _store(rows, bad, data=data, name=name, slug=slug)


@transaction.atomic
def _store(
    rows: Iterable[SeparabilityRow], bad: list[BadLine], *, data: bytes, name: str, slug: str
) -> tuple[Study, int, int]:
    study = find_study(slug, lock=True)
    runs = _runs(study, rows, bad)
    for run in runs.values():
        bad.extend(_miscounted(run))
    lines.refuse(name, bad[:MOST_BAD_LINES])
    stored = [_store_run(study, key, run, bad) for key, run in runs.items()]
    lines.refuse(name, bad[:MOST_BAD_LINES])
    added = sum(stored)
    if added:
        record_import(study=study, kind="separability", name=name, data=data, counts={"added": added})
    return study, added, sum(len(run.rows) for run in runs.values()) - added


def _runs(study: Study, rows: Iterable[SeparabilityRow], bad: list[BadLine]) -> dict[Key, _Run]:
    """Group the rows by the study's configurations and the measure, turned to the study's A and B."""
    matchups = _matchups(study)
    runs: dict[Key, _Run] = {}
    for row in rows:
        if len(bad) >= MOST_BAD_LINES:
            break
        (a, b), (self_a, self_b, cross, value) = row.systems, row.values
        found, turned = matchups.get((row.instance_id, a, b)), matchups.get((row.instance_id, b, a))
        place = found or turned
        if place is None:
            bad.append(BadLine(row.number, "the study does not compare these systems on this instance"))
            continue
        matchup, *configuration = place
        run = runs.setdefault((*configuration, *(row.run[name] for name in MEASURE)), _Run(row.run))
        if run.settings != row.run:
            bad.append(
                BadLine(row.number, "group, scale or time differ from those of the same measure on a line before")
            )
        elif before := run.rows.get(matchup):
            bad.append(BadLine(row.number, f"the same matchup by the same measure is on line {before.number} already"))
        else:
            run.rows[matchup] = row
            run.values[matchup] = (self_a, self_b, cross, value) if found else (self_b, self_a, cross, value)
    return runs


def _matchups(study: Study) -> dict[tuple[str, str, str], tuple[Any, ...]]:
    """Return each matchup's primary key and configuration, by names of instance, A and B."""
    rows = Matchup.objects.filter(instance__study=study).values_list(
        *("instance__instance_id", "system_a__name", "system_b__name"),
        *("pk", "instance__dataset", "system_a", "system_b"),
    )
    return {tuple(row[:3]): tuple(row[3:]) for row in rows.iterator(chunk_size=_CHUNK)}


def _miscounted(run: _Run) -> list[BadLine]:
    """Return the lines whose separability does not follow from their alignments and the scale."""
    values = np.array(list(run.values.values()), dtype=np.float64)
    scaled = normalise(values[:, 0], values[:, 1], values[:, 2], low=run.settings["low"], high=run.settings["high"])
    found = separability(scaled.self_a, scaled.self_b, scaled.cross)
    tolerance = ROUNDING * np.maximum(1, np.abs(found))
    wrong = np.abs(found - values[:, 3]) > tolerance  # False where it is undefined (NaN)
    return [
        BadLine(row.number, f"separability is {row.values[3]}, and {value:.12g} by self_a, self_b, cross, low and high")
        for row, value, is_wrong in zip(run.rows.values(), found, wrong, strict=True)
        if is_wrong
    ]


def _store_run(study: Study, key: Key, run: _Run, bad: list[BadLine]) -> int:
    """Add the alignments that a run does not have yet; list those that it has with other values."""
    dataset, a, b, *measure = key
    identity = {"dataset": dataset, "system_a_id": a, "system_b_id": b, **dict(zip(MEASURE, measure, strict=True))}
    stored = study.separability_runs.filter(**identity).first()
    scale = {name: run.settings[name] for name in SCALE}
    if stored is None:
        stored = SeparabilityRun.objects.create(
            study=study,
            **identity,
            **scale,
            short=run.settings["short"] or 0,
            computed_at=run.settings["computed_at"] or timezone.now(),
            software_version=run.settings["software_version"],
        )
    elif any(getattr(stored, name) != value for name, value in scale.items()):
        first = next(iter(run.rows.values()))
        bad.append(BadLine(first.number, f"{stored.label} is in the study already with another group or scale"))
        return 0
    rows = stored.alignments.values_list("matchup_id", *ALIGNMENTS)
    known = {matchup: tuple(values) for matchup, *values in rows}
    fresh = []
    for matchup, values in run.values.items():
        if matchup not in known:
            fresh.append(Alignment(run=stored, matchup_id=matchup, **dict(zip(ALIGNMENTS, values, strict=True))))
        elif known[matchup] != values:
            bad.append(
                BadLine(run.rows[matchup].number, "the study has other alignments of this matchup by this measure")
            )
    Alignment.objects.bulk_create(fresh, batch_size=_CHUNK)
    return len(fresh)
