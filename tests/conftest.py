"""What holds for every test: no socket leaves this machine, each run has its own database, and draws are repeatable."""

import base64
import gc
import ipaddress
import json
import os
import random
import re
import secrets
import socket
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.test import Client, override_settings
from django.utils import translation
from hypothesis import settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants
from whitenoise.middleware import WhiteNoiseMiddleware

from annotation.models import Study
from reporting.core.renderer import RENDERER
from tests import migrated
from tests.factories import make_user, signed_in
from tests.flush import quick_flush
from tests.rows import undone_at_the_end
from tools.find_chromium import find_chromium

# `make test-llm`, `make test-models` and `make fuzz` name these: they take models of 130 and 100 MB, or minutes.
collect_ignore = ["fuzz", "llm", "models"]
# Properties try the same examples in each run (in `make test-all` 200), and none is cut off on a slow day.
EXAMPLES = int(os.environ.get("TEST_EXAMPLES", "20"))
settings.register_profile("repeatable", deadline=None, derandomize=True, max_examples=EXAMPLES)
settings.load_profile("repeatable")
TESTS = Path(__file__).parent
BROWSER_TESTS, FUZZ_TESTS = (TESTS / name for name in ("browser", "fuzz"))
DATABASE_FIXTURES = {"db", "transactional_db", "live_server", "django_db_setup"}
CHROMIUM_ARGUMENTS = [
    "--no-sandbox",  # Chromium refuses to be root's without it; it only ever sees pages of the test server
    "--disable-gpu",
    "--disable-dev-shm-usage",
    # Nothing below may look for a network that is not there.
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class SocketShut(RuntimeError):
    """A test tried to reach another machine."""


def is_loopback(host: object) -> bool:
    """Tell whether an address or a name stands for this machine."""
    if host in (None, "", b"", "localhost", b"localhost"):
        return True
    text = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host)
    try:
        return ipaddress.ip_address(text.split("%")[0]).is_loopback
    except ValueError:
        return False


def is_numeric(host: object) -> bool:
    """Tell whether a host is an address in one of its spellings (0177.0.0.1), which is read without a DNS query."""
    text = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host)
    try:
        socket.inet_aton(text)
    except OSError:
        return ":" in text
    return True


def refuse_other_machines(family: int, address: Any) -> None:
    """Raise `SocketShut` unless the address of a socket is on this machine."""
    if family in (socket.AF_INET, socket.AF_INET6) and not is_loopback(address[0]):
        raise SocketShut(f"a test may only connect to this machine, not to {address[0]!r}")


@pytest.fixture(scope="session", autouse=True)
def _sockets_only_to_loopback() -> Iterator[None]:
    connect, connect_ex, sendto, getaddrinfo = (
        socket.socket.connect,
        socket.socket.connect_ex,
        socket.socket.sendto,
        socket.getaddrinfo,
    )

    def guarded_connect(self: socket.socket, address: Any) -> None:
        refuse_other_machines(self.family, address)
        connect(self, address)

    def guarded_connect_ex(self: socket.socket, address: Any) -> int:
        refuse_other_machines(self.family, address)
        return connect_ex(self, address)

    def guarded_sendto(self: socket.socket, data: Any, *flags_and_address: Any) -> int:
        refuse_other_machines(self.family, flags_and_address[-1])
        return sendto(self, data, *flags_and_address)

    def guarded_getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_loopback(host) and not is_numeric(host):
            raise SocketShut(f"a test may only look up this machine, not {host!r}")
        return getaddrinfo(host, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded_connect)
        patch.setattr(socket.socket, "connect_ex", guarded_connect_ex)
        patch.setattr(socket.socket, "sendto", guarded_sendto)
        patch.setattr(socket, "getaddrinfo", guarded_getaddrinfo)
        yield


@pytest.fixture(scope="session", autouse=True)
def _made_files_apart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep files that are made of studies, and the log of erasures, out of the data folder."""
    folder = tmp_path_factory.mktemp("data")
    with override_settings(DATA_DIR=folder, ERASURE_LOG=folder / "erasures.jsonl"):
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_heartbeats() -> Iterator[None]:
    """Keep the thread that renews a job's lease from waiting for the transaction of a test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("annotation.jobs.work.BEAT_SECONDS", 3600.0)
        yield


