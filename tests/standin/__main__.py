"""python -m tests.standin --port 0 --delay 0.5 --too-many 0.1 …: prints its base URL, then answers until told to end."""

import argparse
import asyncio
import json
import signal
import sys
from dataclasses import fields
from typing import Any

from tests.standin.behaviour import TYPES, Behaviour, changed
from tests.standin.server import StandInServer, serve


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    """Read the command line: one option for each setting of `Behaviour`."""
    parser = argparse.ArgumentParser(prog="python -m tests.standin", description=Behaviour.__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--while-stdin", action="store_true", help="end when standard input is closed")
    for one in fields(Behaviour):
        as_json: dict[str, Any] = {"type": json.loads} if TYPES[one.name] == list[list[str]] else {}
        parser.add_argument(f"--{one.name.replace('_', '-')}", default=argparse.SUPPRESS, **as_json)
    return parser.parse_args(given)


async def main(options: dict[str, Any]) -> None:
    """Serve until a signal, or until standard input is closed."""
    port, while_stdin = options.pop("port"), options.pop("while_stdin")
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    if while_stdin:
        # Nothing is ever written there: it becomes readable when the parent process ends, in whatever way.
        loop.add_reader(sys.stdin.fileno(), ended.set)
    runner, port = await serve(StandInServer(changed(Behaviour(), options)), port=port)
    sys.stdout.write(f"http://127.0.0.1:{port}/v1\n")
    sys.stdout.flush()
    await ended.wait()
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(main(vars(arguments())))
