"""A rater's answers and the expected ones, in study order."""

from annotation.models import Assignment, Display, Pair, Rating
from annotation.questions.questions import MAIN, Answer
from annotation.studies.gold import gold_verdict


def screen_side(verdict: int | None, display: Display) -> str | None:
    """Turn a verdict back to the side of this rater's screen: left, none or right."""
    return None if verdict is None else display.screen_choice(Answer(verdict))


def first_verdicts(assignment: Assignment) -> dict[int, int]:
    """Return display's primary key → first verdict."""
    rows = Rating.objects.for_question(MAIN).filter(display__assignment=assignment, stage=Rating.Stage.FIRST)
    return dict(rows.values_list("display_id", "verdict"))


def expected_verdict(pair: Pair) -> int | None:
    """Return the verdict of the instance's gold on a pair, or None where it says nothing about these systems."""
    matchup = pair.matchup
    return gold_verdict(matchup.instance.gold, matchup.system_a.name, matchup.system_b.name)
