"""What rankings that ask a judge take at most."""

from annotation.models import Study
from annotation.studies.questions import find_question
from judging.audits.on_demand import estimate_on_demand
from judging.models import Judge
from judging.runs.estimates import RunEstimate
from reporting.logic.stored_ranking import TextRanking, judge_to_ask, sets_to_rank


def estimate_asking(study: Study, wanted: TextRanking, *, limit: int | None = None) -> tuple[Judge, RunEstimate]:
    """Return the judge that a ranking asks, and the most that this takes, or `limit` presentations of it; no call is made.

    Each sort makes at most `most_comparisons`, all sorts of a set together at most all of its pairs in both orders. Tokens are
    those of all pairs of the study's data, in proportion.
    Raises: BadSettings; UnknownJudge; UnknownName; AnnotationError where there are no texts to rank
    """
    question = find_question(study, wanted.question).number
    judge = judge_to_ask(study, wanted.judge, question)
    sets, _ = sets_to_rank(study, judge, dataset=wanted.dataset, sample=wanted.sample)
    orders = (2 if wanted.calibrate else 1) * wanted.seeds
    most = 0
    for n in (len(one.texts) for one in sets):
        most += min(orders * sum(most_comparisons(name, n) for name in wanted.methods), n * (n - 1))
    most = most if limit is None else min(most, limit)
    return judge, estimate_on_demand(study, judge, most, question=question)


def most_comparisons(method: str, n: int) -> int:
    """Return the most comparisons that a method makes of n texts."""
    if method == "swiss":
        return n // 2 * max(n - 1, 0).bit_length()
    if method == "pairs":
        half = n // 2
        return most_comparisons(method, half) + most_comparisons(method, n - half) + n - 1 if n > 1 else 0
    return n * (n - 1) // 2
