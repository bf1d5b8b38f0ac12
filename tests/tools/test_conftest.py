"""The suite itself: no test reaches another machine, and each run has its own database."""

import socket

import pytest
from django.conf import settings
from django.db import connection

pytestmark = pytest.mark.engine


def test_look_up_of_another_machine_is_refused() -> None:
    with pytest.raises(RuntimeError, match="only look up this machine"):
        socket.create_connection(("tandem.invalid", 80), timeout=1)


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
@pytest.mark.parametrize("method", ["connect", "connect_ex"])
def test_connection_to_another_machine_is_refused(family: socket.AddressFamily, method: str) -> None:
    # Addresses to which no connection can be made, should the guard be gone: broadcast, and multicast on this machine.
    address = ("255.255.255.255", 9) if family == socket.AF_INET else ("ff01::1", 9)
    with socket.socket(family) as outward, pytest.raises(RuntimeError, match="only connect to this machine"):
        getattr(outward, method)(address)


def test_connection_to_this_machine_is_allowed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        assert client.getpeername() == server.getsockname()


@pytest.mark.django_db
def test_database_is_not_the_one_of_the_installation() -> None:
    name = str(connection.settings_dict["NAME"])
    if connection.vendor == "sqlite":
        assert not name.startswith(str(settings.DATA_DIR))
        assert connection.get_autocommit() is False
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA database_list")
            assert cursor.fetchone()[2] == name  # a file, so that threads have connections of their own
    else:
        assert name.startswith("test_")
