"""What a rater answered beside what was expected, in study order."""

from annotation.models import Assignment, Display, Pair, Rating
from annotation.studies.gold import gold_verdict

SCREEN = {"left": -1, "none": 0, "right": 1}
_NAMES = {value: name for name, value in SCREEN.items()}


def study_verdict(choice: str, display: Display) -> int:
    """Turn a choice on the screen into study order: the one place where sides become systems."""
    return SCREEN[choice] if display.a_is_left else -SCREEN[choice]


def screen_name(verdict: int | None, display: Display) -> str | None:
    """Turn a verdict back to the side of this rater's screen: left, none or right."""
    if verdict is None:
        return None
    return _NAMES[verdict if display.a_is_left else -verdict]


def first_verdicts(assignment: Assignment) -> dict[int, int]:
    """Return display's primary key → first verdict."""
    rows = Rating.objects.filter(display__assignment=assignment, stage=Rating.Stage.FIRST)
    return dict(rows.values_list("display_id", "verdict"))


def expected_verdict(pair: Pair) -> int | None:
    """Return the verdict that the instance's gold names for a pair; None where it says nothing about these systems."""
    matchup = pair.matchup
    return gold_verdict(matchup.instance.gold, matchup.system_a.name, matchup.system_b.name)
