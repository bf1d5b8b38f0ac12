"""Bring the database up to date and serve it: what `make run` runs when everything is installed."""

import os
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from django.conf import settings
from django.core.management import CommandError, call_command
from django.core.management.base import BaseCommand
from django.db import OperationalError

from annotation.core.system_checks import refuse_unready


class Command(BaseCommand):
    """`manage.py serve`: the web server and the worker, on LISTEN_HOST (this machine only)."""

    help = "Bring the database up to date, then run the web server and the worker until Ctrl-C."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("--port", default=settings.PORT, help="port on LISTEN_HOST (default: PORT, else 8000)")
        parser.add_argument(
            "--follow-parent", action="store_true", help="stop when the process that started this one ends"
        )
        parser.add_argument(
            "--web-only", action="store_true", help="without a worker; start `worker` here or elsewhere"
        )

    def handle(self, *, port: str, follow_parent: bool, web_only: bool, **options: object) -> None:
        """Check the port, migrate (in production: check that nothing is missing), print the first admin's link, serve."""
        refuse_taken_port(port)
        refuse_unready()
        if not settings.PRODUCTION:  # there, an upgrade migrates before any of its processes starts
            with explain_database_errors():
                call_command("migrate", interactive=False, verbosity=0)
        # Its failure is not fatal: it prints its own message, and other users may have accounts.
        _run("config", "first_admin", "--if-terminal", PORT=port)
        become_server(port=port, follow_parent=follow_parent, web_only=web_only)


def refuse_taken_port(port: str) -> None:
    """Exit with a message when the port cannot be used, before any slow step."""
    if _run("config.serving.check_port", port, settings.LISTEN_HOST) != 0:
        sys.exit(1)


@contextmanager
def explain_database_errors() -> Iterator[None]:
    """Convert a database that cannot be used into a one-line error."""
    try:
        yield
    except OperationalError as error:
        raise CommandError(f"The database that DATABASE_URL names does not work: {error}".strip()) from error


def become_server(*, port: str, follow_parent: bool, web_only: bool = False, **environment: str) -> NoReturn:
    """Collect the static files; then replace this process by the one that runs web server and worker."""
    call_command("collectstatic", interactive=False, verbosity=0)
    options = [*["--follow-parent"] * follow_parent, *["--web-only"] * web_only]
    command = [sys.executable, "-m", "config.serving", "--port", port, *options]
    os.execve(sys.executable, command, settings.PROGRAM_ENVIRONMENT(PORT=port, **environment))  # noqa: S606  # needs none


def _run(module: str, *arguments: str, **environment: str) -> int:
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, env=settings.PROGRAM_ENVIRONMENT(**environment), check=False).returncode
