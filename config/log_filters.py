"""What must not stand in a log: an address that signs somebody in is as good as a password while it works."""

import logging
import re

MASK = "[…]"
_SECRETS = re.compile(
    r"(/join/[^/\s]+/|/mturk/[^/\s]+/(?:task|status)/)[^/\s?&#\"']+|(sesame(?:=|%3D))[^\s&#\"']+",
    re.IGNORECASE,
)


def masked(text: str) -> str:
    """Return a text without the tokens of the links in it."""
    return _SECRETS.sub(lambda found: f"{found[1] or found[2]}{MASK}", text)


class MaskTokens(logging.Filter):
    """Takes the tokens of one-time links, tasks and sign-in links out of every line that a handler writes."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Rewrite the record's message, and its traceback, where they hold a token."""
        message = record.getMessage()
        if (clean := masked(message)) != message:
            record.msg, record.args = clean, None
        if record.exc_info and not record.exc_text:
            # What a handler finds here it takes instead of writing the traceback itself.
            record.exc_text = masked(logging.Formatter().formatException(record.exc_info))
        elif record.exc_text:
            record.exc_text = masked(record.exc_text)
        return True
