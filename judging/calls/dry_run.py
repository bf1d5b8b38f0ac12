"""Dry runs: the calls that procedures would make, as far as can be known beforehand, and the tokens they would take.

Cached answers are used. For the others stands a filler of about an answer's length, since later prompts may contain it.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from typing import Any

from annotation.core.reasons import NO_REASON
from judging.calls.cases import AnyProcedure, Case, Cell, FailedCall, StoredAnswer
from judging.calls.requests import Request, Requests, read_reply
from judging.calls.session import ProcedurePool
from judging.core.errors import UnparsedVerdict
from judging.core.pricing import cost_of
from judging.methods import Call, Reply
from judging.models import Endpoint

FILLER = "It is clear and complete, and it says what matters most."
DEFAULT_LENGTH = 600  # characters of an answer that a later prompt contains
# By kind of call, where no stored answer is known.
DEFAULT_ANSWER_TOKENS = {
    "verdict": 120,
    "critique": 250,
    "metrics": 200,
    "reference": 300,
    "aspects": 100,
    "score": 60,
    "table": 350,
    "comparator": 80,
}
FALLBACK_ANSWER_TOKENS = 150
ASCII_PER_TOKEN = 4.0
OTHERS_PER_TOKEN = 2.0


@dataclass(frozen=True)
class DryCall:
    """A call that would be made.

    ascii, others : ASCII characters of the prompt, and others
    cached        : its answer is in the cache
    guessed       : the prompt depends on answers that are not in the cache
    """

    kind: str
    ascii: int = 0
    others: int = 0
    cached: bool = False
    guessed: bool = False


class DryPool(ProcedurePool):
    """A pool whose requests are counted, and answered by fillers.

    lengths : characters of an answer, by kind, where known
    found   : the distinct calls so far, by cache key
    """

    def __init__(self, requests: Requests, *, lengths: Mapping[str, int] | None = None) -> None:
        super().__init__(requests)
        self.lengths = lengths or {}
        self.found: dict[str, DryCall] = {}
        self._guessing: set[Case] = set()  # those that were given a filler for an answer

    def dry_run(self, cases: Iterable[Case]) -> dict[str, DryCall]:
        """Carry out the procedures of cases, as far as fillers can be read. Return `found`."""
        requests = self.advance(self.add_cases(list(cases)))
        while requests:
            requests = self.advance([case for request in requests for case in self._fill_in(request)])
        self.take_writes()
        self.ended = []
        self._guessing.clear()
        return self.found

    def _fill_in(self, request: Request) -> list[Case]:
        waiting = list(self._asking[request.key][1])
        guessed = any(case in self._guessing for case, _ in waiting)
        self.found.setdefault(request.key, measure_call(request.kind, request.body, guessed=guessed))
        self._guessing.update(case for case, _ in waiting)
        if (reply := filler_for(waiting[0][1].call, self.lengths)) is None:
            # The calls after it depend on a real answer.
            return self.fail(FailedCall(request.key, NO_REASON, rejected=True))
        return self.answer(StoredAnswer(request.key, reply))

    def cached(self, requests: Sequence[Request]) -> Iterator[StoredAnswer]:
        """Yield the answers in the cache, and count them."""
        kinds = {request.key: request.kind for request in requests}
        for stored in super().cached(requests):
            self.found.setdefault(stored.key, DryCall(kinds[stored.key], cached=True))
            yield stored


def measure_call(kind: str, body: Mapping[str, Any], *, guessed: bool = False) -> DryCall:
    """Count the characters of a request: messages, and tools or a schema sent along."""
    text = "".join(str(message.get("content") or "") for message in body["messages"])
    more_parts = {name: body[name] for name in ("tools", "response_format") if name in body}
    text += json.dumps(more_parts) if more_parts else ""
    plain = sum(map(str.isascii, text)) if not text.isascii() else len(text)
    return DryCall(kind, plain, len(text) - plain, guessed=guessed)


def filler_for(call: Call, lengths: Mapping[str, int]) -> Reply | None:
    """Return a made-up reply that the call can read, or `None` if it can read none."""
    lines = max(1, round(lengths.get(call.kind, DEFAULT_LENGTH) / (len(FILLER) + 4)))
    made_up = "\n".join(f"{number}. {FILLER}" for number in range(1, lines + 1))
    candidates = [*([call.example] if call.example else []), made_up, f"{made_up}\nScore: 3", "3", "A", "Preferred: A"]
    for reply in map(Reply, candidates):
        try:
            read_reply(call, reply)
        except UnparsedVerdict:
            continue
        return reply
    return None


@dataclass(frozen=True)
class CallKindEstimate:
    """Calls of one kind: to be made, with their tokens, and cached."""

    kind: str
    calls: int
    cached: int
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, kw_only=True)
class CallsEstimate:
    """The expected usage of calls, without retries.

    calls, cached : calls to make, and answers in the cache
    cost          : in `currency`; `None` where the endpoint has no prices
    """

    calls: int = 0
    cached: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: Decimal | None = Decimal(0)
    currency: str = ""
    kinds: tuple[CallKindEstimate, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return everything for JSON."""
        return {**asdict(self), "cost": None if self.cost is None else float(self.cost)}


