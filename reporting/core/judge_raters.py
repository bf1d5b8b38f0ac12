"""A judge as a rater of one configuration, in the same form as people."""

from collections.abc import Sequence

from annotation.questions.questions import MAIN
from annotation.studies.outcomes import Selection
from judging.models import JudgeRun
from judging.outcomes.judgments import judgments, presentations
from reporting.core.raters import JudgeRater, Positions, rater
from reporting.core.votes import by_position


def judge_raters(
    selection: Selection, runs: Sequence[JudgeRun], *, drop_incomplete: bool, question: int = MAIN
) -> tuple[JudgeRater, ...]:
    """Read the answers of each run's judge to a question on a selection; a pair whose calls failed has none.

    A judge that was asked the question on none of these pairs is left out.
    """
    found = (_judge_rater(selection, run, question, drop_incomplete=drop_incomplete) for run in runs)
    return tuple(judge for judge in found if judge.status["asked"] or judge.status["pending"])


def _judge_rater(selection: Selection, run: JudgeRun, question: int, *, drop_incomplete: bool) -> JudgeRater:
    judged = judgments(selection, run, question=question)
    # By presentation, not by pair: a judge asked in both orders that always prefers the first text has only ties by pair.
    shown = presentations(selection, run, question=question)
    positions = Positions(shown.outcomes.instance, by_position(shown.outcomes.verdict, shown.first_is_a))
    name = f"judge:{run.judge.name}"
    read = rater(name, "judge", judged.rated, positions, {}, drop_incomplete=drop_incomplete)
    return JudgeRater(read, judged.counts, run.judge.family)
