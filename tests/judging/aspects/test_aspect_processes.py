"""Distilling in real processes: killed and stopped half-way, on a database file of its own."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import migrated
from tests.fakes import StandIn
from tests.judging.aspects.test_aspect_sets import FIVE, answer
from tests.judging.runs.test_processes import Installation, end, installation_of

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("aspects")]  # what is prepared serves one process

IN_FLIGHT, HELD_AFTER, PAIRS = 4, 10, 12
CALLS = 2 * PAIRS + 1
DISTIL = ("make_aspects", "tea", "--endpoint", "local", "--pairs", str(PAIRS), "--in-flight", str(IN_FLIGHT))
QUEUE = """
from annotation.models import Study
from judging.models import Endpoint
from judging.aspects.tasks import queue_distilling
assert queue_distilling(Study.objects.get(), endpoint=Endpoint.objects.get(), pairs=12, by='rea')
"""


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
    made.run("shell", "-c", prepared + made.copy("prepared") + QUEUE + made.copy("queued"))
    return folder


def test_command_ended_twice_repeats_at_most_the_calls_in_flight(
    template: Path, tmp_path: Path, server: StandIn
) -> None:
    installation = installation_of(template / "prepared.sqlite3", tmp_path)
    for ends, (number, code) in enumerate([(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)], start=1):
        process = installation.start(*DISTIL)
        server.wait_for_calls(HELD_AFTER + ends * IN_FLIGHT)
        ended, _, err = end(process, number)
        assert ended == code
        assert "Traceback" not in err
        assert installation.rows("SELECT count(*) FROM judging_completion") == [(HELD_AFTER,)]
        assert installation.rows("SELECT count(*) FROM judging_aspectset") == [(0,)]
    server.release()
    out = installation.run(*DISTIL).splitlines()
    assert out[0].startswith(f"summarization.v1 added; cached {HELD_AFTER}, calls {CALLS - HELD_AFTER}, cost unknown")
    assert out[1:] == [f"- {aspect}" for aspect in FIVE]
    assert server.calls == CALLS + 2 * IN_FLIGHT


def test_stopped_worker_hands_its_task_to_the_next(template: Path, tmp_path: Path, server: StandIn) -> None:
    installation = installation_of(template / "queued.sqlite3", tmp_path)
    worker = installation.start("worker", "--interval", "0.05")
    server.wait_for_calls(HELD_AFTER + 8)
    code, _, err = end(worker, signal.SIGTERM)
    assert code == 0, err
    assert installation.rows("SELECT status FROM django_tasks_database_dbtaskresult") == [("READY",)]
    assert installation.rows("SELECT count(*) FROM judging_completion") == [(HELD_AFTER,)]
    server.release()
    installation.run("worker", "--interval", "0.05", "--batch")
    [(made_by,)] = installation.rows("SELECT made_by FROM judging_aspectset")
    told = json.loads(str(made_by))
    assert (told["calls"], told["cached"], told["by"]) == (CALLS, 0, "rea")
    assert server.calls == CALLS + 8
