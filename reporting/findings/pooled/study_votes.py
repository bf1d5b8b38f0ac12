"""People's votes and judges' verdicts in all configurations, by pair, on codes of the whole study."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.agreement.leave_one_out import Votes
from analysis.types import FloatArray, IntArray, Outcomes
from reporting.core.raters import Rater
from reporting.findings.data.inputs import ConfigurationData
from reporting.findings.data.separability_bins import Bins
from reporting.findings.pooled.pooled import instance_codes, raters_by_name


@dataclass(frozen=True, eq=False)
class StudyVotes:
    """The pairs that people voted on, over all configurations, with their votes and the judges' verdicts.

    instance      : (n_units,) the study's instance, one code in all configurations that have it
    configuration : (n_units,) index of the configuration
    bin           : (n_units,) pooled bin of separability, -1 without one
    votes         : people's votes; a person is one and the same in all configurations
    people        : their codes
    judges        : verdicts (n_units,) of each judge, NaN for none, by the judge's name as a rater
    """

    instance: IntArray
    configuration: IntArray
    bin: IntArray
    votes: Votes
    people: tuple[str, ...]
    judges: dict[str, FloatArray]


def study_votes(everything: Sequence[ConfigurationData], bins: Bins | None) -> StudyVotes:
    """Put all configurations together; `bins` are those of all their instances, see `pooled.pooled_bins`."""
    raters = raters_by_name(everything)
    keys = _Keys.of(everything, raters)
    people = next((found for found in raters.values() if found[0][1].kind == "person"), [])
    codes = tuple(sorted({code for _, rater in people for code in rater.rated.raters}))
    place_of = {code: place for place, code in enumerate(codes)}
    key, verdict = keys.rows(people)
    person = _together(
        np.array([place_of[code] for code in rater.rated.raters], dtype=np.int64)[rater.rated.outcomes.rater]
        for _, rater in people
    )
    voted = ~np.isnan(verdict)
    units, unit = np.unique(key[voted], return_inverse=True)
    place, instance = keys.split(units)
    in_study = _together(instance_codes(everything))
    return StudyVotes(
        instance=in_study[instance],
        configuration=place,
        bin=np.full(len(units), -1) if bins is None else bins.of_instance[instance],
        votes=Votes(unit, person[voted], verdict[voted], len(units), len(codes)),
        people=codes,
        judges={
            name: _beside(units, *keys.rows(found)) for name, found in raters.items() if found[0][1].kind == "judge"
        },
    )


def judge_verdicts(everything: Sequence[ConfigurationData]) -> tuple[IntArray, dict[str, FloatArray]]:
    """Return the instances, (n_units,), of the pairs that any judge gave a verdict on, and each judge's verdicts there."""
    raters = {name: found for name, found in raters_by_name(everything).items() if found[0][1].kind == "judge"}
    keys = _Keys.of(everything, raters)
    rows = {name: keys.rows(found) for name, found in raters.items()}
    units = np.unique(_together(key[~np.isnan(verdict)] for key, verdict in rows.values()))
    instance = _together(instance_codes(everything))[keys.split(units)[1]]
    return instance, {name: _beside(units, key, verdict) for name, (key, verdict) in rows.items()}


@dataclass(frozen=True, eq=False)
class _Keys:
    """One number for each pair of the study: (instance counted over all configurations) * width + pair."""

    starts: IntArray
    width: int

    @classmethod
    def of(cls, everything: Sequence[ConfigurationData], raters: dict[str, list[tuple[int, Rater]]]) -> "_Keys":
        sizes = [len(data.selection.instance_ids) for data in everything]
        pairs = (rater.rated.outcomes.pair.max(initial=0) for found in raters.values() for _, rater in found)
        return cls(np.cumsum([0, *sizes]), 1 + max(map(int, pairs), default=0))

    def rows(self, found: Sequence[tuple[int, Rater]]) -> tuple[IntArray, FloatArray]:
        """Return the keys and verdicts of a rater."""
        keys = (self._key(place, rater.rated.outcomes) for place, rater in found)
        verdicts = [rater.rated.outcomes.verdict for _, rater in found]
        return _together(keys), np.concatenate([np.empty(0), *verdicts])

    def split(self, keys: IntArray) -> tuple[IntArray, IntArray]:
        """Return the configuration and the instance, counted over all configurations, of each key."""
        instance = keys // self.width
        return np.searchsorted(self.starts, instance, side="right") - 1, instance

    def _key(self, place: int, outcomes: Outcomes) -> IntArray:
        key: IntArray = (self.starts[place] + outcomes.instance) * self.width + outcomes.pair
        return key


def _together(parts: Iterable[IntArray]) -> IntArray:
    return np.concatenate([np.empty(0, dtype=np.int64), *parts])


def _beside(units: IntArray, keys: IntArray, verdicts: FloatArray) -> FloatArray:
    """Return the verdict on each unit; NaN where there is none."""
    if not len(keys):
        return np.full(len(units), np.nan)
    order = np.argsort(keys)
    at = np.searchsorted(keys, units, sorter=order).clip(0, len(keys) - 1)
    return np.where(keys[order[at]] == units, verdicts[order[at]], np.nan)
