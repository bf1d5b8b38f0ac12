"""Every command of every page runs, in the order of the page; a model is a stand-in on this machine."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.howto import ROOT, blocks, walk
from tests.standin.process import StandInProcess, running

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture(scope="module")
def standin() -> Iterator[StandInProcess]:
    with running() as process:
        yield process


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: object, standin: StandInProcess) -> None:
    """Be in an empty folder with the examples; judges may ask this machine, and keys are set."""
    settings.ENDPOINT_ALLOWLIST = ["127.0.0.1"]  # type: ignore[attr-defined]
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    standin.reset()


def test_tutorial_leads_to_findings_and_prints_what_it_shows(
    standin: StandInProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    page = "docs/tutorial/first_study.md"
    walk(page, {"http://localhost:8089/v1": standin.base_url})

    said = capsys.readouterr().out
    shown = [line for block in blocks(page, "text") for line in block.splitlines()]
    assert len(shown) > 10
    assert [line for line in shown if line not in said] == []
    assert Path("talks-export/judgments.csv").read_text(encoding="utf-8").count("\n") == 241
    assert (Path("talks-report") / "report.html").stat().st_size > 10_000
