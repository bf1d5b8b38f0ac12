"""Dry runs: the calls that procedures would make, as far as can be known beforehand, and the tokens they would take.

Cached answers are used. For the others stands a filler text of about an answer's length, since later prompts may
contain it.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from judging.calls.requests import Requests
from judging.calls.results import read_reply
from judging.calls.store import REPLY_FIELDS, cached_rows
from judging.core.errors import UnparsedVerdict
from judging.methods import AskingMethod, Call, Presentation, Procedure, Reply, Setting

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
    ascii: int
    others: int
    cached: bool
    guessed: bool = False


def dry_run(
    cells: Iterable[tuple[int, Presentation]],
    *,
    method: AskingMethod,
    setting: Setting,
    requests: Requests,
    lengths: Mapping[str, int],
) -> dict[str, DryCall]:
    """Return the distinct calls for some cells, each given by its repeat and presentation, by cache key.

    lengths : characters of an answer, by kind, where known
    """
    found: dict[str, DryCall] = {}
    running: list[tuple[int, Procedure, Sequence[Call]]] = []
    guessing: set[Procedure] = set()  # those that were sent a filler for an answer
    for repeat, shown in cells:
        procedure = method.ask(shown, setting)
        running += [(repeat, procedure, calls)] if (calls := next_calls(procedure)) else []
    while running:
        asked = [
            (call, requests.request(call, repeat=repeat, attempt=0)) for repeat, _, calls in running for call in calls
        ]
        known = stored_replies([request.key for _, request in asked])
        guesses = [procedure in guessing for _, procedure, calls in running for _ in calls]
        for (_, request), guessed in zip(asked, guesses, strict=True):
            if request.key not in found:
                one = measure_call(request.kind, request.body, request.key in known)
                found[request.key] = replace(one, guessed=guessed)
        answers = iter([(reply_value(call, known.get(request.key), lengths), request.key) for call, request in asked])
        after: list[tuple[int, Procedure, Sequence[Call]]] = []
        for repeat, procedure, calls in running:
            values, keys = zip(*(next(answers) for _ in calls), strict=True)
            if not known.keys() >= set(keys):
                guessing.add(procedure)
            if any(value is None and not call.optional for call, value in zip(calls, values, strict=True)):
                procedure.close()  # its next calls depend on a real answer
            elif calls := next_calls(procedure, list(values)):
                after.append((repeat, procedure, calls))
        running = after
    return found


def next_calls(procedure: Generator[Sequence[Call], list[Any], Any], values: list[Any] | None = None) -> Sequence[Call]:
    """Advance a procedure to its next calls; empty when it has ended."""
    try:
        calls = next(procedure) if values is None else procedure.send(values)
        while not calls:
            calls = procedure.send([])
    except (StopIteration, UnparsedVerdict):
        return []
    return calls


def measure_call(kind: str, body: Mapping[str, Any], cached: bool) -> DryCall:
    """Count the characters of a request: messages, and tools or a schema sent along."""
    text = "".join(str(message.get("content") or "") for message in body["messages"])
    further = {name: body[name] for name in ("tools", "response_format") if name in body}
    text += json.dumps(further) if further else ""
    plain = sum(map(str.isascii, text)) if not text.isascii() else len(text)
    return DryCall(kind, plain, len(text) - plain, cached)


def stored_replies(keys: Iterable[str]) -> dict[str, Reply]:
    """Return the cached answers by key."""
    return {key: Reply(*reply) for key, *reply in cached_rows(keys, *REPLY_FIELDS)}


def reply_value(call: Call, stored: Reply | None, lengths: Mapping[str, int]) -> Any:
    """Return the value read from the stored reply or from a made-up one; `None` if none can be read."""
    lines = max(1, round(lengths.get(call.kind, DEFAULT_LENGTH) / (len(FILLER) + 4)))
    made_up = "\n".join(f"{number}. {FILLER}" for number in range(1, lines + 1))
    candidates = [
        *([stored] if stored else []),
        *([Reply(call.example)] if call.example else []),
        *map(Reply, (made_up, f"{made_up}\nScore: 3", "3", "A", "Preferred: A")),
    ]
    for reply in candidates:
        try:
            return read_reply(call, reply)
        except UnparsedVerdict:
            continue
    return None


@dataclass(frozen=True)
class CallKindEstimate:
    """Calls of one kind: to be made, with their tokens, and cached."""

    kind: str
    calls: int
    cached: int
    prompt_tokens: int
    completion_tokens: int


def expected_tokens(question: DryCall) -> float:
    """Estimate the tokens of a prompt from its characters."""
    return question.ascii / ASCII_PER_TOKEN + question.others / OTHERS_PER_TOKEN


@dataclass(frozen=True)
class LearnedSizes:
    """Sizes learned from stored answers of the same method at the same endpoint; by default none.

    ratio   : actual prompt tokens per token estimated from characters
    answers : mean tokens of an answer by kind; `lengths`: mean characters
    """

    count: int = 0
    ratio: float = 1.0
    answers: Mapping[str, float] = field(default_factory=dict)
    lengths: Mapping[str, int] = field(default_factory=dict)

    def answer_tokens(self, kind: str) -> float:
        """Return the expected tokens of an answer; a kind may begin with a more general one: `aspects-extract`."""
        return self.answers.get(kind, DEFAULT_ANSWER_TOKENS.get(kind.partition("-")[0], FALLBACK_ANSWER_TOKENS))


def estimates_by_kind(
    found: Collection[DryCall], sizes: LearnedSizes | None = None, *, scale: float = 1.0
) -> tuple[CallKindEstimate, ...]:
    """Sum the calls of a dry run by kind, and scale them to the whole."""
    sizes = sizes or LearnedSizes()
    calls: Counter[str] = Counter()
    cached: Counter[str] = Counter()
    sent: dict[str, float] = defaultdict(float)
    for one in found:
        if one.cached:
            cached[one.kind] += 1
        else:
            calls[one.kind] += 1
            sent[one.kind] += expected_tokens(one) * sizes.ratio
    return tuple(
        CallKindEstimate(
            kind=kind,
            calls=round(calls[kind] * scale),
            cached=round(cached[kind] * scale),
            prompt_tokens=round(sent[kind] * scale),
            completion_tokens=round(calls[kind] * scale * sizes.answer_tokens(kind)),
        )
        for kind in dict.fromkeys(one.kind for one in found)
    )
