"""Studies as arrays, without a database."""

from collections.abc import Sequence

import numpy as np

from analysis.types import Outcomes
from annotation.studies.votes import RatedPairs
from reporting.core.raters import Positions, by_position, rater
from reporting.findings.data.inputs import (
    Checks,
    Compared,
    ComparedSystem,
    ConfigurationData,
    Pairs,
    StudyData,
)
from reporting.findings.data.separability_bins import Separability
from reporting.findings.reasons import NOT_COMPUTED
from reporting.findings.sections.configurations import EXCLUSIONS

Vote = tuple[int, int, str, float, bool, float]  # instance, pair, person, verdict, A on the left, seconds


def configuration_of(
    votes: Sequence[Vote], *, dataset: str = "news", systems: tuple[str, str] = ("one", "two"), characters: float = 600
) -> ConfigurationData:
    """Make a configuration with these votes of people, in the order in which they saw the pairs."""
    n = 1 + max((vote[0] for vote in votes), default=-1)
    width = 1 + max((vote[1] for vote in votes), default=-1)
    instance, index = (axis.ravel() for axis in np.indices((n, width)))
    people = tuple(sorted({vote[2] for vote in votes}))
    verdict = np.array([vote[3] for vote in votes], dtype=float)
    first_is_a = np.array([vote[4] for vote in votes], dtype=bool)
    codes = np.array([vote[0] for vote in votes], dtype=int)
    outcomes = Outcomes(
        instance=codes,
        pair=np.array([vote[1] for vote in votes], dtype=int),
        a=np.zeros(len(votes), dtype=int),
        b=np.ones(len(votes), dtype=int),
        verdict=verdict,
        rater=np.array([people.index(vote[2]) for vote in votes], dtype=int),
        weight=np.ones(len(votes)),
    )
    shown = np.arange(len(votes), dtype=float)
    rated = RatedPairs(
        outcomes,
        first_is_a,
        people,
        np.full(len(votes), np.nan),
        np.array([vote[5] for vote in votes], dtype=float),
        shown,
        np.full(len(votes), np.nan),
        np.zeros(len(votes), dtype=int),
    )
    half = np.full(len(instance), characters / 2)
    return ConfigurationData(
        configuration=Compared(dataset, ComparedSystem(systems[0]), ComparedSystem(systems[1])),
        instance_ids=tuple(f"{dataset}-{number}" for number in range(n)),
        pairs=Pairs(instance, index, half, half, np.full(len(instance), np.nan)),
        separability=Separability(None, np.full(n, np.nan), None, NOT_COMPUTED),
        people=rater(
            "people",
            "person",
            rated,
            Positions(codes, by_position(verdict, first_is_a), outcomes.rater),
            dict.fromkeys(EXCLUSIONS, 0),
        ),
        judges=(),
        chosen=[],
    )


def study_of(
    *configurations: ConfigurationData, scripted: Sequence[str] = (), checks: dict[str, Checks] | None = None
) -> StudyData:
    """Make a study of these configurations."""
    return StudyData("tried", configurations, None, frozenset(scripted), checks or {}, [])
