"""Conversations: lists of messages (`role`, `content`), and the text that measures and judges read of them.

A conversation comes as JSON, is stored and exported as it came, and is shown as a chat. Its text is its transcript.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Self

from annotation.core.files.json_values import read_value
from annotation.core.files.lines import text_problem, unstorable_key
from annotation.core.reasons import Reason
from annotation.core.refusals import refusal

SPEAKERS = {"system": "System", "user": "User", "assistant": "Assistant", "tool": "Tool"}
MOST_MESSAGES = 1000

Message = Mapping[str, Any]


class Transcript(str):
    """The transcript of a conversation, with its messages as they came."""

    __slots__ = ("messages",)
    messages: list[Message]

    def __new__(cls, messages: list[Message]) -> Self:
        """Write the messages as text, with the names of `SPEAKERS`."""
        text = super().__new__(cls, transcript(messages))
        text.messages = messages
        return text


def transcript(messages: Sequence[Message], speakers: Mapping[str, str] = SPEAKERS) -> str:
    """Return messages as text: `Speaker: content`, with a blank line between two. A single message stands without its speaker.

    The text of judges' prompts. Pages show the messages, so that no content can imitate a turn there.
    """
    if len(messages) == 1:
        return content_of(messages[0])
    names = {**SPEAKERS, **speakers}
    return "\n\n".join(f"{names[role_of(message)]}: {content_of(message)}" for message in messages)


def role_of(message: Message) -> str:
    """Return a message's role, a key of `SPEAKERS`."""
    role = str(message["role"]).lower()
    return "user" if role == "human" else role


def content_of(message: Message) -> str:
    """Return a message's text, or that of its parts."""
    content = message["content"]
    return content if isinstance(content, str) else "\n\n".join(part["text"] for part in content)


def is_conversation(value: object) -> bool:
    """Tell whether a value is a list of objects, and so meant as messages."""
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def from_cell(value: Any) -> Any:
    """Return the messages that a cell of a table holds as JSON, or the value itself."""
    if not isinstance(value, str) or not value.lstrip().startswith("[{"):
        return value
    try:
        messages = read_value(value)
    except ValueError:
        return value
    is_messages = is_conversation(messages) and all({"role", "content"} <= message.keys() for message in messages)
    return messages if is_messages else value


def as_content(value: Any) -> str:
    """Return a checked text, or the transcript of checked messages."""
    return value if isinstance(value, str) else Transcript(value)


def stored_content(text: str, messages: str | None) -> str:
    """Return a stored text, or the transcript of its stored messages."""
    return text if messages is None else Transcript(json.loads(messages))


def stored_messages(content: str) -> str | None:
    """Return what is stored beside a text: the messages of a transcript as JSON, or None."""
    return json.dumps(content.messages, ensure_ascii=False) if isinstance(content, Transcript) else None


def raw_content(content: str) -> Any:
    """Return the value that a file has for a content: a text, or a list of messages."""
    return content.messages if isinstance(content, Transcript) else content


def as_messages(content: str, role: str) -> list[Message]:
    """Return the messages of a conversation, or a text as the one message of a role."""
    return content.messages if isinstance(content, Transcript) else [{"role": role, "content": content}]


def is_same_content(stored: str, content: str) -> bool:
    """Tell whether a content is the stored one. The transcript alone, as some exports have it, is."""
    return stored == content and stored_messages(content) in (None, stored_messages(stored))


def content_problem(value: object, field: str, *, may_be_blank: bool = False) -> Reason | None:
    """Return why the value of a field can't be stored as a text or a conversation, or None."""
    if not isinstance(value, list):
        return text_problem(value, field, may_be_blank=may_be_blank)
    if not value:
        return refusal("empty_list", field=field)
    if len(value) > MOST_MESSAGES:
        return refusal("too_many_messages", field=field, number=len(value), most=MOST_MESSAGES)
    for number, message in enumerate(value, start=1):
        if problem := _message_problem(message, field, number, may_be_blank=may_be_blank):
            return problem
    return text_problem(transcript(value), field, may_be_blank=True)


def _message_problem(message: object, field: str, number: int, *, may_be_blank: bool) -> Reason | None:
    if not isinstance(message, dict) or not {"role", "content"} <= message.keys():
        return refusal("not_messages", field=field)
    role, content = message["role"], message["content"]
    if not isinstance(role, str) or role_of(message) not in SPEAKERS:
        return refusal("not_role", field=field, message=number, role=repr(role)[:60], roles=", ".join(SPEAKERS))
    named = f"the content of message {number} of {field}"
    if broken := unstorable_key({"message": {key: value for key, value in message.items() if key != "content"}}):
        return refusal("unstorable_in", field=f"message {number} of {field}", key=repr(broken))
    if not isinstance(content, list):
        return text_problem(content, named, may_be_blank=may_be_blank)
    for part in content:
        if not isinstance(part, dict) or part.get("type") != "text":
            kind = part.get("type") if isinstance(part, dict) else part
            return refusal("not_text_part", field=named, kind=repr(kind)[:60])
        if unstorable_key({"part": part}):
            return refusal("unstorable_in", field=named, key=repr("text"))
        if problem := text_problem(part.get("text"), named, may_be_blank=may_be_blank):
            return problem
    return None if content else refusal("empty_list", field=named)
