"""Load the example study if it is not there, print login links, and serve it."""

import os
import subprocess
import sys
from argparse import ArgumentParser
from io import StringIO

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.core.management.base import BaseCommand
from django.db import OperationalError

from annotation.services.accounts import login_link
from judging.models import JudgeRun

STUDY = "example"
LAST_JUDGE = "coin"
EXAMPLES = settings.BASE_DIR / "examples"
TOOLS = settings.BASE_DIR / "tools"
ROLES = ("admin", "researcher", "annotator")
DEMO_ENDPOINTS = "localhost,127.0.0.1"

# In this order, each stored whole or not at all, and each harmless when it is run again.
STEPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "texts",
        (
            *("import_study", str(EXAMPLES / "study.jsonl"), "--study", STUDY),
            *("--title", "Example: summaries of short dialogues", "--task", "summarization"),
        ),
    ),
    ("comparison tables", ("import_tables", str(EXAMPLES / "tables.jsonl"), "--study", STUDY)),
    ("ratings", ("import_ratings", str(EXAMPLES / "ratings.csv"), "--study", STUDY, "--scripted")),
    ("separability", ("compute_separability", STUDY, "--similarity", "rouge1")),
    (
        "a batch to try",
        (
            *("create_batch", STUDY, "--name", "try-it", "--dataset", "harbour_talk"),
            *("--systems", "heron-2", "magpie-1", "--pairs", "5", "--raters", "3", "--select", "all", "--seed", "1"),
        ),
    ),
    ("judge: longer", ("add_judge", "longer", "--method", "longer", "--seed", "1")),
    ("judge: coin", ("add_judge", LAST_JUDGE, "--method", "coin", "--seed", "1")),
    ("verdicts of longer", ("run_judge", STUDY, "--judge", "longer")),
    ("verdicts of coin", ("run_judge", STUDY, "--judge", LAST_JUDGE)),
)


class Command(BaseCommand):
    """`manage.py demo`: what `make demo` runs when everything is installed."""

    help = "Load the example study if it is not there, print one-time login links, and serve it until Ctrl-C."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("--port", default="8000", help="port on 127.0.0.1 (default: 8000)")
        parser.add_argument("--no-serve", action="store_true", help="stop when the links have been printed")

    def handle(self, *, port: str, no_serve: bool, verbosity: int, **options: object) -> None:
        """Bring the database to where a person can try everything, then serve it."""
        if not no_serve:
            refuse_taken_port(port)
        try:
            call_command("migrate", interactive=False, verbosity=0)
            if not is_loaded():
                self.load(verbosity)
            self.print_links(port)
        except OperationalError as error:
            raise CommandError(f"The database that DATABASE_URL names does not work: {error}".strip()) from error
        except KeyboardInterrupt:
            self.stderr.write("\nStopped. Nothing is half-done: the next run goes on from here.")
            sys.exit(130)
        if not no_serve:
            self.serve(port)

    def load(self, verbosity: int) -> None:
        """Load every part of the example study; parts that are there already stay as they are."""
        self.stdout.write("Loading the example study ...")
        for part, (command, *arguments) in STEPS:
            self.stdout.write(f"  {part}")
            self.stdout.flush()
            said = StringIO()
            call_command(command, *arguments, stdout=said, stderr=said)
            if verbosity > 1:
                self.stdout.write(said.getvalue())

    def print_links(self, port: str) -> None:
        """Print one login link per role; nobody has a password."""
        self.stdout.write("\nSign in with one of these links; each works once:\n")
        for role in ROLES:
            name = f"demo-{role}"
            call_command("grant", name, "--role", role, stdout=StringIO())
            user = get_user_model().objects.get(username=name)
            self.stdout.write(f"  {role:<11} {login_link(user=user, base_url=f'http://localhost:{port}')}")
        self.stdout.write("")
        self.stdout.flush()

    def serve(self, port: str) -> None:
        """Become the process that runs web server and worker, so that Django is not held in memory once more."""
        command = [sys.executable, str(TOOLS / "serve.py"), "--port", port, "--follow-parent"]
        if not settings.ENDPOINT_ALLOWLIST:
            command += ["--allow-endpoints", DEMO_ENDPOINTS]  # so that a judge may ask a model on this very machine
        os.execv(command[0], command)


def is_loaded() -> bool:
    """Tell whether every part is there: the last one is, and none starts before the one above it is stored."""
    finished = JudgeRun.objects.filter(status=JudgeRun.Status.DONE)
    return finished.filter(study__slug=STUDY, judge__name=LAST_JUDGE, batch=None).exists()


def refuse_taken_port(port: str) -> None:
    """End with one line when the port cannot be served on, before anything slow is done."""
    checked = subprocess.run([sys.executable, str(TOOLS / "check_port.py"), port], check=False)
    if checked.returncode != 0:
        sys.exit(1)
