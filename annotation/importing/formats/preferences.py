"""Preference pairs: a prompt with two answers, or a conversation with two endings.

An answer is a text, or a list of messages `{"role", "content"}` that may repeat the conversation. Without a `prompt`,
the source is the common beginning of the two transcripts, up to the last speaker.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from annotation.core.files.lines import text_problem
from annotation.core.reasons import Reason
from annotation.core.refusals import refusal

NEEDED = ("chosen", "rejected")
# A line that starts a turn in a written conversation, such as "Assistant:".
_TURN = re.compile(r"(?:^|\n)[ \t]*(?:Human|User|Assistant|AI|Bot)[ \t]*:", re.IGNORECASE)
_ROLES = {"system": "System", "user": "User", "human": "User", "assistant": "Assistant"}

Messages = list[dict[str, Any]]


@dataclass(frozen=True)
class Preference:
    """The source, and the two answers."""

    source: str
    chosen: str
    rejected: str


def read_preference(record: dict[str, Any]) -> Preference | list[Reason]:
    """Parse one record, or return a list of problems."""
    problems = [
        problem
        for name in ("prompt", *NEEDED)
        if (name in record or name in NEEDED) and (problem := _problem(record, name))
    ]
    if problems:
        return problems
    prompt, chosen, rejected = (record.get(name) for name in ("prompt", *NEEDED))
    if isinstance(chosen, str) != isinstance(rejected, str):
        return [refusal("two_kinds")]
    found = (
        _of_texts(prompt, str(chosen), str(rejected))
        if isinstance(chosen, str)
        else _of_messages(prompt, list(chosen or ()), list(rejected or ()))
    )
    if isinstance(found, Preference):
        return found if found.source.strip() else [refusal("empty", field="the prompt")]
    return [found]


def _of_texts(prompt: Any, chosen: str, rejected: str) -> Preference | Reason:
    if prompt is not None:
        return Preference(prompt if isinstance(prompt, str) else transcript(prompt), chosen, rejected)
    common = len(_common_prefix(chosen, rejected))
    turns = [turn for turn in _TURN.finditer(chosen) if turn.end() <= common]
    if not turns:
        return refusal("no_common_conversation")
    begin, end = turns[-1].start(), turns[-1].end()
    return Preference(chosen[:begin].strip(), chosen[end:].strip(), rejected[end:].strip())


def _of_messages(prompt: Any, chosen: Messages, rejected: Messages) -> Preference | Reason:
    common = len(_common_prefix(chosen, rejected))
    common = min(common, len(chosen) - 1, len(rejected) - 1)  # two answers may be equal
    before = chosen[:common]
    if not before and prompt is None:
        return refusal("no_common_message")
    source = transcript(before) if before else prompt if isinstance(prompt, str) else transcript(prompt)
    return Preference(source, *(transcript(one[common:]) for one in (chosen, rejected)))


def _common_prefix(one: Sequence[Any], other: Sequence[Any]) -> Sequence[Any]:
    """Return the common prefix of two sequences."""
    length = next((place for place, both in enumerate(zip(one, other, strict=False)) if both[0] != both[1]), None)
    return one[: min(len(one), len(other)) if length is None else length]


def transcript(messages: Messages) -> str:
    """Return messages as a transcript; a single one without its role."""
    if len(messages) == 1:
        return str(messages[0]["content"])
    return "\n\n".join(
        f"{_ROLES.get(str(one['role']).lower(), str(one['role']))}: {one['content']}" for one in messages
    )


def _problem(record: dict[str, Any], name: str) -> Reason | None:
    if name not in record:
        return refusal("missing", field=name)
    value, may_be_blank = record[name], name in NEEDED  # an answer may be empty, a prompt not
    if not isinstance(value, list):
        return text_problem(value, name, may_be_blank=may_be_blank)
    if not value:
        return refusal("empty_list", field=name)
    for one in value:
        if not isinstance(one, dict) or not isinstance(one.get("role"), str):
            return refusal("not_messages", field=name)
        content, role = (f"{name} has a message whose {part}" for part in ("content", "role"))
        if problem := text_problem(one.get("content"), content, may_be_blank=may_be_blank):
            return problem
        if problem := text_problem(one["role"], role):
            return problem
    return None
