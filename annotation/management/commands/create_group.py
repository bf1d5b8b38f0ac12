"""Make a research group."""

from argparse import ArgumentParser
from typing import Any

from annotation.management.commands._base import TandemCommand
from annotation.members.groups import create_group


class Command(TandemCommand):
    """`create_group SLUG --name NAME`."""

    help = "Make a research group: people who share studies, which no other group sees."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("slug")
        parser.add_argument("--name", default="", help="as pages show it (default: the slug)")

    def handle(self, *args: Any, **options: Any) -> None:
        """Make the group."""
        group = create_group(slug=options["slug"], name=options["name"])
        self.say(f"group {group} made")
        self.say(f"give a user a role in it: manage.py grant USER --role study-admin --group {group}")
