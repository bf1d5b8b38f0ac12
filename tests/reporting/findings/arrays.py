"""Builds what findings are computed from as arrays, without a database."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from analysis.types import Outcomes
from annotation.studies.votes import RatedPairs
from reporting.core.raters import Positions, Rater, by_position, rater
from reporting.findings.data.inputs import Compared, ComparedSystem, ConfigurationData, Pairs
from reporting.findings.data.separability_bins import Separability
from reporting.findings.sections.configurations import EXCLUSIONS

Row = tuple[int, int, str, float | None]  # instance, pair, rater, verdict


def rater_of(
    name: str,
    kind: str,
    rows: Sequence[Row],
    chance: Mapping[int, float] | None = None,
    *,
    a_is_left: Sequence[bool] | None = None,
    seconds: Sequence[float] | None = None,
    with_incomplete: bool = False,
) -> Rater:
    """Make a rater from (instance, pair, rater's code, verdict), in the order in which the pairs were shown; A was on the left unless told."""
    codes = tuple(sorted({row[2] for row in rows}))
    column = [np.array([row[n] for row in rows], dtype=np.int64) for n in (0, 1)]
    outcomes = Outcomes(
        instance=column[0],
        pair=column[1],
        a=np.zeros(len(rows), dtype=np.int64),
        b=np.ones(len(rows), dtype=np.int64),
        verdict=np.array([row[3] for row in rows], dtype=np.float64),
        rater=np.array([codes.index(row[2]) for row in rows], dtype=np.int64),
    )
    known = np.array([(chance or {}).get(row[0], np.nan) for row in rows], dtype=np.float64)
    first_is_a = np.ones(len(rows), dtype=bool) if a_is_left is None else np.array(a_is_left, dtype=bool)
    unknown, no_kind = np.full(len(rows), np.nan), np.zeros(len(rows), dtype=np.int64)
    took = unknown if seconds is None else np.array(seconds, dtype=np.float64)
    shown = np.arange(len(rows), dtype=np.float64)
    rated = RatedPairs(outcomes, first_is_a, codes, known, took, shown, unknown, no_kind)
    preferred = by_position(outcomes.verdict, first_is_a)
    positions, exclusions = Positions(column[0], preferred, outcomes.rater), dict.fromkeys(EXCLUSIONS, 0)
    return rater(name, kind, rated, positions, exclusions, with_incomplete=with_incomplete)


def configuration_data(
    people: Sequence[Row],
    judges: Mapping[str, Sequence[tuple[int, int, float | None]]],
    *,
    instances: int,
    dataset: str = "news",
    systems: tuple[str, str] = ("one", "two"),
    chance: Mapping[int, float] | None = None,
    chosen: Sequence[dict[str, Any]] = (),
    prefix: str = "",
    lengths: Mapping[tuple[int, int], tuple[float, float]] | None = None,
    families: Mapping[str, str] | None = None,
) -> ConfigurationData:
    """Make one configuration; a judge has (instance, pair, verdict), `families` those of systems and judges by name."""
    keys = sorted({row[:2] for row in people} | {row[:2] for rows in judges.values() for row in rows})
    given = lengths or {}
    pairs = Pairs(
        instance=np.array([key[0] for key in keys], dtype=np.int64),
        index=np.array([key[1] for key in keys], dtype=np.int64),
        length_a=np.array([given.get(key, (100, 100))[0] for key in keys], dtype=np.float64),
        length_b=np.array([given.get(key, (100, 100))[1] for key in keys], dtype=np.float64),
        gold=np.full(len(keys), np.nan),
    )
    a, b = (ComparedSystem(name, (families or {}).get(name, "")) for name in systems)
    return ConfigurationData(
        configuration=Compared(dataset, a, b),
        instance_ids=tuple(f"{prefix or dataset}-{n}" for n in range(instances)),
        pairs=pairs,
        separability=Separability(None, np.full(instances, np.nan), None),
        people=rater_of("people", "person", people, chance),
        judges=tuple(
            replace(
                rater_of(f"judge:{name}", "judge", [(i, pair, f"judge:{name}", verdict) for i, pair, verdict in rows]),
                status={"asked": len(rows), "parsed": len(rows), **dict.fromkeys(("unparsed", "refused", "errors"), 0)},
                family=(families or {}).get(name, ""),
            )
            for name, rows in judges.items()
        ),
        chosen=list(chosen),
    )
