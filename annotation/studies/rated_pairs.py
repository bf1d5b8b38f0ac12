"""Verdicts as arrays, in one form for people and judges: no models, so that measures need no database."""

from dataclasses import dataclass, fields, replace

import numpy as np

from analysis.types import BoolArray, FloatArray, IntArray, Outcomes
from annotation.questions.questions import Answer, Question


@dataclass(frozen=True, eq=False)
class RatedPairs:
    """Verdicts as arrays, with columns that `Outcomes` doesn't have.

    outcomes      : one row per verdict; `instance` counts matchups of the selection, `rater` indexes `raters`
    first_is_a    : (n,) bool, whether A's text was shown first (left)
    raters        : the raters' codes
    chance        : (n,) inclusion probability of the instance, recorded by the HIT of the verdict (for a judge: by all
                    HITs of the instance); NaN where none is recorded
    seconds       : (n,) active seconds that the rater spent on the pair; NaN where not recorded, and for judges
    asked, answers: of people, where the question asks for strengths or kinds of ties: the question, and (n,) the whole
                    answers, None where there is none
    """

    outcomes: Outcomes
    first_is_a: BoolArray
    raters: tuple[str, ...]
    chance: FloatArray
    seconds: FloatArray
    asked: Question | None = None
    answers: tuple[Answer | None, ...] = ()

    def at(self, rows: IntArray) -> "RatedPairs":
        """Return some of the rows."""
        return replace(
            self,
            outcomes=rows_of(self.outcomes, rows),
            first_is_a=self.first_is_a[rows],
            chance=self.chance[rows],
            seconds=self.seconds[rows],
            answers=tuple(self.answers[row] for row in rows.tolist()) if self.answers else (),
        )


def first_votes(outcomes: Outcomes) -> IntArray:
    """Return the rows of a rater's first vote on each pair; several batches may have the same pair."""
    keys = np.stack([outcomes.instance, outcomes.pair, outcomes.rater], axis=1)
    return np.sort(np.unique(keys, axis=0, return_index=True)[1])


def rows_of(outcomes: Outcomes, rows: IntArray) -> Outcomes:
    """Return some rows of the outcomes."""
    return Outcomes(**{field.name: getattr(outcomes, field.name)[rows] for field in fields(Outcomes)})
