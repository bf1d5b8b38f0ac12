"""Sampling texts in real processes that are killed and interrupted, on a database file of its own."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import migrated
from tests.fakes import Body, StandIn
from tests.judging.runs.test_processes import Installation, end, installation_of

pytestmark = [pytest.mark.slow, pytest.mark.weekly]

IN_FLIGHT, HELD_AFTER, INSTANCES, SAMPLES = 4, 10, 8, 3
CALLS = INSTANCES * SAMPLES
GENERATE = ("generate", "tea", "--system", "owl", "--endpoint", "local", "--template", "plain")
GENERATE = (*GENERATE, "--samples", str(SAMPLES), "--in-flight", str(IN_FLIGHT))


def write(body: Body) -> str:
    return f"Of {body['messages'][0]['content']} by {body['seed']}"


@pytest.fixture(scope="module")
def running() -> Iterator[StandIn]:
    """Run a stand-in for all tests of this module: its address is part of what is set up once."""
    with StandIn(answer=write) as server:
        yield server


@pytest.fixture
def server(running: StandIn) -> StandIn:
    """Return the stand-in, set to answer ten requests and then to keep its callers waiting."""
    running.reset(hold_after=HELD_AFTER)
    return running


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory, running: StandIn) -> Path:
    """Make a database with a study of source texts alone, once for this module."""
    folder = tmp_path_factory.mktemp("installation")
    lines = [json.dumps({"instance_id": f"i{number}", "source": f"Talk {number}."}) for number in range(INSTANCES)]
    (folder / "sources.jsonl").write_text("\n".join(lines), encoding="utf-8")
    made = Installation(folder)
    migrated.copy_file(folder / "tandem.sqlite3")
    prepared = made.script(
        ("import_sources", str(folder / "sources.jsonl"), "--study", "tea"),
        ("add_endpoint", "local", "--base-url", running.base_url, "--model", "small"),
    )
    made.run("shell", "-c", prepared + made.copy("prepared"))
    return folder


def test_command_ended_twice_repeats_at_most_the_calls_in_flight(
    template: Path, tmp_path: Path, server: StandIn
) -> None:
    installation = installation_of(template / "prepared.sqlite3", tmp_path)
    # Nothing is half-stored: an instance has all of its texts, or none.
    halves = "SELECT count(*) FROM annotation_generation GROUP BY instance_id HAVING count(*) <> 3"
    for ends, (number, code) in enumerate([(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)], start=1):
        process = installation.start(*GENERATE)
        server.wait_for_calls(HELD_AFTER + ends * IN_FLIGHT)
        ended, _, err = end(process, number)
        assert ended == code
        assert "Traceback" not in err
        assert installation.rows("SELECT count(*) FROM judging_completion") == [(HELD_AFTER,)]
        assert installation.rows(halves) == []
    server.release()
    out = installation.run(*GENERATE)
    # What the killed one paid may be counted here.
    assert f"calls {CALLS - HELD_AFTER}," in out or f"calls {CALLS}," in out
    assert server.calls == CALLS + 2 * IN_FLIGHT
    assert installation.rows("SELECT count(*) FROM annotation_generation") == [(CALLS,)]
    assert installation.rows(halves) == []
    assert installation.rows("SELECT calls FROM judging_generationrun") == [(CALLS,)]
