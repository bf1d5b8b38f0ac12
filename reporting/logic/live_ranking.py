"""Rankings that ask a judge for each comparison that they lack: many sorts side by side, within a budget."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain, islice, product
from typing import Any

from annotation.core.tasks.stopping import StopFlag
from annotation.models import Study
from annotation.studies.questions import find_question
from judging.audits.on_demand import Asked, Found, add_presentations, answers_to, asking_alone
from judging.endpoints.retrying import MakeClient, retrying_client
from judging.models import JudgeRun, Judgment
from judging.runs.execution import ExecutionResult, execute
from judging.runs.usage import usage_of
from reporting.logic.ranking import Known, OrderedPair, Sort, drawn_order
from reporting.logic.stored_ranking import TextRanking, answers_of, judge_to_ask, ranked, sets_to_rank
from reporting.logic.text_sets import Pairs, TextSet, presentation_of

AT_ONCE = 64  # sorts: enough to keep calls in flight, and few enough that a budget's end leaves most of them done


@dataclass
class RankingProgress:
    """The progress of rankings.

    sorts, finished : one for each set of texts, order and method
    without_verdict : sorts that a comparison without a verdict ended
    asked           : presentations; calls : made for them, not from the cache
    ended           : how the last step ended; None where everything was known
    """

    sorts: int
    finished: int = 0
    without_verdict: int = 0
    asked: int = 0
    calls: int = 0
    ended: ExecutionResult | None = None

    @property
    def unfinished(self) -> int:
        """Sorts that were stopped, or not begun."""
        return self.sorts - self.finished - self.without_verdict


@dataclass(frozen=True)
class AskedRanking:
    """Rankings with what was asked for them, as a document. How far they came, and the run that was asked."""

    found: dict[str, Any]
    asking: RankingProgress
    run: JudgeRun


def rank_by_asking(
    study: Study,
    ranking: TextRanking,
    *,
    stop: StopFlag,
    in_flight: int | None = None,
    max_cost: Decimal | None = None,
    limit: int | None = None,
    on_step: Callable[[RankingProgress], object] = lambda _: None,
) -> AskedRanking:
    """Rank each instance's texts by a judge's answers, and ask it for those that are not stored. Further arguments of `ask_rankings`.

    Raises: as `start_on_demand`; RunBusy; UnknownJudge; UnknownName; AnnotationError where there are no texts to rank
    """
    question = find_question(study, ranking.question).number
    judge = judge_to_ask(study, ranking.judge, question)
    sets, pairs = sets_to_rank(study, judge, dataset=ranking.dataset, sample=ranking.sample)
    answers = answers_of(study, judge, question, turnable=False)
    with asking_alone(study=study, judge=judge, question=question, in_flight=in_flight, max_cost=max_cost) as run:
        asking = ask_rankings(run, sets, pairs, answers.known, **ranking.how, stop=stop, limit=limit, on_step=on_step)
    ranking_found = {**ranked(study, judge, sets, answers, **ranking.how), "run": _asked(run, asking)}
    return AskedRanking(ranking_found, asking, run)


def ask_rankings(
    run: JudgeRun,
    sets: Sequence[TextSet],
    pairs: Pairs,
    probabilities: Known,
    *,
    methods: Sequence[str],
    seeds: int,
    calibrate: bool,
    stop: StopFlag,
    limit: int | None = None,
    make_client: MakeClient = retrying_client,
    on_step: Callable[[RankingProgress], object] = lambda _: None,
) -> RankingProgress:
    """Sort all sets by each method and from each order, and ask the run's judge what is not known. `probabilities` gets the answers.

    Ends with the run's cap, or with `limit` presentations of this time: sorts that are not finished then have no ranking, and a
    further call resumes them with the stored answers.
    """
    every = product(methods, sets, range(seeds))
    waiting = (Sort(name, drawn_order(item, seed), calibrate=calibrate) for name, item, seed in every)
    progress = RankingProgress(len(methods) * len(sets) * seeds)
    silent: set[OrderedPair] = set()

    def is_waiting(sort: Sort) -> bool:
        return _advance(sort, probabilities, silent, progress)

    active: list[Sort] = []
    while True:
        active = list(filter(is_waiting, active))
        active += islice(filter(is_waiting, waiting), AT_ONCE - len(active))
        pairs_wanted = {displayed for sort in active for displayed in sort.wanted() if displayed not in probabilities}
        if not pairs_wanted:
            return progress
        requested = {
            displayed: presented
            for displayed in pairs_wanted
            if (presented := presentation_of(displayed, pairs)) is not None
        }
        silent.update(pairs_wanted - requested.keys())
        remaining = None if limit is None else limit - progress.asked
        answers, ended = ask_missing(run, set(requested.values()), stop=stop, limit=remaining, make_client=make_client)
        if ended:
            progress.ended = ended
            progress.asked += ended.progress.ended.total()
            progress.calls += ended.progress.calls
        answers_given = {displayed: answers[index] for displayed, index in requested.items() if index in answers}
        silent.update(displayed for displayed, item in answers_given.items() if item.verdict is None)
        probabilities.update(
            {displayed: _probability(item) for displayed, item in answers_given.items() if item.verdict is not None}
        )
        on_step(progress)
        if progress.ended is not None and progress.ended.status != JudgeRun.Status.DONE:
            for sort in chain(active, waiting):  # those whose answers are all there
                is_waiting(sort)
            return progress


def _advance(sort: Sort, probabilities: Known, silent: set[OrderedPair], progress: RankingProgress) -> bool:
    """Advance a sort as far as the answers go, and count it where it ends. Return whether it waits for answers.

    silent : presentations without a verdict, or that no pair has
    """
    while sort.ranking is None and all(displayed in probabilities for displayed in sort.wanted()):
        sort.proceed(probabilities)
    if sort.ranking is not None:
        progress.finished += 1
        return False
    if not silent.isdisjoint(sort.wanted()):
        progress.without_verdict += 1
        return False
    return True


def _probability(judgment: Judgment) -> float:
    """Return the probability that the text shown first is better."""
    b = (1 + (judgment.verdict or 0)) / 2 if judgment.p_b is None else judgment.p_b
    return 1 - b if judgment.order == Judgment.Order.AB else b


def _asked(run: JudgeRun, asking: RankingProgress) -> dict[str, Any]:
    """Return what was asked, and how it ended."""
    endpoint = run.judge.endpoint
    spent = usage_of(run.judgments.all(), endpoint.currency if endpoint else "")
    return {
        "judge": run.judge.name,
        "rankings": asking.sorts,
        "finished": asking.finished,
        "unfinished": asking.unfinished,
        "without_verdict": asking.without_verdict,
        "asked": asking.asked,
        "calls": asking.calls,
        "cost": None if spent.cost is None else str(spent.cost),
        "currency": spent.currency,
        "message": asking.ended.message if asking.ended else "",
    }


def ask_missing(
    run: JudgeRun,
    questions: Collection[Asked],
    *,
    stop: StopFlag,
    limit: int | None = None,
    make_client: MakeClient = retrying_client,
) -> tuple[Found, ExecutionResult | None]:
    """Return a run's judgments of these presentations, and how asking for the missing ones ended, or None where there were none.

    limit : presentations to ask this time
    """
    missing = sorted(set(questions) - answers_to(run, questions).keys())
    ended = None
    if missing:
        add_presentations(run, missing)
        paused = JudgeRun.Status.PAUSED
        ended = execute(run.pk, stop=stop, when_stopped=paused, make_client=make_client, limit=limit)
    return answers_to(run, questions), ended
