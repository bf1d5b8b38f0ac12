"""The plan of a tuning: the split by instance, what is tried, and how many instances each round takes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from analysis.errors import AnalysisError
from analysis.planning.halving import halving_rounds, least_budget, split_instances
from annotation.models import Pair, Study
from annotation.questions.questions import MAIN
from judging.calls.presentations import PAIR_FIELDS, identity_of, orders_for, present
from judging.calls.requests import Requests
from judging.core.errors import BadSettings
from judging.methods import AskingMethod, Presentation, find_method
from judging.models import Judge, PromptFile
from judging.outcomes.people import people_by_pair
from judging.runs.estimates import SharedCalls, estimate_of_cells
from judging.runs.services import check, stored_questions
from judging.tuning.candidates import EXAMPLES, METHODS, SHOTS, Candidate, as_judge, candidates_of

FEWEST_CHOSEN, FEWEST_HELD = 10, 5  # instances; below five there is no interval
FIRST_ROUND = 5  # instances at least
HELD_OUT = 0.5
SAMPLE = 20  # presentations in the dry run of each candidate
NO_VOTES = "people have voted on no instance of study {study}: collect or import ratings first"


@dataclass(frozen=True)
class TuningSettings:
    """The settings of a tuning.

    budget   : presentations to be asked, of all candidates and of the comparison on the held-out part together
    held_out : share of the instances with votes on which nothing is chosen
    """

    study: Study
    judge: Judge
    budget: int
    methods: Sequence[str] = METHODS
    prompts: Sequence[PromptFile] = ()
    shots: Sequence[int] = SHOTS
    held_out: float = HELD_OUT
    seed: int = 0
    question: int = MAIN

    def as_json(self) -> dict[str, Any]:
        """Return the settings as they are stored."""
        prompts = list(map(str, self.prompts))
        plain = {name: getattr(self, name) for name in ("budget", "held_out", "seed")}
        return {"methods": list(self.methods), "prompts": prompts, "shots": list(self.shots), **plain}


def make_plan(settings: TuningSettings) -> dict[str, Any]:
    """Return the plan as stored: candidates, examples, instances by part, and rounds.

    Instances are primary keys, in the order in which they are used; those behind the examples choose nothing.
    Raises: BadSettings without votes, with too few instances, or for a budget that doesn't suffice, naming the least
    """
    check(settings.study, settings.judge, stored_questions(settings.study, [settings.question]))
    candidates = candidates_of(settings.judge, methods=settings.methods, prompts=settings.prompts, shots=settings.shots)
    votes = people_by_pair(settings.study, question=settings.question)
    pairs = _pairs_by_instance(settings.study, votes)
    if not pairs:
        raise BadSettings(NO_VOTES.format(study=settings.study.slug))
    params = [candidate["params"] for candidate in candidates]
    drawn = max((item["shots"] for item in params if item.get(EXAMPLES) == "drawn"), default=0)
    clear = {instance: _clear_pair(pair, votes) for instance, pair in pairs.items()}
    choosing, examples, held_out = _parts(settings, clear, drawn)
    orders = 2 if settings.judge.order == Judge.OrderPolicy.BOTH else 1
    costs = [len(pairs[item]) * orders for item in choosing]
    comparing = 2 * orders * sum(len(pairs[item]) for item in held_out)  # with the untuned judge and with the best
    remaining = settings.budget - comparing
    try:
        rounds = halving_rounds(costs, len(candidates), remaining, least=FIRST_ROUND)
    except AnalysisError:
        needed = comparing + least_budget(costs, len(candidates), least=FIRST_ROUND)
        raise BadSettings(
            f"a budget of {settings.budget} presentations is too small for {len(candidates)} candidates: {comparing} go to the comparison "
            f"on {len(held_out)} held-out instances, and {needed} in all is the least; or try less, or hold out fewer"
        ) from None
    starts = [0, *(round_.instances for round_ in rounds)]
    asked = (
        round_.candidates * sum(costs[before : round_.instances])
        for before, round_ in zip(starts, rounds, strict=False)
    )
    in_rounds = sum(asked)
    return {
        "candidates": candidates,
        "examples": [_example(pair, votes) for item in examples if (pair := clear[item]) is not None],
        "shown": examples,
        "choosing": choosing,
        "held_out": held_out,
        "rounds": [[round_.candidates, round_.instances] for round_ in rounds],
        "presentations": comparing + in_rounds,
    }


def _parts(
    settings: TuningSettings, clear: Mapping[int, int | None], examples: int
) -> tuple[list[int], list[int], list[int]]:
    """Return the instances to choose on, those of the examples, and those held out.

    clear : for each instance with votes, its pair of `_clear_pair`, which may be an example
    """
    instances = list(clear)
    rng = np.random.default_rng(settings.seed)
    try:
        choosing_rows, held_out_rows = split_instances(len(instances), settings.held_out, rng)
    except AnalysisError as error:
        raise BadSettings(f"{error}: some instances are needed for tuning, and some for the comparison") from error
    choosing = [instances[index] for index in choosing_rows.tolist()]
    examples_drawn = [item for item in choosing if clear[item] is not None][:examples]
    choosing = [item for item in choosing if item not in examples_drawn]
    held_out = [instances[index] for index in held_out_rows.tolist()]
    if len(choosing) < FEWEST_CHOSEN or len(held_out) < FEWEST_HELD:
        raise BadSettings(
            f"too few instances with votes: {len(choosing)} to choose on, {len(examples_drawn)} for examples, {len(held_out)} held out; "
            f"{FEWEST_CHOSEN} and {FEWEST_HELD} held out are needed: let people rate more, or try fewer examples"
        )
    return choosing, examples_drawn, held_out


def _pairs_by_instance(study: Study, votes: Mapping[int, Sequence[int]]) -> dict[int, list[int]]:
    """Return the pairs with votes of each instance, in the order of data sets and ids, which is the same on every server."""
    order = ("matchup__instance__dataset", "matchup__instance__instance_id", "matchup_id", "index")
    rows = Pair.objects.filter(matchup__instance__study=study).order_by(*order)
    result: dict[int, list[int]] = {}
    for pk, instance in rows.values_list("pk", "matchup__instance_id"):
        if pk in votes:
            result.setdefault(instance, []).append(pk)
    return result


def _clear_pair(pairs: Sequence[int], votes: Mapping[int, Sequence[int]]) -> int | None:
    """Return the first pair on which more people prefer one of the texts than all others together."""
    clear = (pair for pair in pairs if max(map(votes[pair].count, (-1, 1))) > len(votes[pair]) / 2)
    return next(clear, None)


def _example(pair: int, votes: Mapping[int, Sequence[int]]) -> dict[str, str]:
    """Return a pair as an example: A first where its primary key is even, so that the answers are of both letters."""
    stored = Pair.objects.select_related("matchup__instance", "generation_a", "generation_b").get(pk=pair)
    texts, turned = [stored.generation_a.text, stored.generation_b.text], stored.pk % 2 == 1
    a_wins = votes[stored.pk].count(-1) > votes[stored.pk].count(1)
    first, second = reversed(texts) if turned else texts
    better = "A" if a_wins != turned else "B"
    return {"source": stored.matchup.instance.source, "first": first, "second": second, "better": better}


@dataclass(frozen=True)
class TuningEstimate:
    """The upper bounds of a tuning's usage. `cost` is `None` where the endpoint has no prices."""

    candidates: int
    rounds: tuple[tuple[int, int], ...]
    choosing: int
    held_out: int
    presentations: int
    calls: int
    cost: Decimal | None
    currency: str

    def as_dict(self) -> dict[str, Any]:
        """Return everything for JSON."""
        return {**vars(self), "cost": None if self.cost is None else float(self.cost)}


