"""Shared parts of the transports: answers, failures and their costs."""

from annotation.core.reasons import Reason, reason
from judging.calls.budget import Budget, CallSizes
from judging.calls.cases import StoredAnswer, Usage
from judging.calls.failures import FailedCall
from judging.calls.requests import Request
from judging.calls.session import Session
from judging.core.constants import NO_ANSWER
from judging.core.errors import AccessDenied, CallFailed, CapReached, RejectedCall, RunStopped
from judging.core.pricing import billed_cost, cost_of, money
from judging.endpoints.chat_answers import ChatAnswer
from judging.methods import Reply
from judging.models import Endpoint


class Transport:
    """A way to get answers for a session.

    tables : the endpoint of the calls that make tables, where it is another one
    batch : through the provider's Batch API, at its price
    error : why the work can't continue, once what came back is stored
    """

    def __init__(
        self, session: Session, endpoint: Endpoint, tables: Endpoint | None = None, *, batch: bool = False
    ) -> None:
        self.session = session
        self.progress = session.progress
        self.progress.currency = endpoint.currency
        self.sizes = CallSizes()
        self.budget = Budget(endpoint, self.sizes, tables, batch=batch)
        self.error: Exception | None = None

    def halt(self, error: Exception) -> None:
        """Note why the work can't continue."""
        self.error = self.error or error

    def take_answer(self, request: Request, answer: ChatAnswer) -> StoredAnswer:
        """Count what an answer took, usable or not, and return it as it is to be stored."""
        counts = (answer.prompt_tokens, answer.completion_tokens)
        self.sizes.learn(request, *counts)
        endpoint = self.budget.endpoint_for(request)
        listed = cost_of(endpoint, *counts, cached_tokens=answer.cached_tokens, batch=self.budget.batch)
        billed = billed_cost(endpoint, answer.billed)
        if billed is not None:
            self.sizes.learn_price(billed, listed)
        cost = listed if billed is None else billed
        self.budget.settle(request.key, cost)
        progress = self.progress
        progress.cost = None if progress.cost is None or cost is None else progress.cost + cost
        if cost is None and self.budget.granted is not None:
            self.halt(RunStopped(reason("tokens_unknown")))
        reply = Reply(answer.text, answer.finish_reason, answer.response)
        return StoredAnswer(
            request.key,
            reply,
            usage=Usage(*counts, cost),
            request=request,
            latency_ms=answer.latency_ms,
            list_price=None if billed is None else listed,
        )

    def take_failure(self, request: Request, error: CallFailed) -> FailedCall | None:
        """Return a failed call as the session gets it, with what the endpoint charged for it. `None`: its cell stays open."""
        if isinstance(error, AccessDenied):
            self.halt(RunStopped(reason("access_denied", error=error.reason)))
        charged = None if error.charged is None else self.take_answer(request, error.charged)
        if charged is None:
            self.budget.settle(request.key, None)
        if charged is None and isinstance(error, AccessDenied):
            return None
        rejected = isinstance(error, RejectedCall) and error.request_only
        is_temporary = not isinstance(error, RejectedCall)
        cause = error.cause if isinstance(error, RejectedCall) else NO_ANSWER
        return FailedCall(request.key, reason_of(error, request), rejected, charged, is_temporary, cause, error.kind)

    def cap_reached(self) -> CapReached:
        """Return the error for a cap that allows no further call."""
        cap, spent = (money(item, self.progress.currency) for item in (self.budget.cap, self.budget.spent))
        return CapReached(reason("cap_reached", cap=cap, spent=spent))


def reason_of(failure: CallFailed, request: Request) -> Reason:
    """Say why a call failed, with advice where possible."""
    if isinstance(failure, RejectedCall) and request.body.get("logprobs") and "logprob" in str(failure):
        return reason("no_logprobs_taken", why=failure.reason)
    return failure.reason
