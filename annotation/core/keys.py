"""Opaque ids that browsers receive in place of names and primary keys, and random seeds."""

import secrets
from functools import lru_cache

from django.utils.crypto import salted_hmac


def new_key() -> str:
    """Return a random id of about 96 bits.

    It begins with a letter or a digit, so that a command line doesn't take it for an option.
    """
    while not (key := secrets.token_urlsafe(12))[0].isalnum():
        pass
    return key


def account_in_log(account_id: int | None) -> str:
    """Name an account in the server's log by its primary key, since user names may identify people."""
    return f"account {account_id}" if account_id is not None else "the command line"


@lru_cache(maxsize=10_000)
def owner_key(user_id: int | None) -> str:
    """Return the key of an account for its browser, whose outbox may hold unsent votes of several accounts."""
    return salted_hmac("tandem.outbox", str(user_id)).hexdigest()[:16]


def message_key(message_id: int) -> str:
    """Return the key of a message for its reader's browser. The primary key would tell how many were sent."""
    return salted_hmac("tandem.message", str(message_id)).hexdigest()[:16]


def new_seed() -> int:
    """Return a random seed that fits every database's integer."""
    return secrets.randbelow(2**31)
