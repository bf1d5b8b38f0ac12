"""A judge on one configuration, read into the same shape as people."""

from collections.abc import Sequence
from dataclasses import dataclass

from annotation.tables import Selection
from judging.models import JudgeRun
from judging.tables import judgments, presentations
from reporting.raters import Places, Rater, rater
from reporting.votes import by_place


@dataclass(frozen=True, eq=False)
class JudgeOn:
    """A judge as a rater, with what became of the presentations that it was asked about."""

    rater: Rater
    status: dict[str, int]


def judges_on(selection: Selection, runs: Sequence[JudgeRun], *, drop_incomplete: bool) -> tuple[JudgeOn, ...]:
    """Read the verdicts of each run's judge on a selection; a pair that was asked about in vain has none.

    A judge that was never to look at any of these pairs is left out: it is no rater here.
    """
    found = (_judge_on(selection, run, drop_incomplete=drop_incomplete) for run in runs)
    return tuple(judge for judge in found if judge.status["asked"] or judge.status["pending"])


def _judge_on(selection: Selection, run: JudgeRun, *, drop_incomplete: bool) -> JudgeOn:
    judged = judgments(selection, run)
    # Place by place, not pair by pair: asked in both orders, a judge that always prefers the first has only ties.
    shown = presentations(selection, run)
    places = Places(shown.outcomes.instance, by_place(shown.outcomes.verdict, shown.first_is_a))
    name = f"judge:{run.judge.name}"
    read = rater(name, "judge", judged.rated, places, {}, drop_incomplete=drop_incomplete)
    return JudgeOn(read, judged.counts)
