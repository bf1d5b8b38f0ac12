"""Opaque ids: what a rater's browser receives in place of names and row numbers."""

import secrets


def new_key() -> str:
    """Random id with 96 bits that carries no order, count or origin."""
    return secrets.token_urlsafe(12)


def new_seed() -> int:
    """Random seed to be recorded where a caller named none; fits every database's integer."""
    return secrets.randbelow(2**31)
