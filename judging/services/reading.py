"""How an answer becomes a value, and a procedure's end a result: a verdict, or the reason why there is none."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from judging.judges import Outcome, Reply
from judging.judges.answers import is_refusal
from judging.models import Judgment

MAX_SAMPLES = 3


@dataclass(frozen=True)
class Reading:
    """How a cell ended. The outcome is in screen order, and there only when the cell is parsed."""

    status: str
    outcome: Outcome | None = None
    failure: str = ""


def parsed(outcome: Outcome) -> Reading:
    """Return the reading of a procedure that came to a verdict."""
    return Reading(Judgment.Status.PARSED, outcome)


def unparsed(reply: Reply | None, reason: str) -> Reading:
    """Return the reading of an answer that could not be read; one that ran into a limit says so."""
    cut = "cut off at the length limit; " if reply is not None and reply.finish_reason == "length" else ""
    return Reading(Judgment.Status.UNPARSED, failure=f"{cut}{reason}")


def marked_refusal(reply: Reply) -> str:
    """Return the refusal that the API itself marks, apart from the text; empty when there is none."""
    choices = reply.response.get("choices") or [{}]
    message: Mapping[str, Any] = choices[0].get("message") or {}
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal.strip():
        return refusal[:300]
    return "stopped by the endpoint's content filter" if reply.finish_reason == "content_filter" else ""


def worded_refusal(reply: Reply) -> str:
    """Return the opening of an answer that declines in words; to be asked only where nothing could be read in it."""
    return reply.text[:300] if is_refusal(reply.text) else ""
