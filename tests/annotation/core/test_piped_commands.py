"""Commands whose reader goes away: what was printed is kept, without a stack trace."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
PRINTS_A_LOT = """
import django
django.setup()
from annotation.management.commands._base import TandemCommand

class Command(TandemCommand):
    requires_migrations_checks = is_audited = False

    def handle(self, *args, **options):
        for number in range(200_000):
            self.say(f"line {number}")

Command().run_from_argv(["manage.py", "lines"])
"""


@pytest.mark.weekly
def test_reader_that_goes_away_ends_a_command_quietly() -> None:
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings"}
    with subprocess.Popen(
        [sys.executable, "-c", PRINTS_A_LOT],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as command:
        assert command.stdout.readline() == "line 0\n"
        command.stdout.close()
        told = command.stderr.read()
    assert (command.returncode, told) == (141, "")
