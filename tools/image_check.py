"""Take the Dockerfile's steps without a container engine, in roots made by mmdebstrap; then start the image and ask how it is.

usage: image_check.py [FOLDER]      as root on Debian, with mmdebstrap; FOLDER (default: a temporary one) gets the roots

Each stage is a folder. RUN is run in it as root, with the network, certificates and package settings of this machine; COPY
takes the files that .dockerignore lets through. At the end the last stage's size is measured, and its CMD is run as its
USER on a read-only root, with folders of memory for VOLUME and /tmp and a SQLite database, until its HEALTHCHECK passes.
"""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MOST_MEGABYTES = 400
# What a container engine gives its containers, too, or what makes the package registries of this machine reachable.
LENT = ("/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf", "/etc/xdg/pip", "/opt/pypi")
CERTIFICATES = "/run/certificates-of-this-machine.crt"
SOURCES = ("/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list")
SETTINGS = {"ALLOWED_HOSTS": "tandem.example.org", "SECRET_KEY": "0123456789abcdefghijklmnopqrstuvwxyz-for-a-check"}


@dataclass
class Stage:
    """An image that is being made: its files, and what its instructions have set."""

    root: Path
    environment: dict[str, str] = field(
        default_factory=lambda: {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}
    )
    folder: str = "/"
    user: str = "0"
    volumes: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    check: list[str] = field(default_factory=list)


def instructions(text: str) -> list[tuple[str, str]]:
    """Read a Dockerfile: (instruction, arguments), continued lines joined."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n", " ", "\n".join(lines))
    return [(name, rest.strip()) for name, _, rest in (line.partition(" ") for line in joined.splitlines() if line)]


def inside(stage: Stage, command: list[str], *, user: str = "0", read_only: bool = False) -> list[str]:
    """Return the command line that runs a command in a stage's root, in namespaces of its own."""
    mounts = [f"mount --bind {stage.root} {stage.root}"]
    lent = {path: path for path in LENT} | {"/etc/ssl/certs/ca-certificates.crt": CERTIFICATES}
    for path, there in lent.items():
        if Path(path).exists():  # read-only: a step may write where they stand, as ca-certificates does
            target = f"{stage.root}{there}"
            make = f"mkdir -p {target}" if Path(path).is_dir() else f"mkdir -p {Path(target).parent} && touch {target}"
            mounts.append(f"{make} && mount --bind {path} {target} && mount -o remount,bind,ro {target}")
    mounts.append(f"mount -t proc proc {stage.root}/proc")
    if read_only:
        mounts.append(f"mount -o remount,bind,ro {stage.root}")
        mounts += [f"mount -t tmpfs -o mode=1777 tmpfs {stage.root}{path}" for path in ("/tmp", *stage.volumes)]  # noqa: S108
    as_user = f"setpriv --reuid={user} --regid=65534 --clear-groups --no-new-privs" if user != "0" else ""
    settings = shlex.join(f"{name}={value}" for name, value in stage.environment.items())
    kept = f"PIP_CERT={CERTIFICATES} SSL_CERT_FILE={CERTIFICATES}"
    there = shlex.quote(f"cd {stage.folder} && exec {as_user} {shlex.join(command)}")
    mounts.append(f"exec env -i {kept} {settings} chroot {stage.root} /bin/sh -c {there}")
    return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "/bin/sh", "-euc", "\n".join(mounts)]


