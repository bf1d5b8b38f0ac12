"""Bring the database up to date and serve it: what `make run` runs when everything is installed."""

import gc
import os
import socket
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import CommandError, call_command
from django.core.management.base import BaseCommand
from django.db import OperationalError, connections

from annotation.core.system_checks import refuse_unready, unapplied_migrations
from annotation.core.tasks.serving import run_together, run_web, run_worker

WAITING = 256  # connections that wait until the web server has started


class Command(BaseCommand):
    """`manage.py serve`: the web server and the worker, on LISTEN_HOST (this machine only)."""

    help = "Migrate the database, then run web server and worker until Ctrl-C."
    requires_system_checks = ()

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
        """Migrate (in production: check that nothing is missing), print the first admin's link, serve."""
        if port != settings.PORT:  # addresses in links begin with it
            become_server(port, *["--follow-parent"] * follow_parent, *["--web-only"] * web_only)
        with listen(port) as listener, tempfile.TemporaryDirectory(prefix="tandem-metrics-") as counters:
            settings.KEEP_COUNTERS_IN(counters)
            prepare()
            programs: dict[str, Callable[[], None]] = {
                "The web server": partial(run_web, listener.fileno()),
                "The worker": run_worker,
            }
            if web_only:
                del programs["The worker"]
            self.stderr.write(f"Tandem is at http://localhost:{port}/ (Ctrl-C stops it)", style_func=str)
            status = run_together(programs, follow_parent=follow_parent)
        sys.exit(status)


def prepare() -> None:
    """Bring the database and the static files up to date, and load what the programs share. No connection stays open."""
    refuse_unready()
    if not settings.PRODUCTION:  # there, an upgrade migrates before any of its processes starts
        with explain_database_errors():
            if unapplied_migrations():
                call_command("migrate", interactive=False, verbosity=0)
    with suppress(CommandError):  # other users may have accounts
        call_command("first_admin", if_terminal=True)
    if not static_files_are_current():
        call_command("collectstatic", interactive=False, verbosity=0)
    gc.disable()  # as in config.__main__
    import_module(settings.PAGE_URLCONF)
    gc.freeze()
    gc.enable()
    connections.close_all()


def static_files_are_current() -> bool:
    """Tell whether the static files were collected since the last of them came here, by an edit or an installation."""
    manifest = Path(settings.STATIC_ROOT, "staticfiles.json")  # which is written last
    if not manifest.exists():
        return False
    collected = manifest.stat().st_mtime
    files = (Path(storage.path(name)) for finder in get_finders() for name, storage in finder.list([]))
    return all(file.stat().st_ctime < collected for file in files)  # an installation may keep old times of change


def listen(port: str) -> socket.socket:
    """Return a socket that listens on LISTEN_HOST: what is asked while the web server starts waits."""
    host = settings.LISTEN_HOST
    try:
        return socket.create_server(
            (host, int(port)), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=WAITING
        )
    except (OSError, OverflowError, ValueError) as error:
        raise CommandError(f"Port {port} of {host} can't be served on: {error}. Choose another: PORT=8001") from error


@contextmanager
def explain_database_errors() -> Iterator[None]:
    """Convert a database that cannot be used into a one-line error."""
    try:
        yield
    except OperationalError as error:
        raise CommandError(f"The database that DATABASE_URL names does not work: {error}".strip()) from error


def become_server(port: str, *options: str, **environment: str) -> NoReturn:
    """Replace this process by one that serves."""
    command = [sys.executable, "-m", "config", "serve", *options]
    os.execve(sys.executable, command, settings.PROGRAM_ENVIRONMENT(PORT=port, **environment))  # noqa: S606  # needs none
