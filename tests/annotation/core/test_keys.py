"""Opaque ids."""

import secrets
from collections.abc import Iterator

import pytest

from annotation.core.keys import new_key


def test_key_never_looks_like_an_option_of_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: Iterator[str] = iter(["-gkqXWgHBmzuH", "--g", "_kqXW", "7-_x"])
    monkeypatch.setattr(secrets, "token_urlsafe", lambda _nbytes: next(drawn))
    assert new_key() == "7-_x"
