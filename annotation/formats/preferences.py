"""Preference pairs as data sets have them: a prompt with two answers, or one conversation with two ends.

An answer is a text, or a list of messages `{"role", "content"}` that repeats the conversation before it. Without a `prompt`
the two transcripts say it themselves: what they have in common, up to where the last speaker begins, is the source.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from annotation.formats.lines import text_problem

NEEDED = ("chosen", "rejected")
# Where somebody begins to speak in a conversation that is written out: a line that starts with, say, "Assistant:".
_TURN = re.compile(r"(?:^|\n)[ \t]*(?:Human|User|Assistant|AI|Bot)[ \t]*:", re.IGNORECASE)
_ROLES = {"system": "System", "user": "User", "human": "User", "assistant": "Assistant"}

Messages = list[dict[str, Any]]


@dataclass(frozen=True)
class Preference:
    """What was asked, and the two answers."""

    source: str
    chosen: str
    rejected: str


def read_preference(record: dict[str, Any]) -> Preference | list[str]:
    """Read one record; a list of what is wrong with it when it can't be taken."""
    problems = [
        f"{name} {problem}"
        for name in ("prompt", *NEEDED)
        if (name in record or name in NEEDED) and (problem := _problem(record.get(name), missing=name not in record))
    ]
    if problems:
        return problems
    prompt, chosen, rejected = (record.get(name) for name in ("prompt", *NEEDED))
    if isinstance(chosen, str) != isinstance(rejected, str):
        return ["chosen and rejected are a text and a list of messages; they must be of one kind"]
    found = (
        _of_texts(prompt, str(chosen), str(rejected))
        if isinstance(chosen, str)
        else _of_messages(prompt, list(chosen or ()), list(rejected or ()))
    )
    if isinstance(found, Preference):
        return [f"the {name} answer is empty" for name in NEEDED if not getattr(found, name).strip()] or found
    return [found]


def _of_texts(prompt: Any, chosen: str, rejected: str) -> Preference | str:
    if prompt is not None:
        return Preference(prompt if isinstance(prompt, str) else _written(prompt), chosen, rejected)
    common = len(_common(chosen, rejected))
    turns = [turn for turn in _TURN.finditer(chosen) if turn.end() <= common]
    if not turns:
        return "prompt is missing, and chosen and rejected begin with no common conversation"
    begin, end = turns[-1].start(), turns[-1].end()
    return Preference(chosen[:begin].strip(), chosen[end:].strip(), rejected[end:].strip())


def _of_messages(prompt: Any, chosen: Messages, rejected: Messages) -> Preference | str:
    common = len(_common(chosen, rejected))
    common = min(common, len(chosen) - 1, len(rejected) - 1)  # two equal answers are answers all the same
    before = chosen[:common]
    if not before and prompt is None:
        return "prompt is missing, and chosen and rejected begin with no common message"
    source = _written(before) if before else prompt if isinstance(prompt, str) else _written(prompt)
    return Preference(source, *(_written(one[common:]) for one in (chosen, rejected)))


def _common(one: Sequence[Any], other: Sequence[Any]) -> Sequence[Any]:
    """Return what two sequences begin with, both."""
    length = next((place for place, both in enumerate(zip(one, other, strict=False)) if both[0] != both[1]), None)
    return one[: min(len(one), len(other)) if length is None else length]


def _written(messages: Messages) -> str:
    """Write messages out; a single one needs no word about who speaks."""
    if len(messages) == 1:
        return str(messages[0]["content"])
    return "\n\n".join(
        f"{_ROLES.get(str(one['role']).lower(), str(one['role']))}: {one['content']}" for one in messages
    )


def _problem(value: Any, *, missing: bool) -> str | None:
    if missing:
        return "is missing"
    if not isinstance(value, list):
        return text_problem(value)
    if not value:
        return "is an empty list"
    for one in value:
        if not isinstance(one, dict) or not isinstance(one.get("role"), str):
            return "is a list, but not of messages with a role and a content"
        if problem := text_problem(one.get("content")):
            return f"has a message whose content {problem}"
        if problem := text_problem(one["role"]):
            return f"has a message whose role {problem}"
    return None
