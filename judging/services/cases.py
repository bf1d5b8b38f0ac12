"""A cell on its way through its method's procedure. Knows nothing of databases, networks or other cells."""

from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from judging.errors import UnparsedVerdict
from judging.judges import AskingMethod, Call, Presentation, Procedure, Reply, Setting
from judging.models import Judgment
from judging.services.reading import MAX_SAMPLES, Reading, marked_refusal, parsed, read_reply, unparsed, worded_refusal
from judging.services.requests import Request


@dataclass(slots=True)
class Spent:
    """Tokens and money; `None` as soon as a part of it is unknown."""

    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    cost: Decimal | None = Decimal(0)

    def add(self, other: "Spent") -> None:
        """Add what another call took."""
        self.prompt_tokens = added(self.prompt_tokens, other.prompt_tokens)
        self.completion_tokens = added(self.completion_tokens, other.completion_tokens)
        self.cost = None if self.cost is None or other.cost is None else self.cost + other.cost


def added(one: int | None, other: int | None) -> int | None:
    """Add two counts of which either may be unknown."""
    return None if one is None or other is None else one + other


@dataclass(slots=True)
class Stored:
    """An answer as it is, or will be, in the cache.

    pk      : of its row; `None` until it is written
    refused : kept to be looked at, never reused
    request : what was sent; not loaded with an answer from the cache
    """

    key: str
    reply: Reply
    pk: int | None = None
    spent: Spent = field(default_factory=Spent)
    request: Request | None = None
    latency_ms: float | None = None
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """A judgment to be made, and what its judge is shown.

    paid  : completions that earlier attempts at this cell made: found again in the cache, they are its own all the same
    spent : what these took
    """

    pk: int
    order: str
    repeat: int
    shown: Presentation
    spent: Spent = field(default_factory=Spent)
    paid: frozenset[int] = frozenset()


@dataclass(slots=True)
class Ask:
    """A call of a case's present round, at its first attempt or a later one."""

    call: Call
    attempt: int = 0
    value: Any = None
    done: bool = False
    waiting: bool = False  # for an answer that is under way


class Case:
    """A cell, its procedure, and the calls of the round that this has come to; `reading` says how it ended."""

    def __init__(self, cell: Cell, method: AskingMethod, setting: Setting) -> None:
        self.cell = cell
        self.spent = cell.spent
        self.asks: list[Ask] = []
        self.used: list[Stored] = []
        self.cached = 0
        self.concluded = False  # its result was noted
        self.reading: Reading | None = None
        self._procedure: Procedure = method.ask(cell.shown, setting)
        self._send(None)

    @property
    def ended(self) -> bool:
        """Tell whether there is a result."""
        return self.reading is not None

    def open_asks(self) -> list[Ask]:
        """Return the calls whose answers are wanted and not under way."""
        return [] if self.ended else [ask for ask in self.asks if not ask.done and not ask.waiting]

    def take(self, ask: Ask, stored: Stored, *, paid: bool) -> None:
        """Take in an answer. `paid`: a call was made for this very cell, so what it took is the cell's.

        Any other answer cost nothing here: it was in the cache, or another cell asked the same.
        """
        ask.waiting = False
        if paid:
            self.spent.add(stored.spent)
        if self.ended:
            return
        self.used.append(stored)
        self.cached += not paid and stored.pk not in self.cell.paid
        self._read(ask, stored)
        self._go_on()

    def do_without(self, ask: Ask) -> None:
        """Go on without the answer to an optional call."""
        if not self.ended:
            ask.done = True
            self._go_on()

    def _go_on(self) -> None:
        if not self.ended and all(one.done for one in self.asks):
            self._send([one.value for one in self.asks])

    def end(self, reading: Reading) -> None:
        """Set the result; what is still under way is of no use to this cell any more."""
        made = next((ask.call.made for ask in self.asks if ask.call.made is not None), None)
        self.reading = replace(reading, made=made)
        self._procedure.close()

    def _read(self, ask: Ask, stored: Stored) -> None:
        reply = stored.reply
        if declined := marked_refusal(reply):
            self._refuse(ask, stored, declined)
            return
        try:
            ask.value = read_reply(ask.call, reply)
        except UnparsedVerdict as error:
            if declined := worded_refusal(reply):
                self._refuse(ask, stored, declined)
            elif ask.attempt + 1 < (ask.call.attempts or MAX_SAMPLES):
                ask.attempt += 1
            elif ask.call.optional:
                ask.done = True
            else:
                self.end(unparsed(reply, str(error)))
        else:
            ask.done = True

    def _refuse(self, ask: Ask, stored: Stored, declined: str) -> None:
        stored.refused = True
        if ask.call.optional:
            ask.done = True
        else:
            self.end(Reading(Judgment.Status.REFUSED, failure=declined))

    def _send(self, values: list[Any] | None) -> None:
        try:
            calls = self._procedure.send(values) if values is not None else next(self._procedure)
            while not calls:
                calls = self._procedure.send([])
        except StopIteration as stop:
            self.reading = parsed(stop.value)
        except UnparsedVerdict as error:
            self.end(unparsed(None, str(error)))
        else:
            self.asks = [Ask(call) for call in calls]
