"""Upper bounds of the usage of rankings that ask a judge."""

from annotation.models import Study
from annotation.studies.questions import find_question
from judging.audits.on_demand import estimate_on_demand
from judging.models import Judge
from judging.runs.estimates import RunEstimate
from reporting.logic.stored_ranking import TextRanking, judge_to_ask, sets_to_rank


def estimate_asking(study: Study, ranking: TextRanking, *, limit: int | None = None) -> tuple[Judge, RunEstimate]:
    """Return the judge that a ranking asks, and the most that this takes, or `limit` presentations of it. No call is made.

    Each sort makes at most `most_comparisons`, all sorts of a set together at most all of its pairs in both orders. Tokens are
    those of all pairs of the study's data, in proportion.
    Raises: BadSettings; UnknownJudge; UnknownName; AnnotationError where there are no texts to rank
    """
    question = find_question(study, ranking.question).number
    judge = judge_to_ask(study, ranking.judge, question)
    sets, _ = sets_to_rank(study, judge, dataset=ranking.dataset, sample=ranking.sample)
    orders = (2 if ranking.calibrate else 1) * ranking.seeds
    calls = 0
    for n in (len(rating_set.texts) for rating_set in sets):
        calls += min(orders * sum(most_comparisons(name, n) for name in ranking.methods), n * (n - 1))
    calls = calls if limit is None else min(calls, limit)
    return judge, estimate_on_demand(study, judge, calls, question=question)


def most_comparisons(method: str, n: int) -> int:
    """Return the most comparisons that a method makes of n texts."""
    if method == "swiss":
        return n // 2 * max(n - 1, 0).bit_length()
    if method == "pairs":
        half = n // 2
        return most_comparisons(method, half) + most_comparisons(method, n - half) + n - 1 if n > 1 else 0
    return n * (n - 1) // 2
