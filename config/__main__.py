"""Django's command line for Tandem: the command `tandem`, `python -m config` and `manage.py`."""

import gc
import os
import sys
from contextlib import nullcontext

import django
from django.core.management import execute_from_command_line

from config import env

# Commands of Django and of its apps that change what people entered; ours are audited by their base class.
AUDITED = {
    *("changepassword", "createsuperuser", "dbshell", "flush", "loaddata", "shell"),
    *("addstatictoken", "clearsessions", "remove_stale_contenttypes"),
    *("axes_reset", "axes_reset_failure_logs", "axes_reset_ip", "axes_reset_ip_username", "axes_reset_logs"),
    "axes_reset_username",
}


def main() -> None:
    """Run one management command. Those of Django that change data are in the audit log, as ours are."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    name = sys.argv[1] if sys.argv[1:] else ""
    if name in ("worker", "serve", "demo"):
        env.use_one_thread()  # before NumPy is loaded
    gc.disable()  # what is loaded stays: a collection would go through all of it, and free nothing
    django.setup()
    from annotation.members.audit import audited_command  # needs the settings

    gc.freeze()
    gc.enable()
    with audited_command(name) if name in AUDITED else nullcontext():
        execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
