"""Judges that differ in their wording only, and how far a number of theirs depends on it."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from annotation.core.database.aggregates import grouped
from judging.models import Judge
from reporting.core.reasons import FEW_WORDINGS

T = TypeVar("T")
Found = dict[str, Any]


@dataclass(frozen=True)
class JudgeSettings:
    """Settings of a judge displayed beside its numbers.

    endpoint : the name of its own; None for one that asks no model
    model    : of the endpoint; empty without one
    wording  : the name of the prompt, or of the task whose wording it was asked with
    """

    name: str
    method: str
    params: Mapping[str, Any]
    endpoint: str | None
    model: str
    wording: str

    @property
    def besides_wording(self) -> str:
        """The settings shared by judges that differ only in their wording."""
        return json.dumps([self.method, self.endpoint, self.params], sort_keys=True)


def sets_of_wordings(
    rows: Iterable[T], *, alike: Callable[[T], str], wording: Callable[[T], str], answers: Callable[[T], int]
) -> list[list[T]]:
    """Return the rows of judges that differ in their wording only, for each such judge with two wordings or more.

    alike : the same for these; empty for a judge that is left out. Of several judges with one wording, the one with the
    most answers counts; those without an answer don't.
    """
    several = grouped((alike(row), row) for row in rows if alike(row) and answers(row))
    sets = [{wording(row): row for row in sorted(same, key=answers)} for same in several.values()]
    return [list(row.values()) for row in sets if len(row) > 1]


def spread_over_wordings(values: Sequence[float | None]) -> Found:
    """Return mean, range and standard deviation of a number over wordings, which are not a sample."""
    numbers = [value for value in values if value is not None]
    if len(numbers) < 2:
        return {"n": len(numbers), "value": None, **FEW_WORDINGS.as_json()}
    spread = float(np.std(numbers, ddof=1))
    return {
        "n": len(numbers),
        "value": float(np.mean(numbers)),
        "low": min(numbers),
        "high": max(numbers),
        "sd": spread,
    }


def settings_of(judge: Judge) -> JudgeSettings:
    """Return the settings of a judge."""
    return JudgeSettings(
        name=judge.name,
        method=judge.method,
        params=judge.params,
        endpoint=judge.endpoint.name if judge.endpoint else None,
        model=judge.endpoint.model if judge.endpoint else "",
        wording=str(judge.prompt_file) if judge.prompt_file else judge.task,
    )
