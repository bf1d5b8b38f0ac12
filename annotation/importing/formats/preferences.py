"""Preference pairs: a prompt with two answers, or a conversation with two endings.

An answer is a text, or a list of messages `{"role", "content"}` that may repeat the conversation. Without a `prompt`,
the source is the common beginning of the two transcripts, up to the last speaker.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from annotation.core.conversations import as_content, content_problem
from annotation.core.reasons import Reason
from annotation.core.refusals import refusal

NEEDED = ("chosen", "rejected")
# A line that starts a turn in a written conversation, such as "Assistant:".
_TURN = re.compile(r"(?:^|\n)[ \t]*(?:Human|User|Assistant|AI|Bot)[ \t]*:", re.IGNORECASE)

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
        return Preference(as_content(prompt), better, rejected)
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
    return Preference(as_content(before or prompt), *(as_content(item[common:]) for item in (better, rejected)))


def _common_prefix(first: Sequence[Any], second: Sequence[Any]) -> Sequence[Any]:
    """Return the common prefix of two sequences."""
    length = next((index for index, both in enumerate(zip(first, second, strict=False)) if both[0] != both[1]), None)
    return first[: min(len(first), len(second)) if length is None else length]


def _problem(record: dict[str, Any], name: str) -> Reason | None:
    if name not in record:
        return refusal("missing", field=name)
    return content_problem(record[name], name, may_be_blank=name in NEEDED)  # an answer may be empty, a prompt not
