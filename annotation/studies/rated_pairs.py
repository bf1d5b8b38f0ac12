"""Verdicts as arrays, in one form for people and judges: no models, so that measures need no database."""

from dataclasses import dataclass, fields, replace

from analysis.grouping import first_rows
from analysis.types import FloatArray, IntArray, Outcomes
from annotation.questions.questions import Question

GOOD, BAD = 1, 2  # kinds of ties


@dataclass(frozen=True, eq=False)
class RatedPairs:
    """Verdicts as arrays, with columns that `Outcomes` doesn't have.

    outcomes      : one row per verdict; `instance` counts matchups of the selection, `rater` indexes `raters`
    first_is_a    : (n,) 1 if A's text was shown first (left), 0 if B's; NaN where not known
    raters        : the raters' codes
    chance        : (n,) inclusion probability of the instance, recorded by the HIT of the verdict (for a judge: by all
                    HITs of the instance); NaN where none is recorded
    seconds       : (n,) active seconds that the rater spent on the pair; NaN where not recorded, and for judges
    shown         : (n,) ascends in the order in which a person was shown the pairs, over all configurations; NaN where not
                    recorded, and for judges
    strength      : (n,) of preferences, 1 slightly and 2 much; NaN where not known or not asked
    tie_kind      : (n,) of ties, `GOOD` or `BAD`; 0 where not known or not asked
    asked         : of people, where it asks for strengths or kinds of ties: the question
    """

    outcomes: Outcomes
    first_is_a: FloatArray
    raters: tuple[str, ...]
    chance: FloatArray
    seconds: FloatArray
    shown: FloatArray
    strength: FloatArray
    tie_kind: IntArray
    asked: Question | None = None

    def at(self, rows: IntArray) -> "RatedPairs":
        """Return some of the rows."""
        return replace(
            self,
            outcomes=rows_of(self.outcomes, rows),
            first_is_a=self.first_is_a[rows],
            chance=self.chance[rows],
            seconds=self.seconds[rows],
            shown=self.shown[rows],
            strength=self.strength[rows],
            tie_kind=self.tie_kind[rows],
        )


def first_votes(outcomes: Outcomes) -> IntArray:
    """Return the rows of a rater's first vote on each pair. Several batches may have the same pair."""
    return first_rows(outcomes.instance, outcomes.pair, outcomes.rater)


def rows_of(outcomes: Outcomes, rows: IntArray) -> Outcomes:
    """Return some rows of the outcomes."""
    return Outcomes(**{field.name: getattr(outcomes, field.name)[rows] for field in fields(Outcomes)})
