"""Studies as arrays, without a database."""

from collections.abc import Sequence
from dataclasses import replace

from reporting.findings.data.inputs import Checks, ConfigurationData, StudyData
from tests.reporting.findings.arrays import configuration_data, rater_of

Vote = tuple[int, int, str, float, bool, float]  # instance, pair, person, verdict, A on the left, seconds


def configuration_of(
    votes: Sequence[Vote], *, dataset: str = "news", systems: tuple[str, str] = ("one", "two"), characters: float = 600
) -> ConfigurationData:
    """Make a configuration with these votes of people, in the order in which they saw the pairs."""
    rows = [vote[:4] for vote in votes]
    instances = 1 + max((row[0] for row in rows), default=-1)
    lengths = {row[:2]: (characters / 2, characters / 2) for row in rows}
    made = configuration_data(rows, {}, instances=instances, dataset=dataset, systems=systems, lengths=lengths)
    sides, seconds = [vote[4] for vote in votes], [vote[5] for vote in votes]
    return replace(made, people=rater_of("people", "person", rows, a_is_left=sides, seconds=seconds))


def study_of(
    *configurations: ConfigurationData, scripted: Sequence[str] = (), checks: dict[str, Checks] | None = None
) -> StudyData:
    """Make a study of these configurations."""
    return StudyData("tried", configurations, None, frozenset(scripted), checks or {}, [])
