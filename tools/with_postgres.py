"""Run a command with a temporary PostgreSQL: DATABASE_URL names it, and it is removed when the command ends.

usage: with_postgres.py [--in-memory] COMMAND [ARGUMENT ...]      exit code: the command's
       with_postgres.py --check                     only say whether PostgreSQL is installed

The server keeps its data in a temporary folder (with --in-memory, of a file system in memory if there is one with
enough space, where tables are emptied several times as fast), listens on loopback with a random password, and does not fsync.
PostgreSQL refuses to run as root, so root runs it as the user `postgres`, or else `nobody`.
"""

import os
import pwd
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # a script finds its own folder only
from annotation.core.tasks.serving import end_with_parent

# Where packages put the server's programs when PATH does not have them; the newest version is taken.
FOLDERS = (
    "/usr/lib/postgresql/*/bin",
    "/opt/homebrew/opt/postgresql*/bin",
    "/usr/local/opt/postgresql*/bin",
    "/Applications/Postgres.app/Contents/Versions/*/bin",
)
# Autovacuum would collect statistics of tables emptied by rolled-back tests, which leads to bad query plans.
FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "autovacuum=off", "max_connections=200")
STARTING_SECONDS = 60.0
MEMORY, MEMORY_NEEDED = Path("/dev/shm"), 4 * 1024**3  # noqa: S108  # a folder with a name of its own is made in it


class PostgresFailed(Exception):
    """The server is not installed or does not start; the message says what to do."""


@dataclass(frozen=True)
class Programs:
    """Paths of the two programs that are needed."""

    initdb: Path
    postgres: Path


def main(arguments: list[str]) -> int:
    """Run the command line; return the exit code."""
    if arguments in ([], ["--in-memory"]):
        print(__doc__, file=sys.stderr)
        return 2
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _frame: sys.exit(128 + number))  # runs every `finally`
    try:
        programs = find_programs()
        if arguments == ["--check"]:
            return 0
        in_memory = arguments[0] == "--in-memory"
        with server(programs, parent=memory() if in_memory else None) as url:
            return run(arguments[in_memory:], url)
    except PostgresFailed as failure:
        print(failure, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def run(command: list[str], url: str) -> int:
    """Run the command with DATABASE_URL set to `url`; return its exit code as a shell would."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    environment["DATABASE_URL"] = url
    try:
        process = subprocess.Popen(command, env=environment)
    except OSError as error:
        print(f"Cannot start {command[0]}: {error}", file=sys.stderr)
        return 127
    try:
        code = wait_for(process)
    except BaseException:
        process.terminate()
        process.wait()
        raise
    return code if code >= 0 else 128 - code


def wait_for(process: subprocess.Popen[bytes]) -> int:
    """Wait for the command; a Ctrl-C reaches it too, and it may need time to clean up."""
    try:
        return process.wait()
    except KeyboardInterrupt:
        return process.wait(timeout=30)


def find_programs() -> Programs:
    """Find `initdb` and `postgres`: on PATH, else where packages put them."""
    beside = [Path(path).parent for path in (shutil.which("initdb"), shutil.which("postgres")) if path]
    folders = beside + [folder for pattern in FOLDERS for folder in newest_first(pattern)]
    for folder in folders:
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return Programs(folder / "initdb", folder / "postgres")
    install = "brew install postgresql@17" if sys.platform == "darwin" else "sudo apt-get install postgresql"
    raise PostgresFailed(f"The database tests need PostgreSQL. Install it with: {install}")


def newest_first(pattern: str) -> list[Path]:
    """Return the folders that match an absolute pattern, the highest version number first."""
    found = Path("/").glob(pattern.lstrip("/"))
    return sorted(found, key=lambda path: [int(number) for number in re.findall(r"\d+", str(path))], reverse=True)


def memory() -> Path | None:
    """Return a folder in memory with space for a cluster, if there is one."""
    return MEMORY if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > MEMORY_NEEDED else None


@contextmanager
def server(programs: Programs, *, parent: Path | None = None, settings: Sequence[str] = FAST) -> Iterator[str]:
    """Make a database cluster in `parent`, serve it during the `with` block, then remove it; yields its URL."""
    owner = unprivileged_owner()
    folder = Path(tempfile.mkdtemp(prefix="tandem-postgres-", dir=parent))
    try:
        if owner is not None:
            os.chown(folder, owner.pw_uid, owner.pw_gid)
        password = secrets.token_hex(16)
        make_cluster(programs, folder, password, owner)
        with serving(programs, folder, owner, settings) as port:
            yield f"postgres://tandem:{password}@127.0.0.1:{port}/postgres"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def unprivileged_owner() -> pwd.struct_passwd | None:
    """Return the user to run the server as, if this process is root; else `None`."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise PostgresFailed("PostgreSQL refuses to run as root, and there is no user `postgres` or `nobody` to run it as.")


def as_user(owner: pwd.struct_passwd | None) -> dict[str, Any]:
    """Return the arguments of `Popen` that make a program run as `owner`."""
    return {} if owner is None else {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}


def clean_environment(folder: Path) -> dict[str, str]:
    """Return an environment without the caller's PG* variables."""
    return {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder), "TMPDIR": str(folder), "LC_ALL": "C"}


