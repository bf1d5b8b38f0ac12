"""Serve Tandem: the web server and the worker together, until Ctrl-C or until one of them ends.

usage: serve.py [--port PORT] [--allow-endpoints HOSTS] [--follow-parent]

The port is taken here, once, and handed to the web server as an open socket: a request made while it is still
starting waits instead of failing, and there is no moment at which something else can take the port.
"""

import argparse
import os
import sys
from pathlib import Path

from check_port import PortRefused, listen, parse_port
from supervise import Program, Supervisor, say

ROOT = Path(__file__).resolve().parent.parent


def main(arguments: list[str]) -> int:
    """Serve until the end; return the exit code."""
    options = parse(arguments)
    try:
        listener = listen(parse_port(options.port))
    except PortRefused as refused:
        say(str(refused))
        return 1
    environment = dict(os.environ)
    if options.allow_endpoints is not None:
        environment["ENDPOINT_ALLOWLIST"] = options.allow_endpoints
    os.chdir(ROOT)
    supervisor = Supervisor(with_parent=options.follow_parent)
    return supervisor.run(
        [
            Program("The web server", web_command(listener.fileno()), (listener.fileno(),), {**environment, **SPARING}),
            Program("The worker", [sys.executable, "manage.py", "worker"], (), environment),
        ],
        started=lambda: say(f"Tandem is at http://localhost:{options.port}/ (Ctrl-C stops it)"),
    )


# Each thread would get pools of memory of its own (glibc), although only one runs at a time.
SPARING = {"MALLOC_ARENA_MAX": "1"}


def web_command(descriptor: int) -> list[str]:
    """Command line of the web server, listening on an open socket."""
    return [
        *(sys.executable, "-m", "gunicorn", "config.wsgi"),
        *("--bind", f"fd://{descriptor}"),
        *("--workers", "2", "--threads", "4"),
        *("--graceful-timeout", "5"),
        *("--log-level", "warning"),
        "--no-control-socket",  # it would lie in the home directory, shared by every server of this user
    ]


def parse(arguments: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="serve.py", description="Serve Tandem: web server and worker together.")
    parser.add_argument("--port", default="8000", help="port on 127.0.0.1 (default: 8000)")
    parser.add_argument("--allow-endpoints", metavar="HOSTS", help="value of ENDPOINT_ALLOWLIST for both programs")
    parser.add_argument("--follow-parent", action="store_true", help="stop when the process that started this one ends")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
