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
from judging.core.checks import check_seed
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
NO_VOTES = "people have voted on no instance of study {study}: a judge is tuned on votes, so let people rate first, or import ratings"


@dataclass(frozen=True)
class TuningSettings:
    """What is asked for.

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


def make_plan(asked: TuningSettings) -> dict[str, Any]:
    """Return the plan as it is stored: candidates, examples, instances by part, rounds, and presentations in all.

    Instances are primary keys, in the order in which they are used; those behind the examples choose nothing.
    Raises: BadSettings without votes, with too few instances, or for a budget that doesn't suffice, naming the least
    """
    check_seed(asked.seed)
    check(asked.study, asked.judge, stored_questions(asked.study, [asked.question]))
    candidates = candidates_of(asked.judge, methods=asked.methods, prompts=asked.prompts, shots=asked.shots)
    votes = people_by_pair(asked.study, question=asked.question)
    pairs = _pairs_by_instance(asked.study, votes)
    if not pairs:
        raise BadSettings(NO_VOTES.format(study=asked.study.slug))
    drawn = max((one["params"]["shots"] for one in candidates if one["params"].get(EXAMPLES) == "drawn"), default=0)
    clear = {instance: _clear_pair(those, votes) for instance, those in pairs.items()}
    choosing, shown, held_out = _parts(asked, clear, drawn)
    orders = 2 if asked.judge.order == Judge.OrderPolicy.BOTH else 1
    costs = [len(pairs[one]) * orders for one in choosing]
    comparing = 2 * orders * sum(len(pairs[one]) for one in held_out)  # with the untuned judge and with the best
    left = asked.budget - comparing
    try:
        rounds = halving_rounds(costs, len(candidates), left, least=FIRST_ROUND)
    except AnalysisError:
        needed = comparing + least_budget(costs, len(candidates), least=FIRST_ROUND)
        raise BadSettings(
            f"a budget of {asked.budget} presentations is too small for {len(candidates)} candidates: {comparing} go to the comparison "
            f"on {len(held_out)} held-out instances, and {needed} in all is the least; or try less, or hold out fewer"
        ) from None
    return {
        "candidates": candidates,
        "examples": [_example(pair, votes) for one in shown if (pair := clear[one]) is not None],
        "shown": shown,
        "choosing": choosing,
        "held_out": held_out,
        "rounds": [[one.candidates, one.instances] for one in rounds],
        "presentations": comparing + sum(_asked_in_rounds(costs, rounds)),
    }


def _parts(
    asked: TuningSettings, clear: Mapping[int, int | None], examples: int
) -> tuple[list[int], list[int], list[int]]:
    """Return the instances to choose on, those of the examples, and those held out.

    clear : for each instance with votes, its pair of `_clear_pair`, which may be an example
    """
    instances = list(clear)
    try:
        chosen, held = split_instances(len(instances), asked.held_out, np.random.default_rng(asked.seed))
    except AnalysisError as error:
        raise BadSettings(
            f"{error}: a judge tuned on all instances would have none left for findings, and one on none learns nothing"
        ) from error
    choosing = [instances[place] for place in chosen.tolist()]
    shown = [one for one in choosing if clear[one] is not None][:examples]
    choosing = [one for one in choosing if one not in shown]
    held_out = [instances[place] for place in held.tolist()]
    if len(choosing) < FEWEST_CHOSEN or len(held_out) < FEWEST_HELD:
        raise BadSettings(
            f"too few instances with votes: {len(choosing)} to choose on, {len(shown)} for examples, {len(held_out)} held out; "
            f"{FEWEST_CHOSEN} and {FEWEST_HELD} held out are needed: let people rate more, or try fewer examples"
        )
    return choosing, shown, held_out


def _asked_in_rounds(costs: Sequence[int], rounds: Sequence[Any]) -> list[int]:
    before, found = 0, []
    for one in rounds:
        found.append(one.candidates * sum(costs[before : one.instances]))
        before = one.instances
    return found


def _pairs_by_instance(study: Study, votes: Mapping[int, Sequence[int]]) -> dict[int, list[int]]:
    """Return the pairs with votes of each instance, in the order of data sets and ids, which is the same on every server."""
    order = ("matchup__instance__dataset", "matchup__instance__instance_id", "matchup_id", "index")
    rows = Pair.objects.filter(matchup__instance__study=study).order_by(*order)
    found: dict[int, list[int]] = {}
    for pk, instance in rows.values_list("pk", "matchup__instance_id"):
        if pk in votes:
            found.setdefault(instance, []).append(pk)
    return found


def _clear_pair(pairs: Sequence[int], votes: Mapping[int, Sequence[int]]) -> int | None:
    """Return the first pair on which more people prefer one of the texts than all others together."""
    for pair in pairs:
        if max(votes[pair].count(-1), votes[pair].count(1)) > len(votes[pair]) / 2:
            return pair
    return None


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
    """What a tuning would take: at most `presentations` in `calls`; `cost` is `None` where the endpoint has no prices."""

    candidates: int
    rounds: tuple[tuple[int, int], ...]
    choosing: int
    held_out: int
    presentations: int
    calls: int
    cost: Decimal | None
    currency: str


def estimate_tuning(asked: TuningSettings, plan: Mapping[str, Any] | None = None) -> TuningEstimate:
    """Estimate a tuning without a call: later rounds are taken to go to the candidates that cost the most.

    Raises: as `make_plan`
    """
    plan = plan or make_plan(asked)
    one_each = [_per_presentation(asked, candidate, plan) for candidate in plan["candidates"]]
    calls, costs = (sorted((one[column] for one in one_each), reverse=True) for column in (0, 1))
    presentations, before, shares = _by_instance(asked, plan["choosing"]), 0, [0.0] * len(one_each)
    for candidates, instances in plan["rounds"]:
        new = sum(presentations[before:instances])
        shares[:candidates] = [asked_so_far + new for asked_so_far in shares[:candidates]]
        before = instances
    held = sum(_by_instance(asked, plan["held_out"]))
    shares[:2] = [shares[0] + held, shares[1] + held]
    endpoint = asked.judge.endpoint
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


def _by_instance(asked: TuningSettings, instances: Sequence[int]) -> list[int]:
    votes = people_by_pair(asked.study, question=asked.question)
    pairs = _pairs_by_instance(asked.study, votes)
    orders = 2 if asked.judge.order == Judge.OrderPolicy.BOTH else 1
    return [len(pairs.get(one, ())) * orders for one in instances]


def _per_presentation(asked: TuningSettings, candidate: Candidate, plan: Mapping[str, Any]) -> tuple[float, float]:
    """Return calls to be made and money for one presentation of a candidate, by a dry run of a few."""
    judge = as_judge(asked.judge, candidate, name="candidate", examples=plan["examples"])
    method = find_method(judge.method)
    if not isinstance(method, AskingMethod):
        raise TypeError(f"{judge.method} was found to ask a model")
    cells = _cells(asked, judge, plan["choosing"])
    found = estimate_of_cells(
        judge, cells, Requests(judge, method), presentations=len(cells), pending=len(cells), shared=SharedCalls()
    )
    return found.calls / len(cells), float(found.cost or 0) / len(cells)


def _cells(asked: TuningSettings, judge: Judge, instances: Sequence[int]) -> list[tuple[int, Presentation]]:
    pairs = Pair.objects.filter(matchup__instance__in=instances[:SAMPLE]).order_by("pk")
    question = asked.study.questions[asked.question]
    return [
        (0, present(judge, fields, asked=question, order=order))
        for fields in pairs.values_list(*PAIR_FIELDS)[:SAMPLE]
        for order in orders_for(judge, identity_of(*fields))
    ]
