"""The wheel: it holds all that Tandem needs, installs into an empty environment and serves the demo from there."""

import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import urllib.request
import venv
import zipfile
from contextlib import closing
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from annotation.core.version import VERSION
from tests import migrated
from tests.tools.helpers import ROOT, descendants, is_running, kill_if_running, try_links_of_the_demo, wait_until

pytestmark = pytest.mark.slow

ASSETS = ("docs", "examples", "locale", "static", "templates")
PACKAGES = ("analysis", "annotation", "config", "judging", "reporting", "tandem")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return next(folder.iterdir())


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel and the packages that it says it needs, and no other."""
    folder = tmp_path_factory.mktemp("installed") / "env"
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    packages = Path(
        subprocess.run(
            [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
    )
    install = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--offline", "--no-deps", "--no-cache"]
    subprocess.run([*install, "--python", python, wheel], check=True)
    # Else each of the demo's processes would compile every module.
    subprocess.run([python, "-m", "compileall", "-q", *(packages / name for name in PACKAGES)], check=True)
    ours = next(packages.glob("tandem_eval-*.dist-info"))
    for needed in required_by(metadata.PathDistribution(ours)):
        for top in {file.parts[0] for file in needed.files or [] if file.parts[0] != ".."}:
            if not (packages / top).exists():
                (packages / top).symlink_to(str(needed.locate_file(top)))
    return folder


def required_by(distribution: metadata.Distribution) -> list[metadata.Distribution]:
    """Return the installed distributions that one needs, and those that these need."""
    found: dict[tuple[str, str], metadata.Distribution] = {}
    waiting = [(distribution, "")]
    while waiting:
        needing, extra = waiting.pop()
        for text in needing.requires or []:
            wanted = Requirement(text)
            if wanted.marker is not None and not wanted.marker.evaluate({"extra": extra}):
                continue
            for its_extra in ["", *wanted.extras]:
                if (wanted.name, its_extra) not in found:
                    found[wanted.name, its_extra] = metadata.distribution(wanted.name)
                    waiting.append((found[wanted.name, its_extra], its_extra))
    return list(found.values())


def test_wheel_holds_every_file_of_the_packages_and_assets(wheel: Path) -> None:
    packages = {file for name in PACKAGES for file in (ROOT / name).rglob("*") if "__pycache__" not in file.parts}
    assets = {file for name in ASSETS for file in (ROOT / name).rglob("*")}
    expected = {file.relative_to(ROOT).as_posix() for file in packages if file.is_file()}
    expected |= {f"config/assets/{file.relative_to(ROOT).as_posix()}" for file in assets if file.is_file()}
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert expected - held == set()
    assert wheel.name == f"tandem_eval-{VERSION}-py3-none-any.whl"


@pytest.mark.weekly
def test_installed_demo_serves_its_pages_takes_its_links_ends_whole_and_keeps_its_data_in_the_home_folder(
    environment: Path, tmp_path: Path
) -> None:
    before = files_of(environment)
    home, current = tmp_path / "home", tmp_path / "current"
    data = home / data_folder()
    for folder in (data, current):
        folder.mkdir(parents=True)
    migrated.copy_file(data / "tandem.sqlite3")  # to make one takes longer than the rest of this test
    (current / "analysis.py").write_text("raise AssertionError('imported from the current folder')\n", encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    said = tmp_path / "said"
    with said.open("wb") as output:
        demo = subprocess.Popen(
            [environment / "bin" / "tandem", "demo", "--port", str(port)],
            cwd=current,
            env={"HOME": str(home), "PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    below: list[int] = []
    try:
        wait_until(lambda: "Ctrl-C" in said.read_text() or demo.poll() is not None, "the demo to serve")
        assert demo.poll() is None, said.read_text()
        # The web server with its two processes, and the worker.
        wait_until(lambda: len(descendants(demo.pid)) >= 4, "all programs to run")
        below = descendants(demo.pid)
        assert_pages_are_whole(f"http://127.0.0.1:{port}")
        try_links_of_the_demo(said.read_text())
        demo.send_signal(signal.SIGINT)
        assert demo.wait(timeout=60) == 0, said.read_text()
        assert "Traceback" not in said.read_text()
        for pid in below:
            wait_until(lambda pid=pid: not is_running(pid), f"process {pid} to end")
    finally:
        for pid in (demo.pid, *below):
            kill_if_running(pid)
        demo.wait()

    assert list(home.rglob("tandem.sqlite3")) == [data / "tandem.sqlite3"]
    with closing(sqlite3.connect(data / "tandem.sqlite3")) as database:
        assert database.execute("SELECT slug FROM annotation_study").fetchall() == [("example",)]
    assert [file.name for file in current.iterdir()] == ["analysis.py"]
    assert files_of(environment) == before


def assert_pages_are_whole(address: str) -> None:
    """Look at a page in German and at every file that it loads."""
    asked = urllib.request.Request(f"{address}/login/", headers={"Accept-Language": "de"})
    with urllib.request.urlopen(asked, timeout=60) as page:
        text = page.read().decode()
    assert '<html lang="de"' in text
    assert "Anmelden" in text
    loaded = re.findall(r'(?:href|src)="(/static/[^"]+)"', text)
    assert loaded
    for path in loaded:
        with urllib.request.urlopen(address + path, timeout=60) as file:
            assert file.read()


def data_folder() -> str:
    """Return where a person's data are kept, seen from their home folder."""
    return "Library/Application Support/tandem" if sys.platform == "darwin" else ".local/share/tandem"


def files_of(environment: Path) -> set[Path]:
    return set(Path(environment).rglob("*"))


@pytest.mark.weekly
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({}, ".local/share/tandem", id="the user's data folder"),
        pytest.param({"XDG_DATA_HOME": "{home}/elsewhere"}, "elsewhere/tandem", id="one that the desktop names"),
        pytest.param({"TANDEM_DATA_DIR": "{home}/mine"}, "mine", id="one that is named"),
    ],
)
def test_installed_tandem_reads_its_settings_in_the_data_folder(
    environment: Path, tmp_path: Path, given: dict[str, str], expected: str
) -> None:
    if sys.platform == "darwin" and "TANDEM_DATA_DIR" not in given:
        expected = data_folder()
    folder = tmp_path / expected
    folder.mkdir(parents=True)
    (folder / ".env").write_text("BASE_URL=https://rate.example\n", encoding="utf-8")
    asked = "from config import env; print(env.BASE_URL, env.DATA_DIR)"
    found = subprocess.run(
        [environment / "bin" / "python", "-c", asked],
        cwd=tmp_path,
        env={"HOME": str(tmp_path), **{name: value.format(home=tmp_path) for name, value in given.items()}},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.split(maxsplit=1) == ["https://rate.example", f"{folder}\n"]
