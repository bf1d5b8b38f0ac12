"""`create_group SLUG --name NAME`."""

from typing import Any

from django.conf import settings

from annotation.management.commands._base import TandemCommand, argument
from annotation.members.groups import create_group


class Command(TandemCommand):
    help = "Make a research group: people who share studies, which no other group sees."

    arguments = (argument("slug"), argument("--name", default="", help="as pages show it (default: the slug)"))

    def handle(self, *args: Any, **options: Any) -> None:
        group = create_group(slug=options["slug"], name=options["name"])
        self.say(f"group {group} made")
        self.say(f"give a user a role in it: {settings.COMMAND} grant USER --role study-admin --group {group}")
