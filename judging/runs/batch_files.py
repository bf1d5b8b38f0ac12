"""The JSONL files of a provider's Batch API: requests and answers, one per line. No network."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from judging.core.errors import CallFailed, TransientFailure
from judging.endpoints.chat_answers import TRANSIENT_STATUSES, ChatAnswer, Scrub, one_line, read_answer, scrub_json


@dataclass(frozen=True)
class Line:
    """The response to one request: an answer, or the reason why there is none.

    key     : the request's cache key
    final   : not worth a retry
    charged : unusable response that has to be paid
    """

    key: str
    answer: ChatAnswer | None = None
    reason: str = ""
    final: bool = False
    charged: ChatAnswer | None = None


def request_line(key: str, body: Mapping[str, Any]) -> bytes:
    """Return a request as a line, with its cache key as id."""
    line = {"custom_id": key, "method": "POST", "url": "/v1/chat/completions", "body": body}
    return json.dumps(line, ensure_ascii=True, separators=(",", ":")).encode("ascii") + b"\n"


def read_lines(content: str, scrub: Scrub) -> Iterable[Line]:
    """Parse a file of answers or errors; `scrub` is applied to every string. Invalid lines are skipped."""
    for text in content.split("\n"):
        if text.strip() and (line := read_line(text, scrub)) is not None:
            yield line


def read_line(text: str, scrub: Scrub) -> Line | None:
    """Parse one line; `None` if it names no request."""
    try:
        record = scrub_json(json.loads(text), scrub)
    except (ValueError, RecursionError):
        return None
    key = record.get("custom_id") if isinstance(record, dict) else None
    if not isinstance(key, str):
        return None
    error, response = record.get("error"), record.get("response")
    if isinstance(response, dict) and response.get("status_code") == 200:
        try:
            return Line(key, read_answer(json.dumps(response.get("body")), scrub=None))
        except CallFailed as failure:
            final = not isinstance(failure, TransientFailure)
            return Line(key, reason=str(failure), final=final, charged=failure.charged)
    if isinstance(response, dict):
        status = response.get("status_code")
        final = isinstance(status, int) and 400 <= status < 500 and status not in TRANSIENT_STATUSES
        told = one_line(json.dumps(response.get("body"), ensure_ascii=False), 300)
        return Line(key, reason=f"HTTP {status}: {told}", final=final)
    code = error.get("code") if isinstance(error, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    return Line(key, reason=one_line(f"{code}: {message}", 300))
