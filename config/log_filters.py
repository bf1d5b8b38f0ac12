"""What becomes of log records: login links and personal data are masked, and each is a line, of text or JSON.

The program's own lines name accounts by their numbers and raters by their codes. The filter is for lines that others
write: Django, the web server, a database's words in a traceback.
"""

import json
import logging
import re
from datetime import UTC, datetime

from annotation.core.request_ids import current

MASK = "[…]"
_TOKENS = (
    r"(?P<before>/join/[^/\s]+/|/mturk/[^/\s]+/(?:task|status)/|/login/new/[^/\s]+/|/account/address/)[^/\s?&#\"']+"
)
# Platforms' ids, search words and tokens all stand in a query: its names are enough to follow a fault.
_QUERY = r"(?P<name>[?&][\w.-]+=)[^\s&#\"']+"
_ROW = r"(?P<key>Key \([^)]*\)=\().*(?=\))|(?P<row>Failing row contains \().*(?=\))"  # PostgreSQL's details
_PEER = r"(?P<peer>Broken pipe from |request from ip=)(?:\([^)]*\)|[^\s,]+?(?=:?(?:\s|$)))"
# An e-mail address, or the name of an account that registered by itself. Bounded: a long word takes no long search.
_NAMED = r"[^\s@<>\"'(]{1,160}@@?[\w-]+(?:\.[\w-]+)*"
_PROLIFIC = r"\b[0-9a-f]{24}\b"
_PERSONAL = re.compile("|".join((_TOKENS, _QUERY, _ROW, _PEER, _NAMED, _PROLIFIC)), re.IGNORECASE)


def masked(text: str) -> str:
    """Return a text without tokens of links, values of queries, addresses and names of people."""
    return _PERSONAL.sub(lambda result: f"{result[result.lastgroup] if result.lastgroup else ''}{MASK}", text)


def unnamed_client(*_arguments: object) -> str:
    """Name a client in the log of failed sign-ins. Its real name is in the table of attempts only."""
    return "a client"


class MaskTokens(logging.Filter):
    """Masks tokens and personal data in every line that a handler writes."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Rewrite the record's message, and its traceback, where they hold any of it."""
        message = record.getMessage()
        if (clean := masked(message)) != message:
            record.msg, record.args = clean, None
        if record.exc_info and not record.exc_text:
            # What a handler finds here it takes instead of writing the traceback itself.
            record.exc_text = masked(logging.Formatter().formatException(record.exc_info))
        elif record.exc_text:
            record.exc_text = masked(record.exc_text)
        return True


class AddRequestId(logging.Filter):
    """Adds the id of the request that a line is about."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Set it on the record."""
        record.request_id = current.get()
        return True


class OneLine(logging.Filter):
    """Removes the stack trace from records."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Drop the exception. The record itself is kept."""
        record.exc_info = None
        return True


EXTRA = ("request_id", "method", "view", "status", "seconds")


class JsonLines(logging.Formatter):
    """Writes a record, with its request and traceback, as a JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **{name: value for name in EXTRA if (value := getattr(record, name, None)) is not None},
        }
        if error := record.exc_text or (record.exc_info and self.formatException(record.exc_info)):
            line["error"] = error
        return json.dumps(line, ensure_ascii=False, default=str)
