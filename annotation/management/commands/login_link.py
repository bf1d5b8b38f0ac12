"""Print a one-time sign-in link for a user."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import CommandError

from annotation.management.commands._base import TandemCommand
from annotation.members.accounts import login_link


class Command(TandemCommand):
    """`login_link USER`."""

    help = "Print a link whose page signs a user in, once and within a day; opening it spends nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("user")
        parser.add_argument("--base-url", default=settings.BASE_URL, help="address of the server (default: BASE_URL)")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the link."""
        user = get_user_model().objects.filter(username=options["user"]).first()
        if user is None:
            raise CommandError(
                f"there is no user {options['user']}; make one: manage.py grant {options['user']} --role …"
            )
        self.say(login_link(user=user, base_url=options["base_url"]))
