"""The files of a provider's Batch API: one request a line going up, one answer a line coming back. No network."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from judging.clients import TRANSIENT_STATUSES, Answer, Scrub, one_line, read_answer, scrubbed
from judging.errors import TransientFailure


@dataclass(frozen=True)
class Line:
    """What came back for one request: an answer, or the reason why there is none.

    key   : the request's name in the cache
    final : asking again makes no sense
    """

    key: str
    answer: Answer | None = None
    reason: str = ""
    final: bool = False


def request_line(key: str, body: Mapping[str, Any]) -> bytes:
    """Write a request under its name."""
    line = {"custom_id": key, "method": "POST", "url": "/v1/chat/completions", "body": body}
    return json.dumps(line, ensure_ascii=True, separators=(",", ":")).encode("ascii") + b"\n"


def read_lines(content: str, scrub: Scrub) -> Iterable[Line]:
    """Read a file of answers or of failures; `scrub` goes over every text. Lines that make no sense are passed over."""
    for text in content.split("\n"):
        if text.strip() and (line := read_line(text, scrub)) is not None:
            yield line


def read_line(text: str, scrub: Scrub) -> Line | None:
    """Read one line; `None` for one that names no request."""
    try:
        record = scrubbed(json.loads(text), scrub)
    except (ValueError, RecursionError):
        return None
    key = record.get("custom_id") if isinstance(record, dict) else None
    if not isinstance(key, str):
        return None
    error, response = record.get("error"), record.get("response")
    if isinstance(response, dict) and response.get("status_code") == 200:
        try:
            return Line(key, read_answer(json.dumps(response.get("body")), scrub=None))
        except TransientFailure as failure:
            return Line(key, reason=str(failure))
    if isinstance(response, dict):
        status = response.get("status_code")
        final = isinstance(status, int) and 400 <= status < 500 and status not in TRANSIENT_STATUSES
        told = one_line(json.dumps(response.get("body"), ensure_ascii=False), 300)
        return Line(key, reason=f"HTTP {status}: {told}", final=final)
    code = error.get("code") if isinstance(error, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    return Line(key, reason=one_line(f"{code}: {message}", 300))
