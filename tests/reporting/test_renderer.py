"""The program that draws pictures: started when needed, ended when idle, and never a part of the process that asks."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import IO, cast

import pytest

from reporting.core import renderer
from reporting.core.charts import VERSION, empty_chart, to_svg
from reporting.core.renderer import Renderer

pytestmark = pytest.mark.slow

SPEC = empty_chart("Ratings of <systems>", "no rating yet", "light")


@pytest.fixture(scope="module")
def drawing() -> Iterator[Renderer]:
    """One for all tests, each of which leaves it a program that runs: to start one takes a second."""
    made = Renderer()
    yield made
    made.close()


def svg(drawing: Renderer) -> bytes:
    return drawing.draw("vegalite_to_svg", SPEC, vl_version=VERSION, allowed_base_urls=[])


def test_pictures_are_drawn_in_another_process(drawing: Renderer) -> None:
    first = svg(drawing)
    assert first.startswith(b"<svg")
    assert svg(drawing) == first == to_svg(SPEC).encode()
    assert "vl_convert" not in sys.modules


@pytest.mark.weekly
def test_an_idle_program_is_ended_and_the_next_picture_starts_one(
    drawing: Renderer, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, program = svg(drawing), drawing.program
    assert program
    with monkeypatch.context() as patch:
        patch.setattr(drawing, "idle_seconds", 0.001)
        assert svg(drawing) == first
    assert program.wait(timeout=60) == -signal.SIGKILL
    assert svg(drawing) == first


@pytest.mark.weekly
def test_a_program_that_was_killed_is_started_again(drawing: Renderer) -> None:
    first, program = svg(drawing), drawing.program
    assert program
    program.kill()
    assert svg(drawing) == first
    assert drawing.program is not program


def test_what_cannot_be_drawn_is_an_error_and_the_next_picture_is_drawn(drawing: Renderer) -> None:
    drawing.draw("vegalite_to_svg", SPEC, vl_version=VERSION)
    program = drawing.program
    with pytest.raises(ValueError, match="Vega"):
        drawing.draw("vegalite_to_svg", {"mark": 5}, vl_version=VERSION)
    assert svg(drawing).startswith(b"<svg")
    assert drawing.program is program


def test_a_program_that_does_not_start_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renderer, "__file__", "/nowhere/renderer.py")
    with closing(Renderer()) as drawing, pytest.raises(EOFError, match="has ended"):
        svg(drawing)


def test_the_program_ends_with_the_process_that_started_it() -> None:
    command = [sys.executable, renderer.__file__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        cast("IO[bytes]", program.stdin).close()
        assert program.wait(timeout=60) == 0


def test_a_forked_process_starts_its_own(drawing: Renderer) -> None:
    svg(drawing)
    program = drawing.program
    drawing.forget()
    assert svg(drawing).startswith(b"<svg")
    assert drawing.program is not program
    assert program
    program.kill()
    program.communicate()