def build(folder: Path) -> Stage:
    """Take all steps; return the last stage."""
    folder.mkdir(parents=True, exist_ok=True)
    stages: dict[str, Stage] = {}
    stage = Stage(folder)
    for name, rest in instructions((ROOT / "Dockerfile").read_text(encoding="utf-8")):
        print(f"{name} {rest[:100]}", flush=True)
        if name == "FROM":
            image, _, alias = rest.partition(" AS ")
            stage = stages[alias or "last"] = Stage(folder / (alias or "last"))
            suite = re.fullmatch(r"debian:(\w+)-slim", image)
            assert suite, f"{image}: only Debian's images can be made here"
            source = next(path for path in SOURCES if Path(path).exists())
            documents = [
                f"--dpkgopt=path-exclude=/usr/share/{one}/*" for one in ("doc", "man", "locale", "info")
            ]  # as -slim
            merged = ["--include=usr-is-merged", "--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr"]
            run = ["mmdebstrap", "--quiet", "--variant=minbase", *merged, *documents, suite[1], str(stage.root), source]
            subprocess.run(run, check=True)
        elif name == "RUN":
            subprocess.run(inside(stage, ["/bin/sh", "-c", rest]), check=True)
        elif name == "COPY":
            copy(stage, stages, rest.split())
        elif name == "ENV":
            for setting in shlex.split(rest):
                variable, _, value = setting.partition("=")
                stage.environment[variable] = value.replace("$PATH", stage.environment["PATH"])
        elif name == "WORKDIR":
            stage.folder = rest
            (stage.root / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
        elif name == "USER":
            stage.user = rest
        elif name == "VOLUME":
            stage.volumes.append(rest)
        elif name in ("CMD", "HEALTHCHECK"):
            words = json.loads(rest[rest.index("[") :])
            stage.command, stage.check = (words, stage.check) if name == "CMD" else (stage.command, words)
        else:
            assert name == "EXPOSE", f"{name}: not known here"
    return stage


def copy(stage: Stage, stages: dict[str, Stage], words: list[str]) -> None:
    """Copy from another stage, or from the checkout what git knows and .dockerignore lets through."""
    target = stage.root / os.path.join(stage.folder, words[-1]).lstrip("/")  # noqa: PTH118  # an absolute one counts alone
    if words[0].startswith("--from="):
        shutil.copytree(stages[words[0].removeprefix("--from=")].root / words[1].lstrip("/"), target, symlinks=True)
        return
    let_through = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    git = ["git", "ls-files", *let_through]
    listed = subprocess.run(git, cwd=ROOT, check=True, capture_output=True, text=True)
    *sources, _target = words
    known = listed.stdout.splitlines()
    assert sources == ["."] or set(sources) <= set(known), f"{sources}: not all of them are let through"
    for path in known if sources == ["."] else sources:
        file = target / (path if sources == ["."] else Path(path).name)
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, file)


def start(stage: Stage) -> None:
    """Migrate a database and run the image's command until its health check passes; both as a container would."""
    stage.environment |= SETTINGS
    # In a network of its own, as a container is, so that nothing else is at its port.
    script = f"tandem migrate --noinput --verbosity 0; exec {shlex.join(stage.command)}"
    network = ["unshare", "--net", "--kill-child", "--fork", "/bin/sh", "-euc", 'ip link set lo up; exec "$@"', "sh"]
    command = inside(stage, ["/bin/sh", "-euc", script], user=stage.user, read_only=True)
    server = subprocess.Popen([*network, *command])
    try:
        for _ in range(120):
            time.sleep(1)
            assert server.poll() is None, f"the command ended with exit code {server.returncode}"
            entered = ["nsenter", f"--net=/proc/{server.pid}/ns/net", *inside(stage, stage.check, user=stage.user)]
            checked = subprocess.run(entered, capture_output=True, check=False)
            if checked.returncode == 0:
                print("the health check passes", flush=True)
                return
        raise AssertionError(checked.stderr.decode())
    finally:
        for pid in below(server.pid):  # changing accounts takes unshare's --kill-child back
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        server.wait()


def below(pid: int) -> list[int]:
    """Return a process and those that it started, and so on."""
    started = Path(f"/proc/{pid}/task/{pid}/children")
    return (
        [pid, *(one for child in started.read_text().split() for one in below(int(child)))] if started.exists() else []
    )


def main() -> int:
    """Build, measure and start; return the exit code."""
    with tempfile.TemporaryDirectory(prefix="tandem-image-") as temporary:
        stage = build(Path(sys.argv[1] if len(sys.argv) > 1 else temporary).resolve())
        du = ["du", "-sm", "--apparent-size", "--one-file-system", stage.root]
        used = subprocess.run(du, check=True, capture_output=True, text=True)
        size = int(used.stdout.split()[0])
        print(f"the image's files: {size} MB (at most {MOST_MEGABYTES})", flush=True)
        start(stage)
    return 0 if size <= MOST_MEGABYTES else 1


if __name__ == "__main__":
    sys.exit(main())
