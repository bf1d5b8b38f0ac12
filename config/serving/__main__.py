"""Serve Tandem: the web server and the worker together, until Ctrl-C or until one of them ends.

usage: python -m config.serving [--port PORT] [--follow-parent] [--web-only]

The port is taken here, once, and handed to the web server as an open socket: a request made while it is still
starting waits instead of failing, and there is no moment at which something else can take the port.
"""

import argparse
import sys

from config import env
from config.serving.check_port import PortRefused, listen, parse_port
from config.serving.metrics_folder import metrics_folder
from config.serving.supervise import Program, Supervisor, say


def main(arguments: list[str]) -> int:
    """Serve until the end; return the exit code."""
    options = parse(arguments)
    try:
        listener = listen(parse_port(options.port), env.LISTEN_HOST)
    except PortRefused as refused:
        say(str(refused))
        return 1
    supervisor = Supervisor(with_parent=options.follow_parent)
    descriptor = listener.fileno()
    with metrics_folder() as metrics:
        own = env.for_programs(**SPARING, PROMETHEUS_MULTIPROC_DIR=metrics)
        web = Program("The web server", web_command(descriptor), (descriptor,), own)
        worker = Program("The worker", [sys.executable, "-m", "config", "worker"], (), env.for_programs())
        return supervisor.run(
            [web] if options.web_only else [web, worker],
            started=lambda: say(f"Tandem is at http://localhost:{options.port}/ (Ctrl-C stops it)"),
        )


SPARING = {
    "MALLOC_ARENA_MAX": "1",  # each thread would get pools of memory of its own (glibc), although only one runs at a time
    "OPENBLAS_NUM_THREADS": "1",  # NumPy is loaded before the server forks, which threads do not survive
}


def web_command(descriptor: int) -> list[str]:
    """Command line of the web server, listening on an open socket."""
    return [
        *(sys.executable, "-m", "config.serving.web", "--config", "python:config.serving.gunicorn_config"),
        *("--bind", f"fd://{descriptor}"),
    ]


def parse(arguments: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="config.serving", description="Serve Tandem: web server and worker together.")
    parser.add_argument("--port", default=env.PORT, help="port on LISTEN_HOST (default: PORT, else 8000)")
    parser.add_argument("--follow-parent", action="store_true", help="stop when the process that started this one ends")
    parser.add_argument("--web-only", action="store_true", help="start no worker")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
