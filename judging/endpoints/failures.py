"""Classes of an endpoint's errors (transient, rejected or denied), and how long it asks to wait. No network."""

import json
import math
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

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
THROTTLED = frozenset({429, 503})
UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
PART = r"(\d+(?:\.\d+)?)(h|ms|m|s|us|µs|ns)"
DURATION = re.compile(rf"(?:{PART})+", re.ASCII)
# OpenAI, Azure, Groq and OpenRouter; Anthropic; the draft of a standard.
RESET = re.compile(r"(?:x-)?ratelimit-reset(?:-[\w-]+)?|anthropic-ratelimit-[\w-]+-reset")
IN_MESSAGE = re.compile(
    rf"(?:try again|retry) (?:in|after) (?:(?P<duration>(?:{PART})+)|(?P<seconds>\d+(?:\.\d+)?) sec)", re.IGNORECASE
)
EPOCH = 1e9  # larger numbers are seconds since 1970, and still larger ones milliseconds


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
    inner, listed = error.get("innererror"), error.get("details")
    entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
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


def status_of(error: ErrorDetails) -> int | None:
    """Return the HTTP status that an error's code, type or message stands for, or `None`."""
    for hint in error.hints:
        if hint.isdecimal():
            if len(hint) == 3 and 400 <= int(hint) < 600:
                return int(hint)
            continue
        for status, words in ERROR_WORDS:
            if re.search(words, plain_words(hint)):
                return status
    return None


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
    is_denied = status < 500 and (
        any(re.search(DENIED_NAMES, plain_words(name)) for name in error.names)
        or (wait is None and any(re.search(DENIED_MESSAGES, plain_words(text)) for text in (error.message, error.raw)))
    )
    if status in DENIED_STATUSES or is_denied:
        return AccessDenied(reason, kind=kind)
    if _is_too_long(status, hints):
        return RejectedCall(reason, kind=kind, cause=TOO_LONG)
    if status in TRANSIENT_STATUSES or status >= 500:
        return TransientFailure(reason, retry_after=wait, throttled=status == 429, kind=kind)
    return RejectedCall(reason, kind=kind, request_only=status in REQUEST_STATUSES, cause=REJECTED)


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


def wait_of(status: int, headers: Mapping[str, str], error: ErrorDetails) -> float | None:
    """Return the seconds to wait before another call, or `None` where the endpoint doesn't say.

    Headers on limits come with other errors too, and tell nothing about these.
    """
    names = {name.lower(): value.strip() for name, value in headers.items()}
    milliseconds = names.get("retry-after-ms", "")
    if re.fullmatch(r"\d+(?:\.\d+)?", milliseconds):
        seconds: float | None = float(milliseconds) / 1000
    else:
        seconds = seconds_in(names.get("retry-after", ""))
    if seconds is None and status in THROTTLED:
        seconds = seconds_in(error.delay)
        if seconds is None and (match := IN_MESSAGE.search(error.message)):
            seconds = seconds_in(match["duration"] or match["seconds"])
        seconds = _until_reset(names) if seconds is None else seconds
    return None if seconds is None or not math.isfinite(seconds) else max(0.0, seconds)


def seconds_in(value: str) -> float | None:
    """Return seconds from now for a number, a duration such as 7m12s, a Unix time or a date, else `None`."""
    if DURATION.fullmatch(value):
        return sum(float(number) * UNITS[unit] for number, unit in re.findall(PART, value))
    try:
        seconds = float(value)
    except ValueError:
        for parse in (parsedate_to_datetime, datetime.fromisoformat):
            with suppress(ValueError, OverflowError):
                at = parse(value)
                return (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
        return None
    if not math.isfinite(seconds):  # "nan" is a number too
        return None
    if seconds < EPOCH:
        return seconds
    return seconds / (1000 if seconds > 1000 * EPOCH else 1) - datetime.now(UTC).timestamp()


def _until_reset(headers: Mapping[str, str]) -> float | None:
    """Return when the exhausted limits, or all if the headers don't say which, are reset."""
    resets = {
        name: seconds
        for name, value in headers.items()
        if RESET.fullmatch(name) and (seconds := seconds_in(value)) is not None
    }
    exhausted = [seconds for name, seconds in resets.items() if headers.get(name.replace("reset", "remaining")) == "0"]
    return max(exhausted or resets.values(), default=None)
