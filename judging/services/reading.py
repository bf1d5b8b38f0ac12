"""How an answer becomes a value, and a procedure's end a result: a verdict, or the reason why there is none."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from judging.errors import UnparsedVerdict
from judging.judges import Call, Outcome, Reply
from judging.judges.answers import is_refusal
from judging.models import Judgment

MAX_SAMPLES = 3
LONGEST_ANSWER = 100_000  # characters; some forms take long to look for in more, and no answer is that long


@dataclass(frozen=True)
class Reading:
    """How a cell ended. The outcome is in screen order, and there only when the cell is parsed.

    made : what was made on the way, in screen order, whatever came of it
    """

    status: str
    outcome: Outcome | None = None
    failure: str = ""
    made: Mapping[str, Any] | None = None


def parsed(outcome: Outcome) -> Reading:
    """Return the reading of a procedure that came to a verdict."""
    return Reading(Judgment.Status.PARSED, outcome, made=outcome.made)


def read_reply(call: Call, reply: Reply) -> Any:
    """Read an answer as its call says; one that is far too long, or shaped in a way that nothing reads, is unparsed.

    Raises: UnparsedVerdict
    """
    if len(reply.text) > LONGEST_ANSWER:
        raise UnparsedVerdict(f"an answer of {len(reply.text):,} characters; at most {LONGEST_ANSWER:,} are read")
    try:
        return call.read(reply)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        # The answer is stored: what stops here would stop the run again each time that it is taken up.
        raise UnparsedVerdict(f"an answer of a form that can't be read ({type(error).__name__})") from error


def unparsed(reply: Reply | None, reason: str) -> Reading:
    """Return the reading of an answer that could not be read; one that ran into a limit says so."""
    cut = "cut off at the length limit; " if reply is not None and reply.finish_reason == "length" else ""
    return Reading(Judgment.Status.UNPARSED, failure=f"{cut}{reason}")


def marked_refusal(reply: Reply) -> str:
    """Return the refusal that the API itself marks, apart from the text; empty when there is none."""
    choices = reply.response.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    refusal = message.get("refusal") if isinstance(message, dict) else None
    if isinstance(refusal, str) and refusal.strip():
        return refusal[:300]
    return "stopped by the endpoint's content filter" if reply.finish_reason == "content_filter" else ""


def worded_refusal(reply: Reply) -> str:
    """Return the opening of an answer that declines in words; to be asked only where nothing could be read in it."""
    return reply.text[:300] if is_refusal(reply.text) else ""
