"""A cell's method procedure, the state of its calls and their failures, independent of database and network."""

from collections import Counter, deque
from collections.abc import Generator, Sequence, Set
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from annotation.core.reasons import NO_REASON, Reason, reason
from judging.calls.requests import (
    MAX_SAMPLES,
    Reading,
    Request,
    marked_refusal,
    parsed,
    read_reply,
    recurs,
    unparsed,
    worded_refusal,
)
from judging.core.constants import LAST_CALLS, MOST_FAILURES, NO_ANSWER
from judging.core.errors import RunStopped, UnparsedVerdict
from judging.methods import Call, Presentation, Reply
from judging.models import Judgment

AnyProcedure = Generator[Sequence[Call], list[Any], Any]  # like a method's, with any type of result
NOTHING_SHOWN = Presentation("", "", "", "", "", "")


@dataclass(slots=True)
class Usage:
    """Tokens and money, or `None` if a part is unknown."""

    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    cost: Decimal | None = Decimal(0)

    def add(self, usage: "Usage") -> None:
        """Add another call's usage."""
        self.prompt_tokens = add_counts(self.prompt_tokens, usage.prompt_tokens)
        self.completion_tokens = add_counts(self.completion_tokens, usage.completion_tokens)
        self.cost = None if self.cost is None or usage.cost is None else self.cost + usage.cost


def add_counts(first: int | None, second: int | None) -> int | None:
    """Add two counts, either of which may be unknown."""
    return None if first is None or second is None else first + second


@dataclass(slots=True)
class StoredAnswer:
    """An answer that is, or will be, in the cache.

    pk      : of its row; `None` until it is written
    refused : stored for inspection, never reused
    request : not loaded for an answer from the cache
    list_price : at the endpoint's prices, where it reported a cost itself
    """

    key: str
    reply: Reply
    pk: int | None = None
    usage: Usage = field(default_factory=Usage)
    request: Request | None = None
    latency_ms: float | None = None
    refused: bool = False
    list_price: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """The target of a procedure: a judgment with its presentation, or something else.

    usage   : of earlier attempts at this cell, in `fetched` answers
    paid    : completions of these attempts: taken from the cache now, they still count as the cell's own
    cached  : answers that came from the cache in these attempts
    """

    pk: int
    order: str = ""
    repeat: int = 0
    shown: Presentation = NOTHING_SHOWN
    usage: Usage = field(default_factory=Usage)
    fetched: int = 0
    paid: frozenset[int] = frozenset()
    cached: int = 0


@dataclass(slots=True)
class CallState:
    """A call of a case's present round.

    lost, declined, unread : why it got no answer; the text of a refusal; why its last answer can't be read
    cause     : of a refusal that came in place of an answer
    fell_back : it is sent without its JSON schema
    last_resort : result if no further attempt is stored already: asking again would end the same way
    """

    call: Call
    attempt: int = 0
    value: Any = None
    done: bool = False
    waiting: bool = False  # for an answer that is under way
    lost: Reason = NO_REASON
    declined: Reason = NO_REASON
    unread: Reason = NO_REASON
    cause: str = ""
    fell_back: bool = False
    last_resort: Reading | None = None

    def fall_back(self) -> None:
        """Send the call without its JSON schema from now on."""
        self.call, self.attempt, self.fell_back = self.call.without_schema(), 0, True


