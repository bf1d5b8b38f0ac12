"""Check scores of many annotators at once, in as many queries as for one."""

from collections import Counter
from collections.abc import Collection

from annotation.models import Assignment, Rating
from annotation.quality.hidden_checks import CheckScores
from annotation.quality.scoring import expected_verdict

GOLD, REPEAT = Assignment.Purpose.GOLD, Assignment.Purpose.REPEAT


def scores_of(annotator_ids: Collection[int]) -> dict[int, CheckScores]:
    """Return annotator → what `hidden_checks.check_scores` returns, for all in three queries."""
    first = Rating.objects.filter(
        stage=Rating.Stage.FIRST,
        display__assignment__annotator__in=annotator_ids,
        display__assignment__state=Assignment.State.SUBMITTED,
    ).order_by()
    counts: Counter[tuple[int, str]] = Counter()
    gold = first.filter(display__assignment__purpose=GOLD).select_related(
        "display__assignment",
        *("display__pair__matchup__instance", "display__pair__matchup__system_a", "display__pair__matchup__system_b"),
    )
    for rating in gold.defer("display__pair__matchup__instance__source"):
        rater = rating.display.assignment.annotator_id
        counts[rater, "gold_asked"] += 1
        counts[rater, "gold_right"] += rating.verdict == expected_verdict(rating.display.pair)
    before: dict[tuple[int, int], set[int]] = {}
    earlier = Rating.objects.filter(display__assignment__repeats__annotator__in=annotator_ids).order_by()
    for repeat_id, pair_id, verdict in earlier.values_list(
        "display__assignment__repeats", "display__pair_id", "verdict"
    ):
        before.setdefault((repeat_id, pair_id), set()).add(verdict)
    again = first.filter(display__assignment__purpose=REPEAT)
    for rater, repeat_id, pair_id, verdict in again.values_list(
        "display__assignment__annotator", "display__assignment_id", "display__pair_id", "verdict"
    ):
        if (repeat_id, pair_id) in before:
            counts[rater, "repeat_asked"] += 1
            counts[rater, "repeat_same"] += verdict in before[repeat_id, pair_id]
    names = ("gold_asked", "gold_right", "repeat_asked", "repeat_same")
    return {pk: CheckScores(**{name: counts[pk, name] for name in names}) for pk in annotator_ids}
