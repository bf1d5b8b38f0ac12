"""Opaque ids: what a rater's browser receives in place of names and row numbers."""

import secrets

from django.utils.crypto import salted_hmac


def new_key() -> str:
    """Random id with about 96 bits that carries no order, count or origin.

    It begins with a letter or a digit: on a command line, what begins with a dash is an option.
    """
    while not (key := secrets.token_urlsafe(12))[0].isalnum():
        pass
    return key


def owner_key(user_id: int | None) -> str:
    """Name an account towards its own browser, which may keep choices of several people until they are sent."""
    return salted_hmac("tandem.outbox", str(user_id)).hexdigest()[:16]


def message_key(message_id: int) -> str:
    """Name a message towards the browser of whoever it was sent to; its number would tell how many were sent."""
    return salted_hmac("tandem.message", str(message_id)).hexdigest()[:16]


def new_seed() -> int:
    """Random seed to be recorded where a caller named none; fits every database's integer."""
    return secrets.randbelow(2**31)
