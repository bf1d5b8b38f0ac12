"""Ranking the texts of each instance by the answers that a judge has given, and what asking for the missing ones takes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from annotation.core.errors import AnnotationError, UnknownName
from annotation.core.reasons import reason
from annotation.models import Generation, Study
from annotation.studies.questions import find_question
from judging.audits.on_demand import estimate_on_demand
from judging.audits.services import place_in_draw
from judging.models import Judge
from judging.runs.estimates import RunEstimate
from judging.runs.judges import find_judge
from reporting.core.estimates import IntervalSettings
from reporting.logic.answers import read_judge, read_text_pairs, targets
from reporting.logic.audits import judges_audited
from reporting.logic.ranking import METHODS, Known, RankingAnswers, probabilities, rank_sets, reference_scores
from reporting.logic.text_sets import Pairs, TextSet, read_text_sets

SEEDS = 100
# Asking costs, so that less is the default there.
STORED: dict[str, Any] = {"methods": list(METHODS), "seeds": SEEDS}
ASKING: dict[str, Any] = {"methods": ["pairs"], "seeds": 1}


@dataclass(frozen=True)
class TextRanking:
    """The texts, methods and drawn orders of a ranking. `calibrate` asks in both orders.

    judge   : its name; empty where one alone has answers
    sample  : about how many instances are drawn; None for all
    """

    judge: str = ""
    methods: Sequence[str] = tuple(METHODS)
    calibrate: bool = False
    seeds: int = SEEDS
    question: str = ""
    dataset: str = ""
    sample: int | None = None

    @property
    def how(self) -> dict[str, Any]:
        """Return the settings of the sorts."""
        return {"methods": self.methods, "seeds": self.seeds, "calibrate": self.calibrate}


def rank_stored(study: Study, ranking: TextRanking) -> dict[str, Any]:
    """Rank each instance's texts by a judge's stored answers.

    Raises: UnknownName; AnnotationError where there are no texts to rank.
    """
    question = find_question(study, ranking.question).number
    judge = judge_with_answers(study, ranking.judge, question)
    sets, _ = sets_to_rank(study, judge, dataset=ranking.dataset, sample=ranking.sample)
    answers = answers_of(study, judge, question, turnable=True)
    answered = {text for displayed in answers.known for text in displayed}
    sets = [rating_set for rating_set in sets if not answered.isdisjoint(rating_set.texts)]
    return ranked(study, judge, sets, answers, **ranking.how)


def judge_with_answers(study: Study, name: str, question: int) -> Judge:
    """Find a judge that has run on a study.

    Raises: UnknownName if there is none of that name, or no name where there are several.
    """
    judges = judges_audited(study, question)
    names = ", ".join(judges) or "none"
    if not name:
        if len(judges) != 1:
            raise UnknownName(f"name the judge; those that have run on study {study.slug}: {names}")
        (name,) = judges
    if name not in judges:
        raise UnknownName(
            f"no judge {name} has run on study {study.slug}; those that have: {names}; another one must be asked"
        )
    return judges[name]


def judge_to_ask(study: Study, name: str, question: int) -> Judge:
    """Find the judge that a ranking asks: any one by its name, or without a name the one that has run on the study.

    Raises: UnknownJudge; UnknownName
    """
    return find_judge(name) if name else judge_with_answers(study, name, question)


def sets_to_rank(study: Study, judge: Judge, *, dataset: str, sample: int | None) -> tuple[list[TextSet], Pairs]:
    """Read the texts that are to be ranked, of all instances or a sample of them.

    Raises: AnnotationError where there are none.
    """
    drawn: list[str] = []
    if sample is not None:
        instances = study.instances.filter(**({"dataset": dataset} if dataset else {}))
        names = (
            instances.filter(matchups__pairs__isnull=False).order_by().values_list("instance_id", flat=True).distinct()
        )
        drawn = sorted(names, key=lambda name: place_in_draw(0, name))[:sample]
    sets, pairs = read_text_sets(study, judge=judge, dataset=dataset, instances=drawn)
    if not sets:
        code = "nothing_to_rank_in" if dataset else "nothing_to_rank"
        raise AnnotationError(reason(code, study=study.slug, dataset=dataset))
    return sets, pairs


def answers_of(study: Study, judge: Judge, question: int, *, turnable: bool) -> RankingAnswers:
    """Read what a judge has answered, and the scores by gold or people beside it. `turnable` as of `RankingAnswers`."""
    target = targets(study, question=question)
    probabilities_known: Known = probabilities(
        read_judge(read_text_pairs(study), study, judge, target, question=question)
    )
    names = dict(Generation.objects.filter(instance__study=study).values_list("pk", "system__name"))
    return RankingAnswers(probabilities_known, reference_scores(target), names, turnable=turnable)


def ranked(study: Study, judge: Judge, sets: Sequence[TextSet], answers: RankingAnswers, **how: Any) -> dict[str, Any]:
    """Return the rankings, and whose they are."""
    return {"study": study.slug, "rater": f"judge:{judge.name}", **rank_sets(sets, answers, IntervalSettings(), **how)}


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
