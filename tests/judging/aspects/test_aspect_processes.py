"""Distilling in real processes, one of which is interrupted, on a database file of its own."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import migrated
from tests.fakes import StandIn
from tests.judging.aspects.test_aspect_sets import FIVE, answer
from tests.judging.runs.test_processes import Installation, end, installation_of

pytestmark = [pytest.mark.slow, pytest.mark.weekly]

IN_FLIGHT, HELD_AFTER, PAIRS = 4, 10, 12
CALLS = 2 * PAIRS + 1
DISTIL = ("make_aspects", "tea", "--endpoint", "local", "--pairs", str(PAIRS), "--in-flight", str(IN_FLIGHT))


@pytest.fixture(scope="module")
def running() -> Iterator[StandIn]:
    """Run a stand-in for all tests of this module: its address is part of what is set up once."""
    with StandIn(answer=answer) as server:
        yield server


@pytest.fixture
def server(running: StandIn) -> StandIn:
    """Return the stand-in, set to answer ten requests and then to keep its callers waiting."""
    running.reset(hold_after=HELD_AFTER)
    return running


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory, running: StandIn) -> Path:
    """Make a database with a study of twelve pairs, all of whose texts differ, once for this module."""
    folder = tmp_path_factory.mktemp("installation")
    lines = [
        {
            "instance_id": f"i{number}",
            "dataset": "talk",
            "source": f"Talk {number}.",
            "generations": {
                "heron": [f"Heron {number % 10} on {number}."],
                "wren": [f"Wren {number % 10} on {number}."],
            },
        }
        for number in range(PAIRS)
    ]
    (folder / "study.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    made = Installation(folder)
    migrated.copy_file(folder / "tandem.sqlite3")
    prepared = made.script(
        ("import_study", str(folder / "study.jsonl"), "--study", "tea"),
        ("add_endpoint", "local", "--base-url", running.base_url, "--model", "small"),
    )
    made.run("shell", "-c", prepared + made.copy("prepared"))
    return folder


def test_interrupted_command_repeats_at_most_the_calls_in_flight(
    template: Path, tmp_path: Path, server: StandIn
) -> None:
    installation = installation_of(template / "prepared.sqlite3", tmp_path)
    process = installation.start(*DISTIL)
    server.wait_for_calls(HELD_AFTER + IN_FLIGHT)
    code, _, err = end(process, signal.SIGINT)
    assert code == 130
    assert "Traceback" not in err
    assert installation.rows("SELECT count(*) FROM judging_completion") == [(HELD_AFTER,)]
    assert installation.rows("SELECT count(*) FROM judging_aspectset") == [(0,)]
    server.release()
    out = installation.run(*DISTIL).splitlines()
    assert out[0].startswith(f"summarization.v1 added; cached {HELD_AFTER}, calls {CALLS - HELD_AFTER}, cost unknown")
    assert out[1:] == [f"- {aspect}" for aspect in FIVE]
    assert server.calls == CALLS + IN_FLIGHT
