"""What the tests of judging share."""

import ipaddress

import pytest

from judging.hosts import Address, literal
from judging.services import endpoints

PUBLIC = ipaddress.ip_address("93.184.216.34")


def resolve_to_public(host: str, port: int) -> list[Address]:
    """Stand in for the name service, which tests don't reach: addresses as they are, names as a public address."""
    return [literal(host) or PUBLIC]


@pytest.fixture(autouse=True)
def _no_name_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "resolve", resolve_to_public)
