"""Estimates of a run's calls, tokens and cost, from a dry run on a sample."""

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import product
from typing import Any

from django.db.models import Q, QuerySet

from annotation.models import Batch, Pair, Study
from annotation.questions.questions import Question
from judging.calls.cases import Case, Cell
from judging.calls.dry_run import (
    CallsEstimate,
    DryCall,
    DryPool,
    LearnedSizes,
    estimates_by_kind,
    expected_tokens,
    measure_call,
    sums_of,
)
from judging.calls.presentations import PAIR_FIELDS, identity_of, orders_for, present
from judging.calls.requests import Requests, setting_of
from judging.calls.store import tables_shown
from judging.core.constants import FINAL_CAUSES
from judging.core.errors import BadSettings
from judging.core.pricing import cost_of, total_cost
from judging.methods import AskingMethod, Presentation, find_method
from judging.methods.sc2.record import MAKING
from judging.models import Completion, Endpoint, Judge, JudgeRun, Judgment
from judging.models.runs import LEFT_OUT
from judging.runs.juries import check_members
from judging.runs.pair_filters import EVERY_PAIR, PairFilter
from judging.runs.services import ONLY_MAIN, check, pairs_of, repeats_and_questions, stored_questions
from judging.runs.usage import usage_of

SAMPLE = 300  # presentations, about, in the dry run: all those of randomly drawn instances
LEARN_FROM = 300  # stored answers, at most


@dataclass(frozen=True, kw_only=True)
class RunEstimate(CallsEstimate):
    """The expected usage of a run, without retries.

    presentations : of the whole run; `pending`: those without a result so far, within the limit
    sampled       : presentations in the dry run, from which the others are estimated
    learned_from  : stored answers behind the token counts; 0: estimated from characters alone
    spent         : the run's cost so far, which counts towards a cap
    """

    presentations: int = 0
    pending: int = 0
    sampled: int = 0
    learned_from: int = 0
    spent: Decimal = Decimal(0)

    @property
    def total(self) -> Decimal | None:
        """The run's expected total cost."""
        return None if self.cost is None else self.spent + self.cost

    @property
    def is_exact(self) -> bool:
        """Tell whether the dry run covered all presentations, so that calls are counted, not estimated."""
        return self.sampled == self.pending

    def as_dict(self) -> dict[str, Any]:
        """Return everything for JSON."""
        tokens_by = "stored answers" if self.learned_from else "characters"
        return {**super().as_dict(), "spent": float(self.spent), "tokens_by": tokens_by}


class SharedCalls:
    """The calls of several judges in sequence, each counted for the first judge that makes it.

    A verdict call that depends on unknown answers counts for every judge, so the total is an upper bound.
    """

    def __init__(self) -> None:
        self._keys: set[str] = set()

    def new(self, calls: Mapping[str, DryCall]) -> list[DryCall]:
        """Return the calls that no earlier judge makes, and remember them."""
        new = [
            item for key, item in calls.items() if (item.guessed and item.kind == "verdict") or key not in self._keys
        ]
        self._keys.update(calls)
        return new


def estimate(
    *,
    study: Study,
    judge: Judge,
    batch: Batch | None = None,
    only: PairFilter = EVERY_PAIR,
    questions: Sequence[int] = ONLY_MAIN,
    limit: int | None = None,
    way: str = JudgeRun.Way.CALLS,
    sample: int | None = None,
    shared: SharedCalls | None = None,
) -> RunEstimate:
    """Estimate a judge's run on a study, a batch or a part of either, without making any call.

    questions : of the study, by number
    sample : presentations, about, in the dry run (default: `SAMPLE`)
    shared : calls of judges that run before, which are not counted; this judge's are added
    Raises: BadSettings if the judge can't judge the study; UnknownName if the filter names something unknown.
    """
    method, numbers = find_method(judge.method), stored_questions(study, questions)
    check(study, judge, numbers)
    if judge.is_jury:
        check_members(study, judge, numbers)
        return RunEstimate()
    pairs = pairs_of(study, batch, only)
    runs = JudgeRun.objects.filter(study=study, judge=judge.pk, batch=batch, filter_key=only.key, questions=numbers)
    run = runs.first() if judge.pk else None
    orders = 2 if judge.order == Judge.OrderPolicy.BOTH else 1
    presentations = pairs.count() * len(repeats_and_questions(judge, numbers)) * orders
    pending = presentations - (settled_cells(run).count() if run else 0)
    pending = max(0, pending if limit is None else min(limit, pending))
    if not isinstance(method, AskingMethod):
        return RunEstimate(presentations=presentations, pending=pending, sampled=pending)
    if judge.endpoint is None:
        raise BadSettings(f"judge {judge} has no endpoint")
    questions_asked = [study.questions[number] for number in numbers]
    share = (sample or SAMPLE) / max(1, presentations)
    cells = sample_of_cells(judge, run, pairs, questions_asked, share=share)[: pending or None]
    return estimate_of_cells(
        judge,
        cells,
        Requests(judge, method),
        presentations=presentations,
        pending=pending,
        way=way,
        shared=shared,
        spent=usage_of(run.judgments.all(), judge.endpoint.currency).priced if run else Decimal(0),
    )


