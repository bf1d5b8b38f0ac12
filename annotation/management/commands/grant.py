"""Give a user a role."""

from argparse import ArgumentParser
from typing import Any

from annotation.management.commands._base import TandemCommand
from annotation.models.people import Role
from annotation.services.accounts import grant_role
from annotation.services.studies import find_study


class Command(TandemCommand):
    """`grant USER --role annotator|researcher|study-admin|admin`."""

    help = "Give a user a role in one study or in all; the user is made, without a password, when missing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("user")
        parser.add_argument("--role", required=True, choices=Role.values)
        parser.add_argument("--study", metavar="SLUG", help="in this study only (default: in all)")

    def handle(self, *args: Any, **options: Any) -> None:
        """Grant it and say how the user gets in."""
        study = find_study(options["study"]) if options["study"] else None
        user, changed = grant_role(username=options["user"], role=options["role"], study=study)
        where = f"study {study.slug}" if study else "all studies"
        self.say(f"{user} {'is now' if changed else 'was already'} {options['role']} in {where}")
        if not user.has_usable_password():
            self.say(f"sign in: manage.py login_link {user}   (or set a password: manage.py changepassword {user})")
