"""Procedures outside of a judge's run: how their questions are named in the cache, read, and counted beforehand."""

from collections import defaultdict
from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any, TypeVar

from judging.errors import BadSettings, UnparsedVerdict
from judging.judges import Call, Reply
from judging.models import Endpoint
from judging.services.cases import Ask
from judging.services.estimates import ANY_ANSWER, USUAL_ANSWER, KindOfCall, expected_tokens
from judging.services.judges import RESERVED_PARAMS
from judging.services.pricing import cost_of
from judging.services.reading import MAX_SAMPLES, marked_refusal, read_reply, worded_refusal
from judging.services.rehearsal import rehearsed, stored_replies
from judging.services.requests import Request, Requests

T = TypeVar("T")
# As a judge's procedure, but it may return anything.
Talk = Generator[Sequence[Call], list[Any], T]
SAME_EACH_TIME: Mapping[str, Any] = {"temperature": 0}


class PlainRequests(Requests):
    """Makes requests where there is no judge: the same names in the cache, by endpoint, parameters and seed.

    params : sent with each call, as a judge's; null leaves a default out
    Raises: BadSettings for a parameter that is not theirs to set
    """

    def __init__(self, endpoint: Endpoint, *, params: Mapping[str, Any] | None = None, seed: int = 0) -> None:
        if reserved := RESERVED_PARAMS & set(params or {}):
            raise BadSettings(f"these parameters are set by the engine: {', '.join(sorted(reserved))}")
        self.base_url = endpoint.base_url
        self.model = endpoint.model
        self.seed = seed
        self.defaults = dict(SAME_EACH_TIME)
        self.params = dict(params or {})


@dataclass(frozen=True)
class Forecast:
    """What a procedure would take, if every answer can be read and those that are not there yet are of a usual form.

    calls, cached : answers to be asked for, and those that are there already
    cost          : in `currency`; `None` where the endpoint has no prices
    """

    calls: int
    cached: int
    prompt_tokens: int
    completion_tokens: int
    cost: Decimal | None
    currency: str
    kinds: tuple[KindOfCall, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return everything for JSON."""
        return {**asdict(self), "cost": None if self.cost is None else float(self.cost)}


def forecast(talk: Talk[Any], *, endpoint: Endpoint, requests: Requests) -> Forecast:
    """Go through a procedure without asking anybody: with stored answers, and for the others their calls' examples."""
    found: dict[str, tuple[Request, bool]] = {}
    calls = step(talk, None)
    while calls:
        asks = [Ask(call) for call in calls]
        while opened := [ask for ask in asks if not ask.done]:
            asked = [(ask, requests.request(ask.call, repeat=0, attempt=ask.attempt)) for ask in opened]
            known = stored_replies([request.key for _, request in asked])
            for ask, request in asked:
                found[request.key] = (request, request.key in known)
                if not _settle(ask, known.get(request.key)):
                    return _counted(found, endpoint)  # nobody can make up what comes next
        calls = step(talk, [ask.value for ask in asks])
    return _counted(found, endpoint)


def _settle(ask: Ask, stored: Reply | None) -> bool:
    """Take in a stored answer, or else an example of one; False when the procedure would end with it."""
    try:
        if stored is not None:
            take_in(ask, stored)
        else:
            ask.value, ask.done = read_reply(ask.call, Reply(ask.call.example)), True
    except UnparsedVerdict:
        return False
    return True


def step(talk: Talk[Any], values: list[Any] | None) -> Sequence[Call]:
    """Take a procedure to its next calls; none when it has come to its end."""
    try:
        calls = next(talk) if values is None else talk.send(values)
        while not calls:
            calls = talk.send([])
    except (StopIteration, UnparsedVerdict):
        return []
    return calls


def take_in(ask: Ask, reply: Reply) -> str:
    """Read an answer: that gives the call its value, or it is to be asked once more; returns a refusal's words.

    Raises: UnparsedVerdict if the procedure can't go on without a value.
    """
    declined = refusal_in(ask.call, reply)
    try:
        if declined:
            raise UnparsedVerdict(f"the model declined: {declined}")
        ask.value, ask.done = read_reply(ask.call, reply), True
    except UnparsedVerdict:
        if not declined and ask.attempt + 1 < (ask.call.attempts or MAX_SAMPLES):
            ask.attempt += 1
        elif ask.call.optional:
            ask.done = True
        else:
            raise
    return declined


def refusal_in(call: Call, reply: Reply) -> str:
    """Return how an answer declines; empty when it doesn't."""
    if declined := marked_refusal(reply):
        return declined
    try:
        read_reply(call, reply)
    except UnparsedVerdict:
        return worded_refusal(reply)
    return ""


def _counted(found: Mapping[str, tuple[Request, bool]], endpoint: Endpoint) -> Forecast:
    grouped: dict[str, list[tuple[Request, bool]]] = defaultdict(list)
    for request, cached in found.values():
        grouped[request.kind].append((request, cached))
    kinds = tuple(_kind(name, entries) for name, entries in grouped.items())
    prompt, completion = sum(kind.prompt_tokens for kind in kinds), sum(kind.completion_tokens for kind in kinds)
    return Forecast(
        calls=sum(kind.calls for kind in kinds),
        cached=sum(kind.cached for kind in kinds),
        prompt_tokens=prompt,
        completion_tokens=completion,
        cost=cost_of(endpoint, prompt, completion),
        currency=endpoint.currency,
        kinds=kinds,
    )


def _kind(name: str, entries: Sequence[tuple[Request, bool]]) -> KindOfCall:
    new = [request for request, cached in entries if not cached]
    # Each kind of question of a procedure begins with its purpose, as `aspects-extract` does.
    answer = USUAL_ANSWER.get(name, USUAL_ANSWER.get(name.partition("-")[0], ANY_ANSWER))
    return KindOfCall(
        kind=name,
        calls=len(new),
        cached=len(entries) - len(new),
        prompt_tokens=round(sum(expected_tokens(rehearsed(name, request.body, False)) for request in new)),
        completion_tokens=len(new) * answer,
    )


def check_cap(max_cost: Decimal | None, endpoint: Endpoint) -> None:
    """Refuse a cap on costs that nobody could keep.

    Raises: BadSettings
    """
    if max_cost is None:
        return
    if not max_cost.is_finite() or max_cost < 0:
        raise BadSettings(f"the cap on the cost must be a sum of money, got {max_cost}")
    if endpoint.price_prompt is None or endpoint.price_completion is None:
        raise BadSettings(
            f"the cost can't be capped: the prices of endpoint {endpoint} are unknown; a site admin can enter them"
        )
