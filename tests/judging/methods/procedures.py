"""Drives a judging procedure without an engine: scripted replies in, the calls that it made and its outcome out."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from judging.core.errors import UnparsedVerdict
from judging.methods import AskingMethod, Call, Outcome, Presentation, Reply, Setting, find_method

Answer = Callable[[Call], Reply | str]


@dataclass
class Played:
    """What a procedure asked, round by round, and what it came to; `outcome` is `None` when it came to nothing."""

    rounds: list[list[Call]] = field(default_factory=list)
    outcome: Outcome | None = None

    @property
    def calls(self) -> list[Call]:
        return [call for calls in self.rounds for call in calls]

    def kinds(self) -> list[list[str]]:
        return [[call.kind for call in calls] for calls in self.rounds]


def content(call: Call) -> str:
    [message] = call.messages
    assert message["role"] == "user"
    return message["content"]


def asking(name: str) -> AskingMethod:
    method = find_method(name)
    assert isinstance(method, AskingMethod)
    return method


def shown(task: str = "instruction", **given: Any) -> Presentation:
    """Make a presentation in which every text is different."""
    texts = {"source": "the source", "first": "the first", "second": "the second"}
    return Presentation(**{"task": task, "question": "Which one is kinder?", "identity": "x", **texts, **given})


def read(call: Call, answer: Reply | str) -> Any:
    """Read an answer as an engine does: what can't be read is handed on as `None` where the call allows it."""
    reply = Reply(answer) if isinstance(answer, str) else answer
    try:
        return call.read(reply)
    except UnparsedVerdict:
        if call.optional:
            return None
        raise


def token_reply(*tokens: tuple[str, Any]) -> Reply:
    """Answer in tokens, each with its alternatives: their probabilities by name, or anything else in their place."""
    content = []
    for name, alternatives in tokens:
        own, listed = 0.9, alternatives
        if isinstance(alternatives, dict) and all(isinstance(p, float) for p in alternatives.values()):
            own = alternatives.get(name, 0.01)
            listed = [{"token": other, "logprob": math.log(p)} for other, p in alternatives.items()]
        content.append({"token": name, "logprob": math.log(own), "top_logprobs": listed})
    return Reply("".join(name for name, _ in tokens), "stop", {"choices": [{"logprobs": {"content": content}}]})


def play(
    method: AskingMethod | str,
    answers: Sequence[Reply | str] | Mapping[str, str] | Answer,
    presentation: Presentation | None = None,
    *,
    texts_first: bool = True,
    wording: tuple[str, str] = ("", ""),
    **options: Any,
) -> Played:
    """Drive a procedure to its end. Answers come in a row, by the kind of call, or from a function.

    wording : a prompt of one's own, and its parser
    Raises: UnparsedVerdict where the engine would ask again and then give up.
    """
    method = asking(method) if isinstance(method, str) else method
    text, parser = wording
    own = {"wording": text, "wording_parser": parser, "wording_version": "own.v1" if text else ""}
    setting = Setting(seed=7, options=options, texts_first=texts_first, **own)
    method.check((presentation or shown()).task, setting)
    row = iter(answers) if isinstance(answers, Sequence) else None
    played = Played()
    procedure = method.ask(presentation or shown(), setting)
    try:
        calls = next(procedure)
        while True:
            played.rounds.append(list(calls))
            given = [_answer(answers, row, call) for call in calls]
            calls = procedure.send([read(call, answer) for call, answer in zip(calls, given, strict=True)])
    except StopIteration as ended:
        played.outcome = ended.value
    return played


def _answer(answers: Any, row: Any, call: Call) -> Reply | str:
    if row is not None:
        return next(row)  # type: ignore[no-any-return]
    return answers(call) if callable(answers) else answers[call.kind]  # type: ignore[no-any-return]
