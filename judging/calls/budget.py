"""The budget of a run: what answers cost, what calls in flight may cost, and whether one more fits under the cap."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.db.models import F, Max

from annotation.core.reasons import reason
from judging.calls.cases import FailedCall, StoredAnswer, Usage
from judging.calls.requests import Request
from judging.core.constants import NO_ANSWER
from judging.core.errors import AccessDenied, CallFailed, CapReached, RejectedCall, RunStopped
from judging.core.pricing import billed_cost, cost_of, money
from judging.endpoints.chat_answers import ChatAnswer
from judging.jobs.leases import HeartbeatReply
from judging.jobs.progress import Progress
from judging.methods import Reply
from judging.methods.sc2.record import MAKING
from judging.models import Completion, Endpoint, JudgeRun

LENGTH_FIELDS = ("max_completion_tokens", "max_tokens")
CHARACTERS = 4  # per prompt token, before any answer: a guess for English
COMPLETION_TOKENS = 300  # of an answer, before any is known


def longest_allowed(params: Mapping[str, Any]) -> int:
    """Return the limit on the tokens of an answer in a request's body, or in a judge's parameters, or 0 without one."""
    limits = (params.get(name) for name in LENGTH_FIELDS)
    return max((limit for limit in limits if isinstance(limit, int) and not isinstance(limit, bool)), default=0)


class CallSizes:
    """Token counts of calls, estimated from the answers so far.

    price_factor : the most that the endpoint charged for a call, as a multiple of its price; at least 1
    """

    def __init__(self) -> None:
        self.price_factor = Decimal(1)
        self.known = False
        self._prompt_share = 1 / CHARACTERS  # most tokens per character so far
        self._completion = COMPLETION_TOKENS  # longest answer so far
        self._beyond = 0  # tokens of the longest answer that its request's limit did not bound, as by xAI's reasoning

    def learn(self, request: Request, prompt_tokens: int | None, completion_tokens: int | None) -> None:
        """Learn from a call's token counts, unless its answer was empty."""
        if prompt_tokens is None or not completion_tokens:
            return
        share = prompt_tokens / request.length
        self._prompt_share = max(self._prompt_share, share) if self.known else share
        longest = max(self._completion, completion_tokens) if self.known else completion_tokens
        self.set_longest(longest)
        self._note_beyond(completion_tokens, request.body)

    def learn_price(self, billed: Decimal, listed: Decimal | None) -> None:
        """Learn from a call what the endpoint charges, where it says so, beside what its prices say."""
        if listed:
            self.price_factor = max(self.price_factor, billed / listed)

    def learn_from_run(self, run: JudgeRun) -> None:
        """Learn from the stored answers of a run."""
        stored = Completion.objects.filter(judgments__run=run).order_by()
        used = stored.filter(prompt_tokens__isnull=False, completion_tokens__gt=0)
        longest = used.aggregate(longest=Max("completion_tokens"))["longest"]
        priced = stored.filter(cost__isnull=False, list_price__gt=0).annotate(factor=F("cost") / F("list_price"))
        for priced_row in priced.order_by("-factor").only("cost", "list_price")[:1]:
            self.learn_price(priced_row.cost or Decimal(0), priced_row.list_price)
        if longest is not None:
            self.set_longest(longest)
            self._note_beyond(longest, run.judge.params)

    def _note_beyond(self, completion_tokens: int, params: Mapping[str, Any]) -> None:
        if 0 < longest_allowed(params) < completion_tokens:
            self._beyond = max(self._beyond, completion_tokens)

    @property
    def longest(self) -> int | None:
        """Tokens of the longest answer so far, or `None` before there is one."""
        return self._completion if self.known else None

    def set_longest(self, completion_tokens: int) -> None:
        """Set the tokens of the longest answer so far."""
        self._completion, self.known = completion_tokens, True

    def guess(self, request: Request) -> tuple[int, int]:
        """Return upper estimates of a call's prompt and answer tokens, from earlier answers or the request's own limit."""
        prompt, limit = int(self._prompt_share * request.length) + 1, longest_allowed(request.body)
        return prompt, max(limit, self._beyond) if limit else self._completion


