"""A few raters on two server processes, while those are killed and leases expire: a small `make stress`."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from django.db import connection

from tests import migrated
from tests.stress.run import Plan, stress, violations

# SQLite has one writer at a time: test_races.py and the browser's test_server_killed.py see on it what this is likely to see.
_weekly = [pytest.mark.weekly] if connection.vendor == "sqlite" else []
pytestmark = [pytest.mark.django_db, pytest.mark.engine, pytest.mark.slow, *_weekly]


@contextmanager
def migrated_database(folder: Path) -> Iterator[str]:
    """Make a migrated database for the server processes, on the engine of the tests."""
    if connection.vendor == "sqlite":
        migrated.copy_file(folder / "stress.sqlite3")
        yield f"sqlite:///{folder}/stress.sqlite3"
        return
    settings = connection.settings_dict
    account = f"{quote(settings['USER'])}:{quote(settings['PASSWORD'])}@{settings['HOST']}:{settings['PORT']}"
    name = f"stress_{secrets.token_hex(4)}"
    with psycopg.connect(f"postgresql://{account}/postgres", autocommit=True) as server:
        server.execute(f'CREATE DATABASE "{name}" TEMPLATE "{migrated.template(connection)}"')
        try:
            yield f"postgresql://{account}/{name}"
        finally:
            server.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def test_each_pair_gets_as_many_ratings_as_wanted_whatever_is_killed_or_sent_twice(tmp_path: Path) -> None:
    processes = 1 if connection.vendor == "sqlite" else 2
    plan = Plan(
        raters=6,
        hits=5,
        raters_per_hit=3,
        processes=processes,
        threads=4,
        kill_every=40,
        expire_every=20,
        expire_share=0.6,
    )
    with migrated_database(tmp_path) as url:
        counted, seen = stress(plan, url)

    assert violations(plan, counted, seen) == []
    assert seen.steps["lease expired"] > 0  # else nothing was tested
    assert seen.steps["server process killed"] > 0
    assert len(seen.acknowledged) >= 5 * 2 * 3