@pytest.fixture(scope="session", autouse=True)
def _static_files_in_their_folders() -> Iterator[None]:
    """Serve static files from where they lie, so that no test needs them collected.

    They are listed once: each test client sets the program up again, and to list them takes 30 ms.
    """
    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    found: dict[str, Any] = {}
    find = WhiteNoiseMiddleware.add_files_from_finders

    def find_once(middleware: WhiteNoiseMiddleware) -> None:
        if not found:
            find(middleware)
            found.update(middleware.files)
        middleware.files.update(found)

    with (
        override_settings(STORAGES={**django_settings.STORAGES, "staticfiles": plain}, WHITENOISE_USE_FINDERS=True),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(WhiteNoiseMiddleware, "add_files_from_finders", find_once)
        yield


@pytest.fixture(scope="session", autouse=True)
def _pictures_drawn_once() -> Iterator[None]:
    """Keep each picture, and the program that draws them: it would end after a minute without one, and starts in half a second."""
    drawn: dict[str, bytes] = {}
    draw = RENDERER.draw

    def draw_once(function: str, what: Any, **options: Any) -> bytes:
        key = json.dumps([function, what, options], sort_keys=True)
        if key not in drawn:
            drawn[key] = draw(function, what, **options)
        return drawn[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RENDERER, "idle_seconds", 3600.0)
        patch.setattr(RENDERER, "draw", draw_once)
        yield
    RENDERER.close()


@pytest.fixture(autouse=True)
def _repeatable_draws(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw each test's keys, codes and seeds from its own name: a test that fails for some of them always fails.

    TEST_DRAWS=1 (or any other text) makes every test draw something else, which is how such tests are found.
    """
    draw_by_name(request.node.nodeid, monkeypatch)


def draw_by_name(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make keys, codes and seeds follow from a name and from TEST_DRAWS."""
    rng = random.Random(f"{os.environ.get('TEST_DRAWS', '')} {name}")
    random.seed(rng.random())

    def token_urlsafe(nbytes: int = 32) -> str:
        return base64.urlsafe_b64encode(rng.randbytes(nbytes)).rstrip(b"=").decode("ascii")

    monkeypatch.setattr(secrets, "token_urlsafe", token_urlsafe)
    monkeypatch.setattr(secrets, "token_hex", lambda nbytes=32: rng.randbytes(nbytes).hex())
    monkeypatch.setattr(secrets, "randbelow", rng.randrange)


@pytest.fixture(autouse=True)
def _default_language() -> Iterator[None]:
    """End each test in the default language: the last request's stays active in its thread."""
    yield
    translation.deactivate()


@pytest.fixture(scope="session", autouse=True)
def _cheap_passwords() -> Iterator[None]:
    """Hash passwords by MD5: Argon2 is meant to take a tenth of a second and a hundred megabytes each time."""
    cheap = ["django.contrib.auth.hashers.MD5PasswordHasher", *django_settings.PASSWORD_HASHERS]
    with override_settings(PASSWORD_HASHERS=cheap):
        yield


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings_parallel_suffix: None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Put SQLite's test database into a file: in memory, threads would share one connection and hide lock errors.

    The folder belongs to this run and, with xdist, to this worker.
    """
    if connection.vendor == "sqlite":
        connection.settings_dict["TEST"]["NAME"] = str(tmp_path_factory.mktemp("database") / "default.sqlite3")
        # No test outlives a power cut: its commits need not wait for the disk.
        connection.settings_dict["OPTIONS"]["init_command"] += " PRAGMA synchronous=OFF;"


@pytest.fixture(scope="session")
def django_db_keepdb(
    request: pytest.FixtureRequest, django_db_blocker: Any, django_db_modify_db_settings: None
) -> bool:
    """Start from a migrated database."""
    test = connection.settings_dict["TEST"]
    if connection.vendor == "sqlite":
        migrated.copy_file(Path(test["NAME"]))
        return True
    with django_db_blocker.unblock():
        test["TEMPLATE"] = migrated.template(connection)
    return bool(request.config.getvalue("reuse_db"))


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Empty the database in milliseconds after a test that commits."""
    with django_db_blocker.unblock(), quick_flush():
        yield
    connection.close()


@pytest.fixture(scope="module")
def module_rows(request: pytest.FixtureRequest, django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Keep what a fixture of a module stores for all tests of that module, each of which is rolled back to it.

    Such a fixture returns numbers of rows, and another one reads the rows for each test, which may change them. No test of the module may commit: what it stores would be rolled back, and other connections would not see it.
    """
    committing = [item.nodeid for item in request.session.items if item.path == request.path and commits(item)]
    assert not committing, f"commit beside rows of their module: {committing}"
    held = undone_at_the_end()
    with django_db_blocker.unblock():
        held.__enter__()
    with pytest.MonkeyPatch.context() as patch:
        draw_by_name(request.node.nodeid, patch)
        yield
    with django_db_blocker.unblock():
        held.__exit__(None, None, None)


@pytest.fixture(scope="module")
def stored(request: pytest.FixtureRequest, module_rows: None) -> Any:
    """Store once what `store` of a module makes."""
    return request.module.store()


@pytest.fixture
def study(stored: Study) -> Study:
    """Give the study that `store` of the module has made, as it is in this test."""
    return Study.objects.get(pk=stored.pk)


@pytest.fixture
def researcher(study: Study) -> Client:
    """A browser of someone who reads the study."""
    return signed_in(make_user("researcher", "researcher", study=study))


@pytest.fixture
def manager(study: Study) -> Client:
    """A browser of someone who administers the study."""
    return signed_in(make_user("manager", "study-admin", study=study))


def import_tests(config: pytest.Config) -> None:
    """Import the modules of a whole run, each worker from another one on: what is new is compiled once, not by each."""
    worker: dict[str, Any] = getattr(config, "workerinput", {})
    if not worker or config.args != ["tests"] or config.getoption("ignore"):
        return
    paths = sorted(path for path in TESTS.rglob("test_*.py") if path.relative_to(TESTS).parts[0] not in collect_ignore)
    first = len(paths) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
    for path in paths[first:] + paths[:first]:
        with suppress(Exception):  # the collection tells it
            import_module(".".join(path.relative_to(TESTS.parent).with_suffix("").parts))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no module of which a round runs nothing: not all slow ones in `make test-fast`, nor, on PostgreSQL, those that name neither a mark nor a fixture that commits."""
    named = config.option.markexpr
    if not collection_path.name.startswith("test_") or not (named == "not slow" or named.startswith("engine ")):
        return None
    text = collection_path.read_text(encoding="utf-8")
    if named == "not slow":
        return True if re.search(r"^pytestmark = .*\bslow\b", text, re.M) else None
    return True if not re.search("engine|transaction|live_server|open_a[st]", text) else None


def pytest_configure() -> None:
    """Draw no constants from the project's own code: examples of properties would change with it, and reading it takes seconds."""
    providers._get_local_constants = Constants  # type: ignore[assignment]


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[Any]:
    """Look for garbage among what tests make, and less often: thousands of tests and modules stay until the end."""
    gc.disable()
    import_tests(session.config)
    result = yield
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    gc.enable()
    return result


@pytest.hookimpl(tryfirst=True)  # before `-m` picks its tests
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that use a database through a fixture only, so that `-m django_db` finds each of them.

    Tests that commit are about what an engine does: locks, claims, threads. Slow tests come first: else one worker would end minutes after the others.
    """
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if fixtures & DATABASE_FIXTURES and item.get_closest_marker("django_db") is None:
            item.add_marker(pytest.mark.django_db)
        if commits(item):
            item.add_marker(pytest.mark.engine)


def commits(item: pytest.Item) -> bool:
    """Tell whether a test works outside the transaction that others are rolled back with."""
    mark = item.get_closest_marker("django_db")
    return "transactional_db" in getattr(item, "fixturenames", ()) or bool(mark and mark.kwargs.get("transaction"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    """Let browser tests, and no others, use the database although Playwright runs an event loop in their thread."""
    with pytest.MonkeyPatch.context() as patch:
        if item.path.is_relative_to(BROWSER_TESTS) or item.path.is_relative_to(FUZZ_TESTS):
            patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        return (yield)


@pytest.fixture(scope="session")
def chromium_options() -> dict[str, Any]:
    """Return the arguments of `playwright.chromium.launch`; without a Chromium the test fails and says how to get one."""
    return {"executable_path": find_chromium(), "args": CHROMIUM_ARGUMENTS}
