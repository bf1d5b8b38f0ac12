"""The thread that repeats: an error does not end it, and it can be told to end."""

import threading

import pytest

from annotation.core.tasks.processes import RepeatingThread


def test_an_error_is_logged_and_the_next_turn_comes(caplog: pytest.LogCaptureFixture) -> None:
    calls: list[str] = []
    came_again = threading.Event()

    def work() -> None:
        calls.append(threading.current_thread().name)
        if len(calls) == 1:
            raise ConnectionError("the database is away")
        came_again.set()

    thread = RepeatingThread("requeueing", 0.001, work)
    thread.start()
    assert came_again.wait(60)
    thread.end(timeout=60)
    assert not thread.is_alive()
    assert set(calls) == {"requeueing"}
    assert "requeueing failed; trying again" in caplog.text
    assert "the database is away" in caplog.text


def test_a_thread_told_to_end_does_not_wait_for_its_next_turn() -> None:
    calls: list[None] = []
    thread = RepeatingThread("erasure", 3600, lambda: calls.append(None))
    thread.start()
    thread.end(timeout=60)
    assert not thread.is_alive()
    assert not calls
