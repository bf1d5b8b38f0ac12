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
    prompt, better, rejected = (record.get(name) for name in ("prompt", *NEEDED))
    if isinstance(better, str) != isinstance(rejected, str):
        return [refusal("two_kinds")]
    preference = (
        _of_texts(prompt, str(better), str(rejected))
        if isinstance(better, str)
        else _of_messages(prompt, list(better or ()), list(rejected or ()))
    )
    if isinstance(preference, Preference):
        return preference if preference.source.strip() else [refusal("empty", field="the prompt")]
    return [preference]


def _of_texts(prompt: Any, better: str, rejected: str) -> Preference | Reason:
    if prompt is not None:
        return Preference(prompt if isinstance(prompt, str) else transcript(prompt), better, rejected)
    common = len(_common_prefix(better, rejected))
    turns = [turn for turn in _TURN.finditer(better) if turn.end() <= common]
    if not turns:
        return refusal("no_common_conversation")
    begin, end = turns[-1].start(), turns[-1].end()
    return Preference(better[:begin].strip(), better[end:].strip(), rejected[end:].strip())


def _of_messages(prompt: Any, better: Messages, rejected: Messages) -> Preference | Reason:
    common = len(_common_prefix(better, rejected))
    common = min(common, len(better) - 1, len(rejected) - 1)  # two answers may be equal
    before = better[:common]
    if not before and prompt is None:
        return refusal("no_common_message")
    source = transcript(before) if before else prompt if isinstance(prompt, str) else transcript(prompt)
    return Preference(source, *(transcript(item[common:]) for item in (better, rejected)))


def _common_prefix(first: Sequence[Any], second: Sequence[Any]) -> Sequence[Any]:
    """Return the common prefix of two sequences."""
    length = next((index for index, both in enumerate(zip(first, second, strict=False)) if both[0] != both[1]), None)
    return first[: min(len(first), len(second)) if length is None else length]


def transcript(messages: Messages) -> str:
    """Return messages as a transcript. A single one without its role."""
    if len(messages) == 1:
        return str(messages[0]["content"])
    return "\n\n".join(
        f"{_ROLES.get(str(message['role']).lower(), str(message['role']))}: {message['content']}"
        for message in messages
    )


def _problem(record: dict[str, Any], name: str) -> Reason | None:
    if name not in record:
        return refusal("missing", field=name)
    value, may_be_blank = record[name], name in NEEDED  # an answer may be empty, a prompt not
    if not isinstance(value, list):
        return text_problem(value, name, may_be_blank=may_be_blank)
    if not value:
        return refusal("empty_list", field=name)
    for message in value:
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            return refusal("not_messages", field=name)
        content, role = (f"{name} has a message whose {part}" for part in ("content", "role"))
        if problem := text_problem(message.get("content"), content, may_be_blank=may_be_blank):
            return problem
        if problem := text_problem(message["role"], role):
            return problem
    return None
