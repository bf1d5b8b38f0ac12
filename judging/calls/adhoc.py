"""Procedures outside of a judge's run: their requests, and estimates."""

from collections.abc import Generator, Mapping, Sequence
from typing import Any, TypeVar

from judging.calls.cases import Case, Cell
from judging.calls.dry_run import CallsEstimate, DryPool, estimates_by_kind, sums_of
from judging.calls.requests import Requests
from judging.core.constants import RESERVED_PARAMS
from judging.core.errors import BadSettings
from judging.core.pricing import cost_of
from judging.methods import Call
from judging.models import Endpoint

T = TypeVar("T")
# Like a judge's procedure, with any type of result.
AdhocProcedure = Generator[Sequence[Call], list[Any], T]
DETERMINISTIC_PARAMS: Mapping[str, Any] = {"temperature": 0}


class AdhocRequests(Requests):
    """Makes requests without a judge. Their cache keys depend on endpoint, parameters and seed.

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


def estimate_procedure(procedure: AdhocProcedure[Any], *, endpoint: Endpoint, requests: Requests) -> CallsEstimate:
    """Run a procedure without calls, on stored answers and, where there is none, on the calls' examples."""
    kinds = estimates_by_kind(DryPool(requests).dry_run([Case(Cell(0), procedure)]).values())
    sums = sums_of(kinds)
    return CallsEstimate(
        **sums,
        cost=cost_of(endpoint, sums["prompt_tokens"], sums["completion_tokens"]),
        currency=endpoint.currency,
        kinds=kinds,
    )
