"""Django's command line for Tandem: the command `tandem`, `python -m config` and `manage.py`."""

import os
import sys
from contextlib import nullcontext

import django
from django.core.management import execute_from_command_line, get_commands

from config import env

OURS = ("annotation", "judging", "reporting")  # their commands note changes in the audit log themselves
MIGRATE = "migrate"  # not audited: what it writes is the program's own


def main() -> None:
    """Run one management command; what Django's own ones change is in the audit log, as what ours do."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    name = sys.argv[1] if sys.argv[1:] else ""
    if name in ("worker", "serve", "demo"):
        env.use_one_thread()  # before NumPy is loaded
    django.setup()
    from annotation.members.audit import audited_command  # needs the settings

    is_djangos = name in get_commands() and get_commands()[name] not in OURS and name != MIGRATE
    with audited_command(name) if is_djangos else nullcontext():
        execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