class Case:
    """A cell, its procedure, and the calls of the present round. `reading` is the result.

    fetched, cached : answers that the cell paid for, usable or not, and answers that cost it nothing
    asked           : calls of all rounds so far
    """

    def __init__(self, cell: Cell, procedure: AnyProcedure) -> None:
        self.cell = cell
        self.usage = cell.usage
        self.call_states: list[CallState] = []
        self.used: list[StoredAnswer] = []
        self.fetched = cell.fetched
        self.cached = cell.cached
        self.asked = 0
        self.recorded = False  # its result was noted
        self.fell_back = False  # a verdict was asked for without its JSON schema
        self.reading: Reading | None = None
        self._answered: set[str] = set()  # kinds of calls with at least one answer
        self._last_failure: Reading | None = None  # of the last call without an answer
        self._procedure = procedure
        self._resume(None)

    @property
    def ended(self) -> bool:
        """Tell whether there is a result."""
        return self.reading is not None

    @property
    def unanswered(self) -> int:
        """Count the calls of the present round without an answer."""
        return 0 if self.ended else sum(not state.done for state in self.call_states)

    def open_calls(self) -> list[CallState]:
        """Return the calls that need an answer and are not in flight."""
        return [] if self.ended else [state for state in self.call_states if not state.done and not state.waiting]

    def take(self, state: CallState, stored: StoredAnswer, *, paid: bool) -> None:
        """Apply an answer. `paid`: the call was made for this cell, which bears its cost.

        Any other answer came from the cache, or from another cell's call.
        """
        state.waiting = False
        if paid:
            self.pay(stored)
        if self.ended:
            return
        self._answered.add(state.call.kind)
        self.fell_back = self.fell_back or (state.fell_back and state.call.kind == "verdict")
        self.used.append(stored)
        self.cached += not paid and stored.pk not in self.cell.paid
        self._read(state, stored)
        self._advance()

    def pay(self, stored: StoredAnswer) -> None:
        """Count a call that was made for this cell, whether or not its answer is usable."""
        self.usage.add(stored.usage)
        self.fetched += 1

    def skip_call(self, state: CallState, reading: Reading) -> None:
        """Continue without the answer to an optional call, if others of its kind get one."""
        if not self.ended:
            state.done, state.lost, self._last_failure = True, reading.failure, reading
            self._advance()

    def refuse(self, state: CallState, declined: Reason, *, cause: str) -> None:
        """Take a refusal that came in place of an answer."""
        if not self.ended:
            self._refuse(state, declined, cause)
            self._advance()

    def give_up(self, state: CallState) -> None:
        """Take the last resort of a call."""
        if self.ended or state.last_resort is None:
            return
        if state.call.optional:
            state.done, state.unread = True, state.last_resort.failure
            self._advance()
        else:
            self.end(state.last_resort)

    def _advance(self) -> None:
        if self.ended or not all(state.done for state in self.call_states):
            return
        if unanswered(self.call_states, self._answered):
            self.end(self._last_failure or Reading(Judgment.Status.ERROR))
        else:
            self._resume([state.value for state in self.call_states])

    def end(self, reading: Reading) -> None:
        """Set the result. Answers that are still in flight are not used."""
        record = next((state.call.made for state in self.call_states if state.call.made is not None), None)
        self.reading = replace(reading, made=record)
        self._procedure.close()

    def _read(self, state: CallState, stored: StoredAnswer) -> None:
        reply = stored.reply
        if declined := marked_refusal(reply):
            stored.refused = True
            self._refuse(state, declined)
            return
        try:
            state.value = read_reply(state.call, reply)
        except UnparsedVerdict as error:
            unread = replace(unparsed(reply, error.reason), token_mass=error.token_mass)
            if declined := worded_refusal(reply):
                stored.refused = True
                self._refuse(state, declined)
            elif state.attempt + 1 < (state.call.attempts or MAX_SAMPLES):
                state.attempt += 1
                state.last_resort = unread if recurs(reply) else None
            elif state.call.optional:
                state.done, state.unread = True, error.reason
            else:
                self.end(unread)
        else:
            state.done = True

    def _refuse(self, state: CallState, declined: Reason, cause: str = "") -> None:
        if state.call.optional:
            state.done, state.declined, state.cause = True, declined, cause
        else:
            self.end(Reading(Judgment.Status.REFUSED, failure=declined, cause=cause))

    def _resume(self, values: list[Any] | None) -> None:
        try:
            calls = self._procedure.send(values) if values is not None else next(self._procedure)
            while not calls:
                calls = self._procedure.send([])
        except StopIteration as stop:
            self.reading = parsed(stop.value)
        except UnparsedVerdict as error:
            # The missing answer might give a verdict: as an error, the cell will be asked again.
            self.end(self._last_failure or most_declined(self.call_states) or unparsed(None, error.reason))
        else:
            self.call_states = [CallState(call) for call in calls]
            self.asked += len(calls)


def most_declined(call_states: Sequence[CallState]) -> Reading | None:
    """Return a refusal if the model declined at least half of a round's calls."""
    declined = [state for state in call_states if state.declined]
    if not declined or 2 * len(declined) < len(call_states):
        return None
    return Reading(
        Judgment.Status.REFUSED,
        failure=reason("samples_declined", number=len(declined), count=len(call_states), why=declined[-1].declined),
        cause=declined[-1].cause,
    )


def unanswered(call_states: Sequence[CallState], answered: Set[str]) -> bool:
    """Tell whether all calls of a kind failed, so that the procedure can't continue without them.

    answered : kinds of calls with an answer, in this round or an earlier one
    """
    return any(state.lost and state.call.kind not in answered for state in call_states)


@dataclass(frozen=True)
class FailedCall:
    """A call without an answer, after all retries.

    rejected : the endpoint rejects this request, but may accept others
    charged  : unusable answer that has to be paid; `again`: the request may be sent again
    cause, kind : why it failed, as it is stored with a judgment, and as failures are counted
    """

    key: str
    reason: Reason
    rejected: bool = False
    charged: StoredAnswer | None = None
    again: bool = False
    cause: str = NO_ANSWER
    kind: str = "no answer"

    @property
    def reading(self) -> Reading:
        """The result of a cell that ends with this call."""
        return Reading(Judgment.Status.ERROR, failure=self.reason, cause=self.cause, code=self.kind)


class FailureRate:
    """Failures among the last calls. A rejection of a request alone never counts, as it says nothing about others."""

    def __init__(self) -> None:
        self._last: deque[str] = deque(maxlen=LAST_CALLS)  # kinds of failures; empty for answers

    def note_answer(self) -> None:
        """Count a call that was answered."""
        self._last.append("")

    def note_failure(self, failed: FailedCall) -> RunStopped | None:
        """Count a failed call and return why the work can't continue, if it can't."""
        if failed.rejected:
            return None
        self._last.append(failed.kind)
        kinds = Counter(filter(None, self._last))
        if kinds.total() < MOST_FAILURES:
            return None
        [(kind, number)] = kinds.most_common(1)
        values = {"failures": kinds.total(), "calls": len(self._last), "number": number, "kind": kind}
        return RunStopped(reason("many_failures", **values, error=failed.reason))
