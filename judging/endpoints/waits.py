"""Reading how long an endpoint asks to wait, from headers and errors. No network."""

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from judging.endpoints.failures import ErrorDetails

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


def wait_of(status: int, headers: Mapping[str, str], error: ErrorDetails) -> float | None:
    """Return the seconds to wait before another call, or `None` where the endpoint doesn't say.

    Headers on limits come with other errors too, and tell nothing about these.
    """
    names = {name.lower(): value.strip() for name, value in headers.items()}
    seconds = _milliseconds(names.get("retry-after-ms", ""))
    if seconds is None:
        seconds = seconds_in(names.get("retry-after", ""))
    if seconds is None and status in THROTTLED:
        seconds = seconds_in(error.delay)
        seconds = _in_message(error.message) if seconds is None else seconds
        seconds = _until_reset(names) if seconds is None else seconds
    return None if seconds is None else max(0.0, seconds)


def seconds_in(value: str) -> float | None:
    """Return seconds from now for a number, a duration such as 7m12s, a Unix time or a date, else `None`."""
    if DURATION.fullmatch(value):
        return sum(float(number) * UNITS[unit] for number, unit in re.findall(PART, value))
    try:
        seconds = float(value)
    except ValueError:
        return _until(value)
    if not math.isfinite(seconds):  # "nan" is a number too
        return None
    if seconds < EPOCH:
        return seconds
    return seconds / (1000 if seconds > 1000 * EPOCH else 1) - datetime.now(UTC).timestamp()


def _until(value: str) -> float | None:
    """Return the seconds until a date, of HTTP or of ISO 8601."""
    for parse in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            at = parse(value)
            return (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
        except (ValueError, OverflowError):
            continue
    return None


def _milliseconds(value: str) -> float | None:
    seconds = seconds_in(value) if re.fullmatch(r"\d+(?:\.\d+)?", value) else None
    return None if seconds is None else seconds / 1000


def _in_message(message: str) -> float | None:
    match = IN_MESSAGE.search(message)
    return seconds_in(match["duration"] or match["seconds"]) if match else None


def _until_reset(headers: Mapping[str, str]) -> float | None:
    """Return when the exhausted limits, or all if the headers don't say which, are reset."""
    resets = {
        name: seconds
        for name, value in headers.items()
        if RESET.fullmatch(name) and (seconds := seconds_in(value)) is not None
    }
    exhausted = [seconds for name, seconds in resets.items() if headers.get(name.replace("reset", "remaining")) == "0"]
    return max(exhausted or resets.values(), default=None)
