"""The JSONL files of a provider's Batch API: requests and answers, one per line. No network."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from annotation.core.reasons import reason
from judging.calls.requests import Request
from judging.core.errors import CallFailed, TransientFailure
from judging.endpoints.chat_answers import ChatAnswer, Scrub, one_line, read_answer, scrub_json
from judging.endpoints.failures import error_of, failure_of, plain_words

MOST_REQUESTS = 10_000  # in one file
MOST_BYTES = 90_000_000
QUEUE_LIMIT = re.compile(r"token limit exceeded|enqueued tokens?|batch queue|too many (?:enqueued|queued|batch)")
Lines = dict[str, ChatAnswer | CallFailed]  # what came back, by the requests' cache keys


@dataclass
class RequestFile:
    """A file of requests being filled.

    most : requests in it, if that is less than any file may hold
    """

    most: int = 0
    keys: list[str] = field(default_factory=list)
    lines: list[bytes] = field(default_factory=list)
    size: int = 0

    @property
    def is_full(self) -> bool:
        """Tell whether the file has reached its limits."""
        return len(self.keys) >= min(self.most or MOST_REQUESTS, MOST_REQUESTS) or self.size >= MOST_BYTES

    def add(self, request: Request) -> None:
        """Add a request as a line, with its cache key as id."""
        values = {"custom_id": request.key, "method": "POST", "url": "/v1/chat/completions", "body": request.body}
        line = json.dumps(values, ensure_ascii=True, separators=(",", ":")).encode("ascii") + b"\n"
        self.keys.append(request.key)
        self.lines.append(line)
        self.size += len(line)


def read_lines(content: str, scrub: Scrub) -> Iterator[tuple[str, ChatAnswer | CallFailed]]:
    """Parse a file of answers or errors. `scrub` is applied to every string. Lines that name no request are skipped."""
    for text in content.split("\n"):
        try:
            record = scrub_json(json.loads(text), scrub)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and isinstance(record.get("custom_id"), str):
            yield record["custom_id"], read_record(record)


def read_record(record: Mapping[str, Any]) -> ChatAnswer | CallFailed:
    """Return the answer in a line, or the failure, by the same rules as for a call."""
    error, response = record.get("error"), record.get("response")
    if not isinstance(response, dict):
        details = error if isinstance(error, dict) else {"code": None, "message": error}
        return TransientFailure(one_line(f"{details.get('code')}: {details.get('message')}", 300))
    status, body = response.get("status_code"), response.get("body")
    try:
        if status == 200:
            return read_answer(json.dumps(body), scrub=None)
        status = status if isinstance(status, int) else 500
        why = reason("http_error", status=status, text=one_line(json.dumps(body, ensure_ascii=False), 300))
        raise failure_of(status, why, kind=f"HTTP {status}", error=error_of(body))
    except CallFailed as failure:
        return failure


def batch_errors(record: Mapping[str, Any]) -> str:
    """Return the errors in a provider's record of a batch, with their codes."""
    errors = record.get("errors")
    data = errors.get("data") if isinstance(errors, dict) else None
    messages = [
        ": ".join(str(error[name]) for name in ("code", "message") if error.get(name))
        for error in data or []
        if isinstance(error, dict)
    ]
    return "; ".join(messages)[:500] or "it gives no reason"


def is_over_queue_limit(message: str) -> bool:
    """Tell whether an error says that too much is queued at the provider."""
    return bool(QUEUE_LIMIT.search(plain_words(message)))