def estimate_tuning(settings: TuningSettings, plan: Mapping[str, Any] | None = None) -> TuningEstimate:
    """Estimate a tuning without a call: later rounds are taken to go to the candidates that cost the most.

    Raises: as `make_plan`
    """
    plan = plan or make_plan(settings)
    one_each = [_per_presentation(settings, candidate, plan) for candidate in plan["candidates"]]
    calls, costs = (sorted((item[column] for item in one_each), reverse=True) for column in (0, 1))
    presentations, before, shares = _by_instance(settings, plan["choosing"]), 0, [0.0] * len(one_each)
    for candidates, instances in plan["rounds"]:
        new = sum(presentations[before:instances])
        shares[:candidates] = [asked_so_far + new for asked_so_far in shares[:candidates]]
        before = instances
    held_out = sum(_by_instance(settings, plan["held_out"]))
    shares[:2] = [shares[0] + held_out, shares[1] + held_out]
    endpoint = settings.judge.endpoint
    priced = endpoint is not None and endpoint.price_prompt is not None
    total = sum((share * float(cost) for share, cost in zip(shares, costs, strict=True)), 0.0)
    return TuningEstimate(
        candidates=len(one_each),
        rounds=tuple((candidates, instances) for candidates, instances in plan["rounds"]),
        choosing=len(plan["choosing"]),
        held_out=len(plan["held_out"]),
        presentations=plan["presentations"],
        calls=round(sum(share * count for share, count in zip(shares, calls, strict=True))),
        cost=Decimal(f"{total:.6f}") if priced else None,
        currency=endpoint.currency if endpoint else "",
    )


def _by_instance(settings: TuningSettings, instances: Sequence[int]) -> list[int]:
    votes = people_by_pair(settings.study, question=settings.question)
    pairs = _pairs_by_instance(settings.study, votes)
    orders = 2 if settings.judge.order == Judge.OrderPolicy.BOTH else 1
    return [len(pairs.get(instance, ())) * orders for instance in instances]


def _per_presentation(settings: TuningSettings, candidate: Candidate, plan: Mapping[str, Any]) -> tuple[float, float]:
    """Return calls to be made and money for one presentation of a candidate, by a dry run of a few."""
    judge = as_judge(settings.judge, candidate, name="candidate", examples=plan["examples"])
    method = find_method(judge.method)
    if not isinstance(method, AskingMethod):
        raise TypeError(f"{judge.method} was found to ask a model")
    cells = _cells(settings, judge, plan["choosing"])
    number, requests = len(cells), Requests(judge, method)
    estimate = estimate_of_cells(judge, cells, requests, presentations=number, pending=number, shared=SharedCalls())
    return estimate.calls / number, float(estimate.cost or 0) / number


def _cells(settings: TuningSettings, judge: Judge, instances: Sequence[int]) -> list[tuple[int, Presentation]]:
    pairs = Pair.objects.filter(matchup__instance__in=instances[:SAMPLE]).order_by("pk")
    question = settings.study.questions[settings.question]
    return [
        (0, present(judge, fields, question=question, order=order))
        for fields in pairs.values_list(*PAIR_FIELDS)[:SAMPLE]
        for order in orders_for(judge, identity_of(*fields))
    ]
