"""Going through procedures without asking anybody: which calls they would make, as far as can be known beforehand.

Answers that are in the cache are used. For the others a text stands in that has about the length of such an answer:
later questions show it, so their length depends on it, and on nothing else of it.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from judging.errors import UnparsedVerdict
from judging.judges import AskingMethod, Call, Presentation, Procedure, Reply, Setting
from judging.models import Completion
from judging.services.reading import read_reply
from judging.services.requests import Requests
from judging.services.statements import parts

LINE = "It is clear and complete, and it says what matters most."
USUAL_LENGTH = 600  # characters of an answer that a later question shows


@dataclass(frozen=True)
class Rehearsed:
    """One call that would be made.

    ascii, others : characters of the question, plain ones and all others
    cached        : its answer is there already
    guessed       : what it says depends on answers that are not there yet
    """

    kind: str
    ascii: int
    others: int
    cached: bool
    guessed: bool = False


def rehearse(
    cells: Iterable[tuple[int, Presentation]],
    *,
    method: AskingMethod,
    setting: Setting,
    requests: Requests,
    lengths: Mapping[str, int],
) -> list[Rehearsed]:
    """Return the distinct calls for some cells, each given by its repeat and what is shown.

    lengths : characters of an answer, by kind, where that is known
    """
    return list(rehearse_by_key(cells, method=method, setting=setting, requests=requests, lengths=lengths).values())


def rehearse_by_key(
    cells: Iterable[tuple[int, Presentation]],
    *,
    method: AskingMethod,
    setting: Setting,
    requests: Requests,
    lengths: Mapping[str, int],
) -> dict[str, Rehearsed]:
    """Return the same under the names of the calls in the cache, for what several judges ask."""
    found: dict[str, Rehearsed] = {}
    going: list[tuple[int, Procedure, Sequence[Call]]] = []
    unsure: set[Procedure] = set()  # those that were handed a text that stands in for an answer
    for repeat, shown in cells:
        going += step(repeat, method.ask(shown, setting), None)
    while going:
        asked = [
            (call, requests.request(call, repeat=repeat, attempt=0)) for repeat, _, calls in going for call in calls
        ]
        known = stored_replies([request.key for _, request in asked])
        guesses = [procedure in unsure for _, procedure, calls in going for _ in calls]
        for (_, request), guessed in zip(asked, guesses, strict=True):
            if request.key not in found:
                one = rehearsed(request.kind, request.body, request.key in known)
                found[request.key] = replace(one, guessed=guessed)
        answers = iter([(value_of(call, known.get(request.key), lengths), request.key) for call, request in asked])
        after: list[tuple[int, Procedure, Sequence[Call]]] = []
        for repeat, procedure, calls in going:
            values, keys = zip(*(next(answers) for _ in calls), strict=True)
            if not known.keys() >= set(keys):
                unsure.add(procedure)
            if any(value is None and not call.optional for call, value in zip(calls, values, strict=True)):
                procedure.close()  # what comes next depends on an answer that nobody can make up
            else:
                after += step(repeat, procedure, list(values))
        going = after
    return found


def step(repeat: int, procedure: Procedure, values: list[Any] | None) -> list[tuple[int, Procedure, Sequence[Call]]]:
    """Take a procedure to its next calls; nothing when it has come to its end."""
    try:
        calls = next(procedure) if values is None else procedure.send(values)
        while not calls:
            calls = procedure.send([])
    except (StopIteration, UnparsedVerdict):
        return []
    return [(repeat, procedure, calls)]


def rehearsed(kind: str, body: Mapping[str, Any], cached: bool) -> Rehearsed:
    """Measure a question: its messages, and functions or a schema that go with it."""
    text = "".join(str(message.get("content") or "") for message in body["messages"])
    further = {name: body[name] for name in ("tools", "response_format") if name in body}
    text += json.dumps(further) if further else ""
    plain = sum(map(str.isascii, text)) if not text.isascii() else len(text)
    return Rehearsed(kind, plain, len(text) - plain, cached)


def stored_replies(keys: Sequence[str]) -> dict[str, Reply]:
    """Return the answers that the cache has."""
    found = {}
    for part in parts(list(dict.fromkeys(keys))):
        rows = Completion.objects.filter(cache_key__in=part).order_by()
        for key, text, finish_reason, response in rows.values_list("cache_key", "text", "finish_reason", "response"):
            found[str(key)] = Reply(text, finish_reason, response)
    return found


def value_of(call: Call, stored: Reply | None, lengths: Mapping[str, int]) -> Any:
    """Return what a call's answer is read as, or what one that is made up is; `None` when nothing can be read."""
    made_up = prose(lengths.get(call.kind, USUAL_LENGTH))
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


def prose(length: int) -> str:
    """Make a numbered list of about so many characters."""
    lines = max(1, round(length / (len(LINE) + 4)))
    return "\n".join(f"{number}. {LINE}" for number in range(1, lines + 1))
