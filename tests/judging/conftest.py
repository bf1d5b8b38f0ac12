"""What the tests of judging share."""

import ipaddress
from collections.abc import Iterator
from typing import Any

import pytest

from judging.endpoints import checks
from judging.endpoints.checks import Address, literal
from tests.standin.process import StandInProcess, running

PUBLIC = ipaddress.ip_address("93.184.216.34")


def resolve_to_public(host: str, port: int) -> list[Address]:
    """Stand in for the name service, which tests don't reach: addresses as they are, names as a public address."""
    return [literal(host) or PUBLIC]


@pytest.fixture(autouse=True)
def _no_name_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "resolve", resolve_to_public)


@pytest.fixture(scope="session")
def _standin_process() -> Iterator[StandInProcess]:
    with running() as process:
        yield process


@pytest.fixture
def standin(_standin_process: StandInProcess, settings: Any) -> StandInProcess:
    """Give an OpenAI-compatible server that answers at once and well, until it is told otherwise; it may be asked."""
    settings.ENDPOINT_ALLOWLIST = ["127.0.0.1"]
    _standin_process.reset()
    return _standin_process
