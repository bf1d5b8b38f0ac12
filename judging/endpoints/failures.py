"""Classes of an endpoint's errors: transient, rejected or denied."""

import json
import re
from dataclasses import dataclass
from typing import Any

from annotation.core.reasons import Reason
from judging.core.constants import FILTERED, REJECTED, TOO_LONG
from judging.core.errors import AccessDenied, CallFailed, RejectedCall, TransientFailure

TRANSIENT_STATUSES = frozenset({408, 409, 425, 429})
DENIED_STATUSES = frozenset({401, 402, 403})
REQUEST_STATUSES = frozenset({400, 413, 415, 422, 451})  # this request is at fault: another one may be accepted
FILTER_STATUSES = REQUEST_STATUSES | {403}
LONGEST_HINT = 2000  # characters of a message that are searched
CAMEL = r"(?<=[a-z])(?=[A-Z])"

# These are searched in plain words: `plain_words`. They are compiled when the first error comes, not at each start.
FILTER = (
    r"content (?:filter|policy|management)|moderation|responsible ai|flagged|prohibited content|data inspection"
    r"|safety (?:system|filter|reason|policy)|(?:inappropriate|sensitive) content"
)
CONTEXT = r"context (?:length|window|size|limit)"
LENGTH = (
    rf"{CONTEXT}|maximum context|model max length|input length|string above max length|reduce the length"
    r"|(?:prompt|inputs?|request|messages?|body|entity|payload|text|conversation) (?:\w+ ){0,3}too (?:long|large|big)"
    r"|too many (?:input |prompt )?tokens|(?:input|prompt) tokens? (?:\w+ ){0,4}exceed"
    r"|exceeds? (?:\w+ ){0,4}(?:tokens?|context|input|maximum length)|less than \d+ tokens|^too long"
)
LENGTH_OF_ANSWER = r"^(?:\w+ ){0,6}max (?:completion |output |new )?tokens"
CONTEXT_EXCEEDED = rf"exceed\w* (?:\w+ ){{0,6}}{CONTEXT}|{CONTEXT} (?:\w+ ){{0,3}}exceed"
NO_CREDIT = (
    r"insufficient (?:quota|credits?|balance|funds)|exceeded current quota|billing (?:hard limit|not active)"
    r"|payment required"
)
DENIED_NAMES = (
    rf"{NO_CREDIT}|authenticat|unauthori[sz]ed|(?:invalid|incorrect|expired) api key|api key (?:invalid|expired)"
)
# Unless the endpoint says how long to wait: some say the same of a limit per minute.
DENIED_MESSAGES = (
    r"insufficient (?:\w+ ){0,2}(?:quota|credits?|balance|funds)|credit balance is too low|out of credits"
    r"|exceeded your current quota|recharge your (?:account|balance)|invalid authentication"
    r"|api key (?:is )?(?:not valid|invalid|expired|not found|missing)|(?:invalid|incorrect|expired|no) (?:x )?api key"
)
# An error without an HTTP status is classified by its code, type or message, in this order.
ERROR_WORDS = (
    (402, rf"{NO_CREDIT}|billing|out of credits"),
    (401, r"api key|unauthori[sz]ed|authenticat|permission|access denied|forbidden"),
    (429, r"rate limit|too many requests|throttl|quota exceeded"),
    (400, FILTER),
    (503, r"overloaded|unavailable|timed? ?out|internal|server error|try again|capacity"),
    (404, r"not found|does not exist|no such|unknown model|invalid model"),
    (400, r"invalid|bad request|unsupported|not support|context length|too long|unprocessable"),
)


@dataclass(frozen=True)
class ErrorDetails:
    """An error as an endpoint tells it.

    names   : its codes, type and reasons, that of the error itself first
    message : for people; `raw`: the answer of a provider behind the endpoint
    delay   : text of the time to wait; empty without one
    """

    names: tuple[str, ...] = ()
    message: str = ""
    raw: str = ""
    delay: str = ""

    @property
    def hints(self) -> tuple[str, ...]:
        """Everything that tells what is wrong, the most definite first."""
        return (*self.names, self.message, self.raw)