def estimate_of_cells(
    judge: Judge,
    cells: Sequence[tuple[int, Presentation]],
    requests: Requests,
    *,
    presentations: int,
    pending: int,
    way: str = JudgeRun.Way.CALLS,
    shared: SharedCalls | None = None,
    spent: Decimal = Decimal(0),
) -> RunEstimate:
    """Estimate the calls of a judge's `pending` presentations from a part of them, each with its repeat.

    Raises: BadSettings for a judge that asks no model
    """
    method, endpoint = find_method(judge.method), judge.endpoint
    if not isinstance(method, AskingMethod) or endpoint is None:
        raise BadSettings(f"judge {judge} has no endpoint")
    lessons, setting = learn(judge, endpoint), setting_of(judge)
    pool = DryPool(requests, lengths=lessons.lengths)
    calls = pool.dry_run(Case(Cell(0, repeat=repeat), method.ask(displayed, setting)) for repeat, displayed in cells)
    scale = pending / len(cells) if cells else 0.0
    kinds = estimates_by_kind(list(calls.values()) if shared is None else shared.new(calls), lessons, scale=scale)
    costs = []  # those that make tables at the prices of the endpoint that they go to
    for item in judge.endpoints:
        of_tables = item == judge.table_endpoint
        sums = sums_of(kind for kind in kinds if not judge.table_endpoint or (kind.kind in MAKING) == of_tables)
        tokens = sums["prompt_tokens"], sums["completion_tokens"]
        costs.append(cost_of(item, *tokens, batch=way == JudgeRun.Way.BATCH))
    return RunEstimate(
        presentations=presentations,
        pending=pending,
        **sums_of(kinds),
        cost=total_cost(costs),
        currency=endpoint.currency,
        sampled=min(len(cells), pending),
        learned_from=lessons.count,
        kinds=kinds,
        spent=spent,
    )


def settled_cells(run: JudgeRun) -> QuerySet[Judgment]:
    """Return a run's cells that will not be asked again. Those that ended in an error will, unless it is final."""
    cells = run.judgments.exclude(status=Judgment.Status.PENDING)
    return cells.exclude(~Q(cause__in=FINAL_CAUSES), status=Judgment.Status.ERROR)


def sample_of_cells(
    judge: Judge, run: JudgeRun | None, pairs: QuerySet[Pair], questions: Sequence[Question], *, share: float
) -> list[tuple[int, Any]]:
    """Return repeat and presentation of the open cells of a share of the instances.

    Whole instances, so that calls shared within an instance are counted in proportion.
    """
    instances = sorted(set(pairs.order_by().values_list("matchup__instance_id", flat=True)))
    if share < 1:
        # A fixed seed, so that the same estimate gives the same figures.
        instances = random.Random(0).sample(instances, max(1, round(len(instances) * share)))
    rows = list(pairs.filter(matchup__instance__in=instances).order_by("pk").values_list("pk", *PAIR_FIELDS))
    done: set[tuple[Any, ...]] = set()
    if run is not None:
        filled = settled_cells(run).filter(pair__in=[row[0] for row in rows]).order_by()
        done = set(filled.values_list("pair_id", "order", "repeat", "negated", "question"))
    tables = tables_shown(judge, (row[0] for row in rows))
    cells, by_number = [], {question.number: question for question in questions}
    for pk, *fields in rows:
        for order, (repeat, negated, number) in product(
            orders_for(judge, identity_of(*fields)), repeats_and_questions(judge, list(by_number))
        ):
            if (pk, order, repeat, negated, number) not in done:
                cell: dict[str, Any] = {"question": by_number[number], "order": order, "repeat": repeat}
                cells.append(
                    (repeat, present(judge, fields, **cell, negated=negated, table=tables.get(pk), together=questions))
                )
    return cells


def learn(judge: Judge, endpoint: Endpoint) -> LearnedSizes:
    """Learn sizes from the last answers to judges of this method at this endpoint."""
    same = {"judge__endpoint": endpoint, "judge__table_endpoint": judge.table_endpoint}
    runs = JudgeRun.objects.filter(judge__method=judge.method, **same).order_by("-pk")[:5]
    recent = Judgment.objects.filter(run__in=list(runs), status=Judgment.Status.PARSED).order_by("-pk")[:LEARN_FROM]
    rows = list(
        Completion.objects.filter(judgments__in=list(recent.values_list("pk", flat=True)))
        .exclude(LEFT_OUT)
        .exclude(prompt_tokens=None)
        .exclude(completion_tokens=None)
        .order_by("-pk")
        .distinct()
        .values_list("kind", "request", "text", "prompt_tokens", "completion_tokens")[:LEARN_FROM]
    )
    guessed, counted = 0.0, 0
    answers: dict[str, list[int]] = defaultdict(list)
    lengths: dict[str, list[int]] = defaultdict(list)
    for kind, request, text, prompt_tokens, completion_tokens in rows:
        guessed += expected_tokens(measure_call(kind, request))
        counted += prompt_tokens or 0
        answers[kind].append(completion_tokens or 0)
        lengths[kind].append(len(text))
    return LearnedSizes(
        count=len(rows),
        ratio=counted / guessed if guessed and counted else 1.0,
        answers={kind: sum(values) / len(values) for kind, values in answers.items()},
        lengths={kind: sum(values) // len(values) for kind, values in lengths.items()},
    )
