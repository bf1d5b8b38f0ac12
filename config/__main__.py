"""Django's command line for Tandem: the command `tandem`, `python -m config` and `manage.py`."""

import os
import sys

from django.core.management import execute_from_command_line

from config import env


def main() -> None:
    """Run one management command."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    if sys.argv[1:2] == ["worker"]:
        env.use_one_thread()  # before NumPy is loaded
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
