"""What a rater answered beside what was expected, in study order."""

from annotation.models import Assignment, Display, Pair, Rating
from annotation.questions.questions import CHOICES, MAIN, Answer, choice_of
from annotation.studies.gold import gold_verdict


def study_answer(choice: str, display: Display) -> Answer:
    """Turn a choice on the screen into study order: the one place where sides become systems."""
    return CHOICES[choice] if display.a_is_left else CHOICES[choice].swapped()


def screen_choice(answer: Answer, display: Display) -> str:
    """Turn an answer in study order back to the choice on this rater's screen."""
    return choice_of(answer if display.a_is_left else answer.swapped())


def screen_side(verdict: int | None, display: Display) -> str | None:
    """Turn a verdict back to the side of this rater's screen: left, none or right."""
    return None if verdict is None else screen_choice(Answer(verdict), display)


def first_verdicts(assignment: Assignment) -> dict[int, int]:
    """Return display's primary key → first verdict."""
    rows = Rating.objects.for_question(MAIN).filter(display__assignment=assignment, stage=Rating.Stage.FIRST)
    return dict(rows.values_list("display_id", "verdict"))


def expected_verdict(pair: Pair) -> int | None:
    """Return the verdict that the instance's gold names for a pair; None where it says nothing about these systems."""
    matchup = pair.matchup
    return gold_verdict(matchup.instance.gold, matchup.system_a.name, matchup.system_b.name)
