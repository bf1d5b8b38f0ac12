"""`create_group SLUG --name NAME`."""

from typing import Any

from django.conf import settings

from annotation.core.actions import filled
from annotation.management.commands._base import TandemCommand, argument
from annotation.members.forms import GroupForm
from annotation.members.groups import create_group


class Command(TandemCommand):
    help = "Create a research group, whose studies no other group sees."

    arguments = (argument("slug"), argument("--name", help="name on pages (default: the slug)"))

    def handle(self, *args: Any, **options: Any) -> None:
        named = {"slug": options["slug"], "name": options["name"] or options["slug"]}
        group = create_group(**filled(GroupForm, named).cleaned_data)
        self.say(f"group {group} created")
        self.say(f"give a user a role in it: {settings.COMMAND} grant USER --role study-admin --group {group}")
