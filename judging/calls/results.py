"""Reading a reply into a call's value, and a cell's result: a verdict, or the reason why there is none."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from annotation.core.reasons import NO_REASON, Reason, reason
from judging.core.errors import UnparsedVerdict
from judging.methods import Call, Outcome, Reply
from judging.methods.parsing.answers import is_refusal
from judging.models import Judgment

MAX_SAMPLES = 3
THOUGHT_FIELDS = ("reasoning_content", "reasoning")  # of DeepSeek and llama.cpp; of vLLM, OpenRouter and Ollama
THOUGHT_PARTS = frozenset({"thinking", "reasoning"})
LONGEST_ANSWER = 200_000  # characters


@dataclass(frozen=True)
class Reading:
    """The end of a cell. Only parsed cells have an outcome (an `Outcome` in screen order for judgments).

    made       : the record of a table that was made, in screen order, whatever the outcome
    token_mass : see `Outcome`; of an unparsed cell, the mass that is too small
    cause, code : of a failed call that this is the result of; `code`: its kind
    """

    status: str
    outcome: Any = None
    failure: Reason = NO_REASON
    made: Mapping[str, Any] | None = None
    token_mass: float | None = None
    cause: str = ""
    code: str = ""


def parsed(outcome: Any) -> Reading:
    """Return the reading of a procedure that gave a result."""
    if not isinstance(outcome, Outcome):
        return Reading(Judgment.Status.PARSED, outcome)
    return Reading(Judgment.Status.PARSED, outcome, made=outcome.made, token_mass=outcome.token_mass)


def read_reply(call: Call, reply: Reply) -> Any:
    """Read a reply by its call's reader. One that is far too long or malformed is unparsed.

    Raises: UnparsedVerdict
    """
    if len(reply.text) > LONGEST_ANSWER:
        raise UnparsedVerdict(reason("answer_too_long", number=len(reply.text), most=LONGEST_ANSWER))
    try:
        return call.read(reply)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        # The answer is stored: any other error would stop the run each time that it is resumed.
        raise UnparsedVerdict(reason("answer_unreadable", error=type(error).__name__)) from error


def recurs(reply: Reply) -> bool:
    """Tell whether asking again would probably end the same way: the answer is cut off, or too long to be read."""
    return reply.is_cut_off or len(reply.text) > LONGEST_ANSWER


def unparsed(reply: Reply | None, why: Reason) -> Reading:
    """Return the reading of an unparsed reply, noting if it was cut off or held nothing but reasoning."""
    if reply is not None and not reply.text.strip() and has_thoughts(reply.response):
        why = reason("thoughts_alone")
    if reply is not None and reply.is_cut_off:
        why = reason("cut_off", why=why)
    return Reading(Judgment.Status.UNPARSED, failure=why)


def marked_refusal(reply: Reply) -> Reason:
    """Return a refusal that the API marks outside of the text, or `NO_REASON` without one."""
    message = message_in(reply.response)
    for part in (message, *parts_in(message)):
        if isinstance(refusal := part.get("refusal"), str) and refusal.strip():
            return reason("text", text=refusal[:300])
    return reason("content_filter") if reply.finish_reason == "content_filter" else NO_REASON


def has_thoughts(response: Mapping[str, Any]) -> bool:
    """Tell whether a response holds reasoning outside of its text, in a field or in content parts."""
    message = message_in(response)
    return any(message.get(name) for name in THOUGHT_FIELDS) or any(
        part.get("type") in THOUGHT_PARTS for part in parts_in(message)
    )


def message_in(response: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the message of the first choice, or an empty one."""
    choices = response.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    return message if isinstance(message, dict) else {}


def parts_in(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the parts of a message whose content is a list."""
    content = message.get("content")
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def worded_refusal(reply: Reply) -> Reason:
    """Return the start of a reply that declines in words. To be called only for unparsed replies."""
    return reason("text", text=reply.text[:300]) if is_refusal(reply.text) else NO_REASON
