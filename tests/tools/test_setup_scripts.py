"""Finding a Python, and what `make demo` refuses before it does anything slow."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools.helpers import ROOT

pytestmark = pytest.mark.slow

SHELL_TOOLS = ("sh", "sed", "dirname", "make", "id", "cat", "cksum", "awk", "mktemp", "rm")
OLD = '#!/bin/sh\ncase $1 in --version) echo "Python 3.9.2";; *) printf "3.9\\n/usr/bin/python3\\n";; esac\n'
BROKEN = "#!/bin/sh\necho 'no such version' >&2\nexit 127\n"
WORKING = f'#!/bin/sh\nexec "{sys.executable}" "$@"\n'


def answering(*, optimized: bool, venv: bool = True) -> str:
    """Return a script that answers, with its own path, as a Python that was compiled so."""
    return f"""#!/bin/sh
case $2 in
    *version_info*) printf "3.12\\n%s\\n" "$0" ;;
    *optimizations*) exit {int(not optimized)} ;;
    *ensurepip*) exit {int(not venv)} ;;
esac
"""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone with nothing installed: the files that run before there is a virtual environment."""
    folder = tmp_path / "clone"
    shutil.copytree(ROOT / "tools", folder / "tools")
    shutil.copytree(ROOT / "requirements", folder / "requirements")
    shutil.copy(ROOT / "Makefile", folder)
    return folder


def run(
    command: list[str], clone: Path, pythons: dict[str, str], **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a command in the clone where the only Pythons are the given scripts."""
    folder = clone.parent / "bin"
    folder.mkdir()
    for name in SHELL_TOOLS:
        path = shutil.which(name)
        assert path is not None, name
        (folder / name).symlink_to(path)
    for name, script in pythons.items():
        (folder / name).write_text(script)
        (folder / name).chmod(0o755)
    kept = {name: os.environ[name] for name in ("HOME", "TMPDIR") if name in os.environ}
    return subprocess.run(
        command,
        cwd=clone,
        env={**kept, "PATH": str(folder), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


FIND = ["sh", "tools/find_python.sh"]


@pytest.mark.parametrize("target", ["demo", "run", "install", "test"])
def test_old_python_is_refused_in_one_line(clone: Path, target: str) -> None:
    made = run(["make", target], clone, {"python3": OLD})
    assert made.returncode != 0
    said = [line for line in made.stderr.splitlines() if not line.startswith("make")]
    assert said == [
        "Tandem needs Python 3.11 or newer; found here: python3 is 3.9. "
        "Install one, or name one: PYTHON=/path/to/python3.11"
    ]
    assert not (clone / ".venv").exists()


def test_no_python_at_all_is_said_in_one_line(clone: Path) -> None:
    found = run(FIND, clone, {})
    assert found.returncode == 1
    assert len(found.stderr.splitlines()) == 1
    assert "found here: none" in found.stderr


@pytest.mark.parametrize(
    "pythons",
    [
        pytest.param({"python3": WORKING}, id="plain"),
        pytest.param({"python3": OLD, "python3.11": WORKING}, id="beside an old one"),
        pytest.param({"python3": WORKING, "python3.12": BROKEN}, id="beside a name that does not run"),
        pytest.param({"python3": WORKING, "python3.13": OLD}, id="beside a name that lies"),
    ],
)
def test_python_that_works_is_found(clone: Path, pythons: dict[str, str]) -> None:
    found = run(FIND, clone, pythons)
    assert found.returncode == 0, found.stderr
    assert os.path.samefile(found.stdout.strip(), sys.executable)


@pytest.mark.parametrize(
    ("pythons", "taken"),
    [
        pytest.param(
            {"python3.13": answering(optimized=False), "python3": answering(optimized=True)}, "python3", id="optimized"
        ),
        pytest.param(
            {"python3.13": answering(optimized=True, venv=False), "python3": answering(optimized=False)},
            "python3",
            id="that can make virtual environments",
        ),
        pytest.param({"python3.11": answering(optimized=False, venv=False)}, "python3.11", id="the only one"),
        pytest.param(
            {"python3.12": answering(optimized=True), "python3": answering(optimized=True)}, "python3.12", id="known"
        ),
    ],
)
def test_the_better_python_is_taken(clone: Path, pythons: dict[str, str], taken: str) -> None:
    found = run(FIND, clone, pythons)
    assert found.returncode == 0, found.stderr
    assert Path(found.stdout.strip()).name == taken


def test_python_variable_rules_out_the_others(clone: Path) -> None:
    found = run(FIND, clone, {"python3": WORKING, "mine": OLD}, PYTHON="mine")
    assert found.returncode == 1
    assert found.stderr.splitlines() == ["Tandem needs Python 3.11 or newer, but PYTHON is mine, which is Python 3.9."]


def test_help_lists_every_target_with_a_description() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = next(line for line in makefile.splitlines() if line.startswith(".PHONY: help")).split()[1:]
    listed = subprocess.run(
        ["make", "--no-print-directory", "help"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert [line.split()[1] for line in listed] == phony
    assert all(len(line.split()) > 3 for line in listed)