def sums_of(kinds: Iterable[CallKindEstimate]) -> dict[str, int]:
    """Return calls, answers from the cache and tokens of all kinds together, by the names of their fields."""
    names, kinds = ("calls", "cached", "prompt_tokens", "completion_tokens"), list(kinds)
    return {name: sum(getattr(kind, name) for kind in kinds) for name in names}


def expected_tokens(question: DryCall) -> float:
    """Estimate the tokens of a prompt from its characters."""
    return question.ascii / ASCII_PER_TOKEN + question.others / OTHERS_PER_TOKEN


@dataclass(frozen=True)
class LearnedSizes:
    """Sizes learned from stored answers of the same method at the same endpoint, by default none.

    ratio   : actual prompt tokens per token estimated from characters
    answers : mean tokens of an answer by kind; `lengths`: mean characters
    """

    count: int = 0
    ratio: float = 1.0
    answers: Mapping[str, float] = field(default_factory=dict)
    lengths: Mapping[str, int] = field(default_factory=dict)

    def answer_tokens(self, kind: str) -> float:
        """Return the expected tokens of an answer. A kind may begin with a more general one: `aspects-extract`."""
        return self.answers.get(kind, DEFAULT_ANSWER_TOKENS.get(kind.partition("-")[0], FALLBACK_ANSWER_TOKENS))


def estimates_by_kind(
    dry_calls: Collection[DryCall], sizes: LearnedSizes | None = None, *, scale: float = 1.0
) -> tuple[CallKindEstimate, ...]:
    """Sum the calls of a dry run by kind, and scale them to the whole."""
    sizes = sizes or LearnedSizes()
    calls: Counter[str] = Counter()
    cached: Counter[str] = Counter()
    sent: dict[str, float] = defaultdict(float)
    for call in dry_calls:
        if call.cached:
            cached[call.kind] += 1
        else:
            calls[call.kind] += 1
            sent[call.kind] += expected_tokens(call) * sizes.ratio
    return tuple(
        CallKindEstimate(
            kind=kind,
            calls=round(calls[kind] * scale),
            cached=round(cached[kind] * scale),
            prompt_tokens=round(sent[kind] * scale),
            completion_tokens=round(calls[kind] * scale * sizes.answer_tokens(kind)),
        )
        for kind in dict.fromkeys(item.kind for item in dry_calls)
    )


def estimate_procedure(procedure: AnyProcedure, *, endpoint: Endpoint, requests: Requests) -> CallsEstimate:
    """Run a procedure without calls, on stored answers and, where there is none, on the calls' examples."""
    kinds = estimates_by_kind(DryPool(requests).dry_run([Case(Cell(0), procedure)]).values())
    sums = sums_of(kinds)
    return CallsEstimate(
        **sums,
        cost=cost_of(endpoint, sums["prompt_tokens"], sums["completion_tokens"]),
        currency=endpoint.currency,
        kinds=kinds,
    )