class Budget:
    """The money that this process may spend, reserved by its last heartbeat beyond stored costs.

    tables : the endpoint of the calls that make tables, where it is another one
    batch : at the price of the provider's Batch API
    """

    def __init__(
        self, endpoint: Endpoint, sizes: CallSizes, tables: Endpoint | None = None, *, batch: bool = False
    ) -> None:
        self.endpoint = endpoint
        self.tables = tables
        self.sizes = sizes
        self.batch = batch
        self.granted: Decimal | None = None  # no cap
        self.cap: Decimal | None = None
        self._counted = Decimal(0)  # spent by the whole run, at the last heartbeat
        self.alone = True
        self.is_short = False  # a call was held back since the last heartbeat
        self._open: dict[str, Decimal] = {}  # calls in flight, and answers that are not stored yet
        self._stored = Decimal(0)  # since the last heartbeat
        self._held_back = Decimal(0)  # what the call may cost that was held back last

    @property
    def spent(self) -> Decimal:
        """The run's costs known to this process."""
        return self._counted + self._stored

    @property
    def needed(self) -> Decimal:
        """The possible cost of the held back call, or 0 without one and while others may free money."""
        return Decimal(0) if self._open else self._held_back

    @property
    def outstanding(self) -> Decimal:
        """The possible cost of calls whose answers aren't stored yet."""
        return sum(self._open.values(), Decimal(0))

    def set(self, heartbeat: HeartbeatReply) -> None:
        """Apply a heartbeat's reply, which counts everything stored before it."""
        self.endpoint = heartbeat.endpoint or self.endpoint
        self.tables = heartbeat.tables or self.tables
        self.granted, self.cap = heartbeat.reserved, heartbeat.cap
        self._counted = heartbeat.spent or Decimal(0)
        self.alone = heartbeat.alone
        self.is_short = False
        self._stored = Decimal(0)

    def endpoint_for(self, request: Request) -> Endpoint:
        """Return the endpoint whose prices a call has."""
        return self.tables if self.tables and request.kind in MAKING else self.endpoint

    def reserve(self, request: Request) -> bool:
        """Reserve money for a call. Return `False` if too little is left.

        If neither the request limits its answer nor the run has an answer yet, the first call is sent alone, where its prompt
        and a single token fit: the next ones are estimated from it.
        """
        if self.granted is None:
            return True
        endpoint, (prompt, answer) = self.endpoint_for(request), self.sizes.guess(request)
        spent = self.outstanding + self._stored
        is_unknown = not (self.sizes.known or longest_allowed(request.body))
        if is_unknown and self._open:
            return False
        cost, lowest = (
            (cost_of(endpoint, prompt, tokens, batch=self.batch) or Decimal(0)) * self.sizes.price_factor
            for tokens in (answer, 1 if is_unknown and not spent else answer)
        )
        if spent + lowest > self.granted:
            self.is_short, self._held_back = True, lowest
            return False
        self._held_back = Decimal(0)
        self._open[request.key] = cost
        return True

    def settle(self, key: str, cost: Decimal | None) -> None:
        """Replace a call's reservation by its cost. A call without an answer costs nothing."""
        if key in self._open:
            self._open[key] = cost or Decimal(0)

    def store(self, key: str) -> None:
        """Record that an answer is stored: the next heartbeat counts it."""
        self._stored += self._open.pop(key, Decimal(0))


class Transport:
    """A way to get answers to calls, which are counted under a budget.

    tables : the endpoint of the calls that make tables, where it is another one
    batch : through the provider's Batch API, at its price
    error : why the work can't continue, once what came back is stored
    """

    def __init__(
        self, progress: Progress, endpoint: Endpoint, tables: Endpoint | None = None, *, batch: bool = False
    ) -> None:
        self.progress = progress
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
        why = error.reason
        if isinstance(error, RejectedCall) and request.body.get("logprobs") and "logprob" in str(error):
            why = reason("no_logprobs_taken", why=why)
        return FailedCall(request.key, why, rejected, charged, is_temporary, cause, error.kind)

    def cap_reached(self) -> CapReached:
        """Return the error for a cap that allows no further call."""
        cap, spent = (money(item, self.progress.currency) for item in (self.budget.cap, self.budget.spent))
        return CapReached(reason("cap_reached", cap=cap, spent=spent))