def details_of(error: object) -> ErrorDetails:
    """Read an error in a body: an object, as most have it, or a text."""
    if not isinstance(error, dict):
        return ErrorDetails(message=str(error or ""))
    inner = error.get("innererror")
    entries = [entry for entry in _list(error.get("details")) if isinstance(entry, dict)]
    names = [*map(error.get, ("code", "type", "status")), *(entry.get("reason") for entry in entries)]
    names.append(inner.get("code") if isinstance(inner, dict) else None)
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    return ErrorDetails(
        tuple(str(name) for name in names if isinstance(name, str | int) and name not in ("", True, False)),
        str(error.get("message") or error.get("detail") or ""),
        "" if raw is None else raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False),
        next((str(entry["retryDelay"]) for entry in entries if "retryDelay" in entry), ""),
    )


def error_of(body: object) -> ErrorDetails:
    """Return the details in a body of an HTTP error. Gemini wraps it in a list."""
    body = body[0] if isinstance(body, list) and body else body
    if not isinstance(body, dict):
        return ErrorDetails(message=str(body or ""))
    error = body.get("error")
    return details_of(error if isinstance(error, dict) else {"message": error, **body})


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def status_of(error: ErrorDetails) -> int | None:
    """Return the HTTP status that an error's code, type or message stands for, or `None`."""
    return next((status for hint in error.hints if (status := _status_of_hint(hint)) is not None), None)


def _status_of_hint(hint: str) -> int | None:
    if hint.isdecimal():
        return int(hint) if len(hint) == 3 and 400 <= int(hint) < 600 else None
    return next((status for status, words in ERROR_WORDS if re.search(words, plain_words(hint))), None)


def plain_words(hint: str) -> str:
    """Split a code such as `RateLimitError` or `rate_limit_exceeded` into lower-case words."""
    return " ".join(re.findall(r"[a-z0-9]+", re.sub(CAMEL, " ", hint[:LONGEST_HINT]).lower()))


def failure_of(
    status: int, reason: Reason | str, *, kind: str, error: ErrorDetails | None = None, wait: float | None = None
) -> CallFailed:
    """Return the failure for an HTTP status and an error.

    wait : seconds that the endpoint asks to wait
    """
    error = error or ErrorDetails()
    hints = [plain_words(hint) for hint in error.hints]
    if status in FILTER_STATUSES and any(re.search(FILTER, hint) for hint in hints):
        return RejectedCall(reason, kind=kind, cause=FILTERED)
    if status in DENIED_STATUSES or _is_denied(error, status, wait):
        return AccessDenied(reason, kind=kind)
    if _is_too_long(status, hints):
        return RejectedCall(reason, kind=kind, cause=TOO_LONG)
    if status in TRANSIENT_STATUSES or status >= 500:
        return TransientFailure(reason, retry_after=wait, throttled=status == 429, kind=kind)
    return RejectedCall(reason, kind=kind, request_only=status in REQUEST_STATUSES, cause=REJECTED)


def _is_denied(error: ErrorDetails, status: int, wait: float | None) -> bool:
    if status >= 500:
        return False
    if any(re.search(DENIED_NAMES, plain_words(name)) for name in error.names):
        return True
    return wait is None and any(re.search(DENIED_MESSAGES, plain_words(text)) for text in (error.message, error.raw))


def _is_too_long(status: int, hints: list[str]) -> bool:
    if status == 429:
        return any("request too large" in hint for hint in hints)
    if status >= 500:
        return any(re.search(CONTEXT_EXCEEDED, hint) for hint in hints)
    if status == 413:
        return True
    return status in REQUEST_STATUSES and any(
        re.search(LENGTH, hint) and (not re.search(LENGTH_OF_ANSWER, hint) or "context" in hint) for hint in hints
    )
