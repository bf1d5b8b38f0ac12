"""Load the example study if it is not there, print login links, and serve it."""

import sys
from argparse import ArgumentParser
from io import StringIO

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import BaseCommand

from annotation.core.system_checks import check_version_of_database, refuse_on
from annotation.members.accounts import login_link
from judging.models import JudgeRun
from reporting.management.commands.serve import become_server, explain_database_errors, listen

STUDY = "example"
LAST_JUDGE = "coin"
EXAMPLES = settings.BASE_DIR / "examples"
ROLES = ("admin", "researcher", "annotator")
DEMO_ENDPOINTS = ["localhost", "127.0.0.1"]

# Each step is atomic, and repeating it does no harm.
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

    help = "Load the example study once, print one-time login links, and serve it until Ctrl-C."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("--port", default=settings.PORT, help="port on LISTEN_HOST (default: PORT, else 8000)")
        parser.add_argument("--no-serve", action="store_true", help="only print the links")

    def handle(self, *, port: str, no_serve: bool, verbosity: int, **options: object) -> None:
        """Load the example, print the links, and serve."""
        if not no_serve:
            listen(port).close()
        try:
            refuse_on(check_version_of_database(["default"]))
            with explain_database_errors():
                call_command("migrate", interactive=False, verbosity=0)
                if not is_loaded():
                    self.load(verbosity)
                self.print_links(port)
        except KeyboardInterrupt:
            self.stderr.write("\nStopped. No step is half done: the next run continues from here.")
            sys.exit(130)
        if not no_serve:
            # The demo's judges may call a model on this machine.
            allowed = settings.ENDPOINT_ALLOWLIST or DEMO_ENDPOINTS
            become_server(port, "--follow-parent", ENDPOINT_ALLOWLIST=",".join(allowed))

    def load(self, verbosity: int) -> None:
        """Load the missing parts of the example study."""
        self.stdout.write("Loading the example study ...")
        for part, (command, *arguments) in STEPS:
            self.stdout.write(f"  {part}")
            self.stdout.flush()
            output = StringIO()
            call_command(command, *arguments, stdout=output, stderr=output)
            if verbosity > 1:
                self.stdout.write(output.getvalue())

    def print_links(self, port: str) -> None:
        """Print one login link per role."""
        self.stdout.write("\nSign in with one of these links; each works once, in one browser:\n")
        for role in ROLES:
            name = f"demo-{role}"
            call_command("grant", name, "--role", role, stdout=StringIO())
            user = get_user_model().objects.get(username=name)
            self.stdout.write(f"  {role:<11} {login_link(user=user, base_url=f'http://localhost:{port}')}")
        self.stdout.write("")
        self.stdout.flush()


def is_loaded() -> bool:
    """Return whether the example is complete: the parts are loaded in order, and the last one is there."""
    finished = JudgeRun.objects.filter(status=JudgeRun.Status.DONE)
    return finished.filter(study__slug=STUDY, judge__name=LAST_JUDGE, batch=None).exists()
