"""Procedures outside of a judge's run: their requests, how replies are read, and estimates."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any, TypeVar

from judging.calls.cases import CallState
from judging.calls.dry_run import CallKindEstimate, DryCall, estimates_by_kind, measure_call, next_calls, stored_replies
from judging.calls.requests import Requests
from judging.calls.results import MAX_SAMPLES, marked_refusal, read_reply, worded_refusal
from judging.core.constants import RESERVED_PARAMS
from judging.core.errors import BadSettings, UnparsedVerdict
from judging.core.pricing import cost_of
from judging.methods import Call, Reply
from judging.models import Endpoint

T = TypeVar("T")
# Like a judge's procedure, with any type of result.
AdhocProcedure = Generator[Sequence[Call], list[Any], T]
DETERMINISTIC_PARAMS: Mapping[str, Any] = {"temperature": 0}


class AdhocRequests(Requests):
    """Makes requests without a judge; their cache keys depend on endpoint, parameters and seed.

    params : sent with each call, like a judge's; null leaves a default out
    Raises: BadSettings for a reserved parameter
    """

    def __init__(self, endpoint: Endpoint, *, params: Mapping[str, Any] | None = None, seed: int = 0) -> None:
        if reserved := RESERVED_PARAMS & set(params or {}):
            raise BadSettings(f"these parameters are set by the engine: {', '.join(sorted(reserved))}")
        self.base_url = endpoint.base_url
        self.model = endpoint.model
        self.seed = seed
        self.defaults = dict(DETERMINISTIC_PARAMS)
        self.params = dict(params or {})


@dataclass(frozen=True)
class ProcedureEstimate:
    """What a procedure would take, if every reply can be read and new replies are like the calls' examples.

    calls, cached : calls to make, and answers in the cache
    cost          : in `currency`; `None` where the endpoint has no prices
    """

    calls: int
    cached: int
    prompt_tokens: int
    completion_tokens: int
    cost: Decimal | None
    currency: str
    kinds: tuple[CallKindEstimate, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return everything for JSON."""
        return {**asdict(self), "cost": None if self.cost is None else float(self.cost)}


def estimate_procedure(procedure: AdhocProcedure[Any], *, endpoint: Endpoint, requests: Requests) -> ProcedureEstimate:
    """Run a procedure without calls, on stored answers and, where there is none, on the calls' examples."""
    found: dict[str, DryCall] = {}
    calls = next_calls(procedure)
    while calls:
        call_states = [CallState(call) for call in calls]
        while opened := [state for state in call_states if not state.done]:
            asked = [(state, requests.request(state.call, repeat=0, attempt=state.attempt)) for state in opened]
            known = stored_replies([request.key for _, request in asked])
            for state, request in asked:
                found[request.key] = measure_call(request.kind, request.body, request.key in known)
                if not _fill_in(state, known.get(request.key)):
                    return _sum_up(found, endpoint)  # the calls after it depend on a real answer
        calls = next_calls(procedure, [state.value for state in call_states])
    return _sum_up(found, endpoint)


def _fill_in(state: CallState, stored: Reply | None) -> bool:
    """Apply a stored answer, or else the call's example; False if the procedure would fail with it."""
    try:
        if stored is not None:
            read_into(state, stored)
        else:
            state.value, state.done = read_reply(state.call, Reply(state.call.example)), True
    except UnparsedVerdict:
        return False
    return True


def read_into(state: CallState, reply: Reply) -> str:
    """Read a reply into a call's state: its value, or another attempt; returns the text of a refusal.

    Raises: UnparsedVerdict if the procedure can't continue without a value.
    """
    declined = refusal_in(state.call, reply)
    try:
        if declined:
            raise UnparsedVerdict(f"the model declined: {declined}")
        state.value, state.done = read_reply(state.call, reply), True
    except UnparsedVerdict:
        if not declined and state.attempt + 1 < (state.call.attempts or MAX_SAMPLES):
            state.attempt += 1
        elif state.call.optional:
            state.done = True
        else:
            raise
    return declined


def refusal_in(call: Call, reply: Reply) -> str:
    """Return the text of a refusal; empty if the reply is none."""
    if declined := marked_refusal(reply):
        return declined
    try:
        read_reply(call, reply)
    except UnparsedVerdict:
        return worded_refusal(reply)
    return ""


def _sum_up(found: Mapping[str, DryCall], endpoint: Endpoint) -> ProcedureEstimate:
    kinds = estimates_by_kind(found.values())
    prompt, completion = sum(kind.prompt_tokens for kind in kinds), sum(kind.completion_tokens for kind in kinds)
    return ProcedureEstimate(
        calls=sum(kind.calls for kind in kinds),
        cached=sum(kind.cached for kind in kinds),
        prompt_tokens=prompt,
        completion_tokens=completion,
        cost=cost_of(endpoint, prompt, completion),
        currency=endpoint.currency,
        kinds=kinds,
    )
