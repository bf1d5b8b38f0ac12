"""Django's command line for Tandem: the command `tandem`, `python -m config` and `manage.py`."""

import os
import sys
from typing import Any

from django.core.management import BaseCommand, ManagementUtility

from config import env

MIGRATE = "migrate"  # not audited: what it writes is the program's own


class CommandLine(ManagementUtility):
    """Django's, except that what its own commands change is in the audit log, as what ours do."""

    def fetch_command(self, subcommand: str) -> BaseCommand:
        """Return the command of this name."""
        from annotation.management.commands._base import TandemCommand  # needs the settings, which are loaded by now
        from annotation.members.audit import audited_command

        command = super().fetch_command(subcommand)
        execute = command.execute

        def execute_audited(*args: Any, **options: Any) -> Any:
            with audited_command(subcommand):
                return execute(*args, **options)

        if subcommand != MIGRATE and not isinstance(command, TandemCommand):
            command.execute = execute_audited  # type: ignore[method-assign]
        return command


def main() -> None:
    """Run one management command."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    if sys.argv[1:2] == ["worker"]:
        env.use_one_thread()  # before NumPy is loaded
    CommandLine(sys.argv).execute()


if __name__ == "__main__":
    main()