def make_cluster(programs: Programs, folder: Path, password: str, owner: pwd.struct_passwd | None) -> None:
    """Make an empty cluster in `folder`/data with one user, `tandem`, and this password."""
    secret = folder / "password"
    secret.touch(mode=0o600)
    secret.write_text(password, encoding="ascii")
    if owner is not None:
        os.chown(secret, owner.pw_uid, owner.pw_gid)
    command = [
        *(str(programs.initdb), "--pgdata", str(folder / "data"), "--username", "tandem"),
        *("--pwfile", str(secret), "--auth", "scram-sha-256"),
        *("--encoding", "UTF8", "--locale", "C", "--no-sync"),
    ]
    made = subprocess.run(
        command,
        cwd=folder,
        env=clean_environment(folder),
        capture_output=True,
        text=True,
        check=False,
        **as_user(owner),
    )
    secret.unlink()
    if made.returncode != 0:
        raise PostgresFailed(f"initdb failed with exit code {made.returncode}:\n{made.stdout}{made.stderr}")


@contextmanager
def serving(
    programs: Programs, folder: Path, owner: pwd.struct_passwd | None, settings: Sequence[str]
) -> Iterator[int]:
    """Run the server during the `with` block; yields its port. It ends even if this process is killed."""
    process = None
    try:
        for _ in range(3):  # another process may take the port before the server does
            port = free_port()
            process = start(programs, folder, port, owner, settings)
            if is_up(process, folder / "data"):
                break
            stop(process)
        else:
            raise PostgresFailed(f"PostgreSQL does not start:\n{(folder / 'log').read_text(errors='replace')}")
        yield port
    finally:
        if process is not None:
            stop(process)


def start(
    programs: Programs,
    folder: Path,
    port: int,
    owner: pwd.struct_passwd | None,
    settings: Sequence[str] = FAST,
) -> subprocess.Popen[bytes]:
    """Start the server in a separate process group, which a Ctrl-C at the terminal does not reach."""
    command = [
        str(programs.postgres),
        "-D",
        str(folder / "data"),
        "-h",
        "127.0.0.1",
        "-p",
        str(port),
        "-k",
        str(folder),
    ]
    for setting in settings:
        command += ["-c", setting]
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            command,
            cwd=folder,
            env=clean_environment(folder),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=partial(end_with_parent, signal.SIGQUIT),  # noqa: PLW1509  # this process has one thread
            **as_user(owner),
        )


def is_up(process: subprocess.Popen[bytes], data: Path) -> bool:
    """Wait until the server accepts connections; return whether it does."""
    deadline = time.monotonic() + STARTING_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        with suppress(OSError):
            # The eighth line of this file is the server's state; `pg_ctl` waits for "ready" too.
            lines = (data / "postmaster.pid").read_text(encoding="ascii", errors="replace").splitlines()
            if len(lines) >= 8 and lines[7].strip() == "ready":
                return True
        time.sleep(0.05)
    return False


def stop(process: subprocess.Popen[bytes]) -> None:
    """End the server without waiting for its clients (SIGINT: fast shutdown); kill it when it does not end."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def free_port() -> int:
    """Return a free port on loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
